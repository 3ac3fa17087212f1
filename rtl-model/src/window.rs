//! Congestion window and bytes in flight of each group.
//!
//! Twin of `hdl/window.sv`. An operation takes 2 clocks: a request taken in clock N is answered,
//! and its effect is in force, in clock N + 2; so throughput is 1 operation in 2 clocks. One
//! request at a time, in this order: open, sub, lose, toss, query, try.
//!
//! SEG-3: a group may send while its window is larger than its bytes in flight. CC-1: a new group
//! starts from `cfg_init_window` with nothing in flight; acknowledged packets leave flight (sub).
//! PKT-5, its tightness query: less than one nominal packet of room, signed, or a window below
//! 4,095 B. Section 16: acknowledgements (sub) before the hand-off (query) before a turn (try).
//!
//! Borders: flight = window − 1 is open, flight = window is shut, flight may exceed the window by
//! up to one packet less a byte; room = unit − 1 is tight, room = unit is not; window 4,094 is
//! tight, 4,095 is not. A word is written by `open` before any other operation names it. The
//! memory port is combinational: `win` is read as a request is taken and written a clock later.

use derive::{Image, ImageEnum, Packed};
use serde::{Deserialize, Serialize};

use crate::block::Block;
use crate::sizes::Sizes;

/// A window below this asks for acknowledgement on every packet (PKT-5).
pub const SMALL_WINDOW_BYTES: u32 = 4095;

/// A group's word in the memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Packed, Serialize, Deserialize)]
pub struct Win {
    /// Congestion window in bytes.
    pub cwnd: u32,
    /// Bytes in flight, nominal.
    pub flight: u32,
}

impl Win {
    /// Room in the window; below zero where flight has passed it.
    fn room(self) -> i64 {
        i64::from(self.cwnd) - i64::from(self.flight)
    }

    /// PKT-5: less room than one nominal packet, or a small window.
    fn tight(self, unit: u16) -> bool {
        self.room() < i64::from(unit) || self.cwnd < SMALL_WINDOW_BYTES
    }
}

/// Input ports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Image)]
pub struct Inputs {
    /// From `csr`.
    pub cfg_init_window: u32,
    /// From `csr`: one nominal packet.
    #[bits(14)]
    pub cfg_unit: u16,
    /// From `qp_table`: a new group.
    pub open_valid: bool,
    /// From `qp_table`.
    pub open_group: u8,
    /// From `ack_take`: a packet acknowledged.
    pub sub_valid: bool,
    /// From `ack_take`.
    pub sub_group: u8,
    /// From `ack_take`, nominal.
    #[bits(14)]
    pub sub_bytes: u16,
    /// From `retransmit`: a packet waits to go again.
    pub lose_valid: bool,
    /// From `retransmit`.
    pub lose_group: u8,
    /// From `retransmit`, nominal.
    #[bits(14)]
    pub lose_bytes: u16,
    /// From `retransmit`: it was lost on the way, so the window shrinks.
    pub lose_shrink: bool,
    /// From `qp_drain`: a segment came to nothing.
    pub toss_valid: bool,
    /// From `qp_drain`.
    pub toss_group: u8,
    /// From `qp_drain`, nominal.
    #[bits(14)]
    pub toss_bytes: u16,
    /// From `packet_build`: is the window nearly full?
    pub query_valid: bool,
    /// From `packet_build`.
    pub query_group: u8,
    /// From `tx_scheduler`: is the window open?
    pub try_valid: bool,
    /// From `tx_scheduler`.
    pub try_group: u8,
    /// From `tx_scheduler`, nominal.
    #[bits(14)]
    pub try_bytes: u16,
    /// From `tx_scheduler`: if it is open, the bytes enter flight.
    pub try_commit: bool,
    /// From the memory.
    pub win_rdata: Win,
}

/// Output ports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Image)]
pub struct Outputs {
    /// To `qp_table`.
    pub open_ready: bool,
    /// To `ack_take`.
    pub sub_ready: bool,
    /// To `retransmit`.
    pub lose_ready: bool,
    /// To `qp_drain`.
    pub toss_ready: bool,
    /// To `packet_build`.
    pub query_ready: bool,
    /// To `packet_build`.
    pub query_rsp_valid: bool,
    /// To `packet_build`.
    pub query_rsp_tight: bool,
    /// To `tx_scheduler`.
    pub try_ready: bool,
    /// To `tx_scheduler`.
    pub try_rsp_valid: bool,
    /// To `tx_scheduler`.
    pub try_rsp_ok: bool,
    /// Bytes in flight of all groups.
    pub flight_sum: u32,
    /// To the memory.
    pub win_we: bool,
    /// To the memory.
    pub win_waddr: u32,
    /// To the memory.
    pub win_wdata: Win,
    /// To the memory.
    pub win_re: bool,
    /// To the memory.
    pub win_raddr: u32,
}

/// What goes on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ImageEnum, Serialize, Deserialize)]
#[bits(3)]
pub enum State {
    /// Takes the next request.
    #[default]
    Idle = 0,
    /// A new group; this and the rest have read the group's word.
    Open = 1,
    /// Bytes leave flight.
    Sub = 2,
    /// A look at the room.
    Query = 3,
    /// A look at the window, with or without bytes that enter flight.
    Try = 4,
}

/// Registers: the fields of `regs_t` in the RTL, in the same order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Image, Serialize, Deserialize)]
pub struct Regs {
    /// What goes on.
    pub state: State,
    /// Of the request taken.
    pub group: u8,
    /// Of the request taken.
    #[bits(14)]
    pub bytes: u16,
    /// Of the request taken.
    pub shrink: bool,
    /// Of the request taken.
    pub commit: bool,
    /// `query_rsp_tight` is an answer.
    pub query_rsp_valid: bool,
    /// The last answer.
    pub query_rsp_tight: bool,
    /// `try_rsp_ok` is an answer.
    pub try_rsp_valid: bool,
    /// The last answer.
    pub try_rsp_ok: bool,
    /// Bytes in flight of all groups.
    pub flight_sum: u32,
}

impl Block for Regs {
    type Inputs = Inputs;
    type Outputs = Outputs;

    fn reset(_sizes: &Sizes) -> Self {
        Self {
            state: State::Idle,
            group: 0,
            bytes: 0,
            shrink: false,
            commit: false,
            query_rsp_valid: false,
            query_rsp_tight: false,
            try_rsp_valid: false,
            try_rsp_ok: false,
            flight_sum: 0,
        }
    }

    fn drive(&self, o: &mut Outputs) {
        *o = Outputs {
            query_rsp_valid: self.query_rsp_valid,
            query_rsp_tight: self.query_rsp_tight,
            try_rsp_valid: self.try_rsp_valid,
            try_rsp_ok: self.try_rsp_ok,
            flight_sum: self.flight_sum,
            ..Outputs::default()
        };
    }

    fn ready(&self, i: &Inputs, o: &mut Outputs) {
        if self.state == State::Idle {
            o.open_ready = true;
            o.sub_ready = !i.open_valid;
            o.lose_ready = o.sub_ready && !i.sub_valid;
            o.toss_ready = o.lose_ready && !i.lose_valid;
            o.query_ready = o.toss_ready && !i.toss_valid;
            o.try_ready = o.query_ready && !i.query_valid;
            if let Some((_, group)) = offered(i) {
                o.win_re = true;
                o.win_raddr = u32::from(group);
            }
        } else if let Some(word) = self.word_after(i) {
            o.win_we = true;
            o.win_waddr = u32::from(self.group);
            o.win_wdata = word;
        }
    }

    fn clock(&mut self, i: &Inputs, _o: &Outputs) {
        self.query_rsp_valid = self.state == State::Query;
        self.try_rsp_valid = self.state == State::Try;
        match self.state {
            State::Idle => {
                if let Some((state, group)) = offered(i) {
                    self.state = state;
                    self.group = group;
                    if state == State::Sub {
                        (self.bytes, self.shrink) = leaves(i);
                    } else if state == State::Try {
                        self.bytes = i.try_bytes;
                        self.commit = i.try_commit;
                    }
                }
                return;
            }
            State::Open => {}
            State::Sub => self.flight_sum = self.flight_sum.wrapping_sub(u32::from(self.bytes)),
            State::Query => self.query_rsp_tight = i.win_rdata.tight(i.cfg_unit),
            State::Try => {
                self.try_rsp_ok = i.win_rdata.room() > 0;
                if self.try_rsp_ok && self.commit {
                    self.flight_sum = self.flight_sum.wrapping_add(u32::from(self.bytes));
                }
            }
        }
        self.state = State::Idle;
    }

    fn idle(&self, i: &Inputs) -> bool {
        self.state == State::Idle
            && !self.query_rsp_valid
            && !self.try_rsp_valid
            && offered(i).is_none()
    }
}

/// The request that goes first, and its group.
fn offered(i: &Inputs) -> Option<(State, u8)> {
    if i.open_valid {
        Some((State::Open, i.open_group))
    } else if i.sub_valid {
        Some((State::Sub, i.sub_group))
    } else if i.lose_valid {
        Some((State::Sub, i.lose_group))
    } else if i.toss_valid {
        Some((State::Sub, i.toss_group))
    } else if i.query_valid {
        Some((State::Query, i.query_group))
    } else if i.try_valid {
        Some((State::Try, i.try_group))
    } else {
        None
    }
}

/// Bytes that leave flight, and whether the window shrinks.
fn leaves(i: &Inputs) -> (u16, bool) {
    if i.sub_valid {
        (i.sub_bytes, false)
    } else if i.lose_valid {
        (i.lose_bytes, i.lose_shrink)
    } else {
        (i.toss_bytes, false)
    }
}

/// CC-1: a window after a loss. It never grows by one.
fn shrunk(cwnd: u32, unit: u32) -> u32 {
    cwnd.saturating_sub(unit).max(unit).min(cwnd)
}

impl Regs {
    /// What the request makes of the group's word, if it writes it.
    fn word_after(&self, i: &Inputs) -> Option<Win> {
        let Win { cwnd, flight } = i.win_rdata;
        let bytes = u32::from(self.bytes);
        match self.state {
            State::Open => Some(Win { cwnd: i.cfg_init_window, flight: 0 }),
            State::Sub => {
                let unit = u32::from(i.cfg_unit);
                let cwnd = if self.shrink { shrunk(cwnd, unit) } else { cwnd };
                Some(Win { cwnd, flight: flight.wrapping_sub(bytes) })
            }
            State::Try if self.commit && cwnd > flight => {
                Some(Win { cwnd, flight: flight.wrapping_add(bytes) })
            }
            _ => None,
        }
    }
}
