//! Completions: keeps the messages of each QP in post order, tells the host and the other blocks.
//!
//! Twin of `hdl/completion.sv` and of the types in `hdl/completion_pkg.sv`. One event at a time;
//! order of choice: post, sent, cover, comp, err. A post takes 2 clocks (3 behind another message
//! of its QP), sent 2, each message that a cover completes 3, the end of a cover 2 or 3, comp and
//! err 1. The CQE follows in the clock after, and until it has been taken nothing but a post is
//! chosen.
//!
//! CPL-1: `SEND_COMPLETE` when the fetch of the last segment has been issued; `WQE_COMPLETE` when a
//! cumulative PSN covers the last PSN (signed 24-bit difference), oldest first; `RECV_COMPLETE`
//! behind the message's payload writes. `docs/host-interface.md` has the entry. The phase bit is 1
//! in the ring's first lap and toggles at its end.
//! QP-6: a cover with `forget` takes every message of its QP away, with no entry and no `done`; the
//! last packets up to its PSN leave their slots.
//! Borders: cover at last PSN − 1, last PSN, last PSN + 1, across 2^24; a cover of several
//! messages, of one not sent, of a QP with none; the last entry of the ring; the message table
//! full.
//!
//! Memories without defined contents at start: cmsg (MSGS words of 187 bits), cqp (QPS of 31), fl
//! (MSGS of 10; free entries). Their ports are combinational from the requests and from rdata. A
//! QP's cqp word is defined by the first post after its open. Entries never used come first. A
//! post must be offered before its `sent` is; its last PSN is sent before a cover passes it.

use derive::{Image, ImageEnum, Packed};
use serde::{Deserialize, Serialize};

use crate::block::Block;
use crate::host_interface::{CQE_BYTES, CqeEntry};
use crate::image::{BadBits, Field, Item, Reader, Wide, Writer};
use crate::sizes::Sizes;
use crate::types::{Cqe, Psn, Qpn, Refuse};

/// A message posted and not completed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Packed, Serialize, Deserialize)]
pub struct Message {
    /// Of the work request.
    pub cookie: u64,
    /// Bytes.
    pub len: u32,
    /// Messages of the QP before this one.
    pub msn: u16,
    /// Of its last packet, once sent.
    pub last_psn: Psn,
    /// Of its last packet, once sent.
    #[bits(10)]
    pub last_slot: u16,
    /// The fetch of its last segment has been issued.
    pub sent: bool,
    /// The next message of the same QP.
    #[bits(10)]
    pub next: u16,
    /// Destination.
    #[bits(6)]
    pub dest: u8,
    /// The QP.
    pub qpn: Qpn,
}

/// The messages of a QP, in post order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Packed, Serialize, Deserialize)]
pub struct List {
    /// The oldest.
    #[bits(10)]
    pub head: u16,
    /// The newest.
    #[bits(10)]
    pub tail: u16,
    /// How many.
    #[bits(11)]
    pub count: u16,
}

/// A free entry, as the memory holds it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Packed, Serialize, Deserialize)]
pub struct Entry {
    /// Its number.
    #[bits(10)]
    pub msg: u16,
}

/// Input ports, without the `_i`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Image)]
#[allow(missing_docs)]
pub struct Inputs {
    /// From `doorbell`: a message.
    pub post_done_valid: bool,
    pub post_done_qp: u8,
    pub post_done_qpn: Qpn,
    #[bits(6)]
    pub post_done_dest: u8,
    pub post_done_open: bool,
    #[bits(10)]
    pub post_done_msg: u16,
    pub post_done_len: u32,
    pub post_done_msn: u16,
    pub post_done_cookie: u64,
    /// From `tx_scheduler`: the last fetch has been issued.
    pub sent_valid: bool,
    pub sent_qp: u8,
    #[bits(10)]
    pub sent_msg: u16,
    #[bits(10)]
    pub sent_slot: u16,
    pub sent_psn: Psn,
    /// From `ack_take`.
    pub cover_valid: bool,
    pub cover_qp: u8,
    pub cover_cum: Psn,
    pub cover_forget: bool,
    /// From `payload_write`: a message received and written.
    pub comp_valid: bool,
    pub comp_qpn: Qpn,
    pub comp_msn: u16,
    pub comp_len: u32,
    #[bits(6)]
    pub comp_dest: u8,
    /// From `doorbell`: a work request was refused.
    pub err_valid: bool,
    pub err_code: Refuse,
    pub err_cookie: u64,
    pub err_qpn: Qpn,
    pub err_len: u32,
    /// From `doorbell`.
    pub msg_ready: bool,
    /// From `replay_store`.
    pub final_ready: bool,
    /// From `qp_table`.
    pub done_ready: bool,
    /// From `tlp_engine`.
    pub cqe_ready: bool,
    /// From the memories.
    pub cmsg_rdata: Message,
    pub cqp_rdata: List,
    pub fl_rdata: Entry,
    /// From `csr`.
    pub cfg_cq_base: u64,
    #[bits(5)]
    pub cfg_cq_log2: u8,
}

/// Output ports, without the `_o`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Image)]
#[allow(missing_docs)]
pub struct Outputs {
    pub post_done_ready: bool,
    pub sent_ready: bool,
    pub cover_ready: bool,
    pub comp_ready: bool,
    pub err_ready: bool,
    /// To `doorbell`: a free entry.
    pub msg_valid: bool,
    #[bits(10)]
    pub msg: u16,
    /// To `replay_store`: this packet may leave its slot.
    pub final_valid: bool,
    #[bits(10)]
    pub final_slot: u16,
    /// To `qp_table`: a message has completed.
    pub done_valid: bool,
    pub done_qp: u8,
    /// To `ack_ask`: a message is complete or forgotten.
    pub left_valid: bool,
    #[bits(10)]
    pub left_msg: u16,
    /// To `tlp_engine`.
    pub cqe_valid: bool,
    pub cqe_addr: u64,
    pub cqe_data: Wide<4>,
    /// For the log: the entry's first clock.
    pub log_valid: bool,
    pub log_kind: Cqe,
    pub log_qpn: Qpn,
    pub log_msn: u16,
    pub log_len: u32,
    /// To the memories.
    pub cmsg_we: bool,
    pub cmsg_waddr: u32,
    pub cmsg_wdata: Message,
    pub cmsg_re: bool,
    pub cmsg_raddr: u32,
    pub cqp_we: bool,
    pub cqp_waddr: u32,
    pub cqp_wdata: List,
    pub cqp_re: bool,
    pub cqp_raddr: u32,
    pub fl_we: bool,
    pub fl_waddr: u32,
    pub fl_wdata: Entry,
    pub fl_re: bool,
    pub fl_raddr: u32,
}

/// The event in work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ImageEnum, Serialize, Deserialize)]
#[bits(3)]
pub enum State {
    /// None.
    #[default]
    Idle = 0,
    /// A message is stored.
    Post = 1,
    /// It is linked behind the one before.
    Chain = 2,
    /// A message is marked as sent.
    Sent = 3,
    /// The list of the covered QP has been read.
    Cover = 4,
    /// Its oldest message has been read.
    Head = 5,
}

/// Registers: the fields of `regs_t` in the RTL, in the same order.
#[derive(Clone, Debug, PartialEq, Eq, Image, Serialize, Deserialize)]
pub struct Regs {
    /// The event in work.
    pub state: State,
    /// `cqe` waits for `tlp_engine`.
    pub cqe_valid: bool,
    /// Where it goes.
    pub cqe_addr: u64,
    /// The completion entry.
    pub cqe: Wide<4>,
    /// The entry is new.
    pub log: bool,
    /// Entries made.
    pub produced: u32,
    /// `final` waits for `replay_store`.
    pub final_valid: bool,
    /// The slot of that message's last packet.
    #[bits(10)]
    pub final_slot: u16,
    /// `done` waits for `qp_table`.
    pub done_valid: bool,
    /// The QP whose message completed last.
    pub done_qp: u8,
    /// A message has left.
    pub left_valid: bool,
    /// Its entry.
    #[bits(10)]
    pub left_msg: u16,
    /// `msg` is a free entry.
    pub msg_valid: bool,
    /// A free entry.
    #[bits(10)]
    pub msg: u16,
    /// `fl_rdata` is the next free entry.
    pub fetch: bool,
    /// Entries that have been used; the next one never was.
    #[bits(11)]
    pub fresh: u16,
    /// Of the list of free entries.
    #[bits(10)]
    pub fl_head: u16,
    /// Of the list of free entries.
    #[bits(10)]
    pub fl_tail: u16,
    /// Of the list of free entries.
    #[bits(11)]
    pub fl_count: u16,
    /// Message entries of the build: no register.
    pub msgs: Entries,
}

/// A number of entries that the build fixes: no register, and no bits of the image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entries(u16);

impl Item for Entries {
    fn layout(&self, _: &str, _: u32, _: &mut Vec<Field>) {}
    fn write(&self, _: &mut Writer<'_>) {}
    fn read(&mut self, _: u32, _: &mut Reader<'_>) -> Result<(), BadBits> {
        Ok(())
    }
}

/// The event to begin with.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Want {
    None,
    Post,
    Sent,
    Cover,
    Comp,
    Err,
}

impl Block for Regs {
    type Inputs = Inputs;
    type Outputs = Outputs;

    fn reset(sizes: &Sizes) -> Self {
        Self {
            state: State::Idle,
            cqe_valid: false,
            cqe_addr: 0,
            cqe: Wide::ZERO,
            log: false,
            produced: 0,
            final_valid: false,
            final_slot: 0,
            done_valid: false,
            done_qp: 0,
            left_valid: false,
            left_msg: 0,
            msg_valid: false,
            msg: 0,
            fetch: false,
            fresh: 0,
            fl_head: 0,
            fl_tail: 0,
            fl_count: 0,
            msgs: Entries(sizes.msgs as u16),
        }
    }

    fn drive(&self, o: &mut Outputs) {
        let [first, second, ..] = self.cqe.0;
        *o = Outputs {
            sent_ready: self.state == State::Sent,
            msg_valid: self.msg_valid,
            msg: self.msg,
            final_valid: self.final_valid,
            final_slot: self.final_slot,
            done_valid: self.done_valid,
            done_qp: self.done_qp,
            left_valid: self.left_valid,
            left_msg: self.left_msg,
            cqe_valid: self.cqe_valid,
            cqe_addr: self.cqe_addr,
            cqe_data: self.cqe,
            log_valid: self.log,
            log_kind: [Cqe::Send, Cqe::Wqe, Cqe::Recv, Cqe::Error][(first & 3) as usize],
            log_qpn: Qpn((first >> 32) as u32 & 0xff_ffff),
            log_msn: (first >> 16) as u16,
            log_len: second as u32,
            fl_re: self.refills(),
            fl_raddr: if self.refills() { u32::from(self.fl_head) } else { 0 },
            ..Outputs::default()
        };
    }

    fn ready(&self, i: &Inputs, o: &mut Outputs) {
        let list = &i.cqp_rdata;
        match self.state {
            State::Idle => match self.want(i) {
                Want::None => {}
                Want::Post => read_list(o, i.post_done_qp),
                Want::Sent => read_message(o, i.sent_msg),
                Want::Cover => read_list(o, i.cover_qp),
                Want::Comp => o.comp_ready = true,
                Want::Err => o.err_ready = true,
            },
            State::Post => {
                let msg = i.post_done_msg;
                let message = Message {
                    cookie: i.post_done_cookie,
                    len: i.post_done_len,
                    msn: i.post_done_msn,
                    dest: i.post_done_dest,
                    qpn: i.post_done_qpn,
                    ..Message::default()
                };
                write_message(o, msg, message);
                if first(i) {
                    o.post_done_ready = true;
                    write_list(o, i.post_done_qp, List { head: msg, tail: msg, count: 1 });
                } else {
                    read_message(o, list.tail);
                    let count = (list.count + 1) & 0x7ff;
                    write_list(o, i.post_done_qp, List { tail: msg, count, ..*list });
                }
            }
            State::Chain => {
                o.post_done_ready = true;
                write_message(o, list.tail, Message { next: i.post_done_msg, ..i.cmsg_rdata });
            }
            State::Sent => {
                let (last_psn, last_slot, sent) = (i.sent_psn, i.sent_slot, true);
                let message = Message { last_psn, last_slot, sent, ..i.cmsg_rdata };
                write_message(o, i.sent_msg, message);
            }
            State::Cover => {
                o.cover_ready = list.count == 0;
                if list.count != 0 {
                    read_message(o, list.head);
                }
            }
            State::Head => {
                o.cover_ready = !covered(i) && !i.cover_forget;
                if self.leaves(i) {
                    let (head, count) = (i.cmsg_rdata.next, list.count.wrapping_sub(1) & 0x7ff);
                    write_list(o, i.cover_qp, List { head, count, ..*list });
                    o.fl_we = true;
                    o.fl_waddr = u32::from(self.fl_tail);
                    o.fl_wdata = Entry { msg: list.head };
                }
            }
        }
    }

    fn clock(&mut self, i: &Inputs, o: &Outputs) {
        let want = self.want(i);
        self.log = false;
        self.cqe_valid &= !i.cqe_ready;
        self.final_valid &= !i.final_ready;
        self.done_valid &= !i.done_ready;
        self.left_valid = o.fl_we;
        self.keep_entry(i, o);
        self.state = match self.state {
            State::Idle => match want {
                Want::Post => State::Post,
                Want::Sent => State::Sent,
                Want::Cover => State::Cover,
                Want::Comp => {
                    self.make(
                        i,
                        &CqeEntry {
                            kind: Cqe::Recv,
                            msn: i.comp_msn,
                            qpn: i.comp_qpn,
                            length: i.comp_len,
                            dest: i.comp_dest,
                            ..CqeEntry::default()
                        },
                    );
                    State::Idle
                }
                Want::Err => {
                    self.make(
                        i,
                        &CqeEntry {
                            kind: Cqe::Error,
                            code: i.err_code,
                            qpn: i.err_qpn,
                            length: i.err_len,
                            cookie: i.err_cookie,
                            ..CqeEntry::default()
                        },
                    );
                    State::Idle
                }
                Want::None => State::Idle,
            },
            State::Post if !o.post_done_ready => State::Chain,
            State::Sent => {
                self.make(i, &entry(Cqe::Send, &i.cmsg_rdata));
                State::Idle
            }
            State::Head if o.fl_we => {
                if !i.cover_forget {
                    self.make(i, &entry(Cqe::Wqe, &i.cmsg_rdata));
                }
                self.final_valid = covered(i);
                self.done_valid = !i.cover_forget;
                self.final_slot = i.cmsg_rdata.last_slot;
                self.done_qp = i.cover_qp;
                self.left_msg = i.cqp_rdata.head;
                State::Idle
            }
            State::Cover | State::Head if !o.cover_ready => State::Head,
            State::Post | State::Chain | State::Cover | State::Head => State::Idle,
        };
    }

    fn idle(&self, i: &Inputs) -> bool {
        let asked = i.post_done_valid | i.sent_valid | i.cover_valid | i.comp_valid | i.err_valid;
        let tells =
            self.cqe_valid | self.log | self.final_valid | self.done_valid | self.left_valid;
        let at_hand = self.msg_valid && !i.msg_ready;
        let none_left = !self.msg_valid && !self.fetch && self.drained() && self.fl_count == 0;
        self.state == State::Idle && !asked && !tells && (at_hand || none_left)
    }
}

impl Regs {
    /// All entries have been used.
    fn drained(&self) -> bool {
        self.fresh == self.msgs.0
    }

    /// Reads the next free entry, as none is at hand.
    fn refills(&self) -> bool {
        !self.msg_valid && !self.fetch && self.drained() && self.fl_count != 0
    }

    fn want(&self, i: &Inputs) -> Want {
        if i.post_done_valid {
            Want::Post
        } else if self.cqe_valid {
            Want::None
        } else if i.sent_valid {
            Want::Sent
        } else if i.cover_valid {
            Want::Cover
        } else if i.comp_valid {
            Want::Comp
        } else if i.err_valid {
            Want::Err
        } else {
            Want::None
        }
    }

    /// The head is covered or forgotten, and its partners can be told.
    fn leaves(&self, i: &Inputs) -> bool {
        (covered(i) || i.cover_forget) && !self.final_valid && !self.done_valid
    }

    /// Makes an entry of the completion ring.
    fn make(&mut self, i: &Inputs, entry: &CqeEntry) {
        let lap = self.produced >> i.cfg_cq_log2;
        let at = self.produced & !(u32::MAX << i.cfg_cq_log2);
        let entry = CqeEntry { phase: lap & 1 == 0, ..*entry };
        self.cqe_valid = true;
        self.cqe = Wide(entry.to_words());
        self.cqe_addr = i.cfg_cq_base.wrapping_add(u64::from(at) * CQE_BYTES as u64);
        self.log = true;
        self.produced = self.produced.wrapping_add(1);
    }

    /// Keeps one free entry at hand, and the list of the others.
    fn keep_entry(&mut self, i: &Inputs, o: &Outputs) {
        let had = self.msg_valid;
        self.msg_valid &= !i.msg_ready;
        if self.fetch {
            self.msg_valid = true;
            self.msg = i.fl_rdata.msg;
        } else if !had && !self.drained() {
            self.msg_valid = true;
            self.msg = self.fresh;
            self.fresh += 1;
        }
        self.fetch = o.fl_re;
        let after = |at: u16| (at + 1) % self.msgs.0;
        if o.fl_re {
            self.fl_head = after(self.fl_head);
            self.fl_count -= 1;
        }
        if o.fl_we {
            self.fl_tail = after(self.fl_tail);
            self.fl_count += 1;
        }
    }
}

/// The post is the only message of its QP.
fn first(i: &Inputs) -> bool {
    i.post_done_open || i.cqp_rdata.count == 0
}

/// The head has been sent, and the cumulative PSN is at its last PSN or past it.
fn covered(i: &Inputs) -> bool {
    i.cmsg_rdata.sent && i.cover_cum.ahead_of(i.cmsg_rdata.last_psn) >= 0
}

/// The entry for a message of this NIC.
fn entry(kind: Cqe, message: &Message) -> CqeEntry {
    CqeEntry {
        kind,
        msn: message.msn,
        qpn: message.qpn,
        length: message.len,
        dest: message.dest,
        cookie: message.cookie,
        ..CqeEntry::default()
    }
}

fn read_list(o: &mut Outputs, qp: u8) {
    o.cqp_re = true;
    o.cqp_raddr = u32::from(qp);
}

fn write_list(o: &mut Outputs, qp: u8, list: List) {
    o.cqp_we = true;
    o.cqp_waddr = u32::from(qp);
    o.cqp_wdata = list;
}

fn read_message(o: &mut Outputs, msg: u16) {
    o.cmsg_re = true;
    o.cmsg_raddr = u32::from(msg);
}

fn write_message(o: &mut Outputs, msg: u16, message: Message) {
    o.cmsg_we = true;
    o.cmsg_waddr = u32::from(msg);
    o.cmsg_wdata = message;
}
