//! Requester's replay store: packets of work requests, sent, retired by PSN, and sent again.
//!
//! Twin of `hdl/rc_replay.sv`. A post shows as a packet 4 clocks later where nothing else waits;
//! throughput is a packet every 3 clocks, every 4 where it goes again, and a response in every
//! clock. It is longer than a module should be: its three machines, for what arrives, for loss and
//! for what goes out, share the store.
//!
//! S002. Each packet gets an entry as it goes: work request, PSNs, offset. From it and the work
//! request the packet is built, the first time and every other: its PSN, addresses and lengths are
//! in no other place. MSN-7: an entry retires by PSN, whatever its work request does by MSN. A READ
//! is one packet and takes the PSNs of its whole response.
//! A positive acknowledgement of PSN p retires all up to p, a negative one all before p.
//! MSN-4: neither retires a READ or ATOMIC whose response has not come, nor what is behind it. One
//! that would have (`past` below), or a response out of turn, says that the response was lost.
//! Every loss, be it that, a negative acknowledgement or a timeout, spends a retry and goes back to
//! the first PSN not retired: a READ resumes at the first packet of its response that is missing.
//! One retry is spent for each transmission: in an ordered network the next transmission has
//! answered when a response past the READ is not newer than the last one that was; until then they
//! are the old transmission's, and spend nothing.
//! A budget that is spent when the next loss comes fails the connection, and so does a negative
//! acknowledgement with another syndrome. The store is empty then and nothing more is sent.
//!
//! Choices: the budget is full again whenever a PSN retires (IBTA Vol 1, 9.7.5.1.4: `cfg_retries`,
//! 7 unless the host says otherwise). The timer runs while PSNs are out and none waits to be sent; a
//! packet sent, a PSN retired and a loss start it again; `cfg_timeout` is in clocks, 0 is never
//! (IBTA: 4.096 µs times a power of two). READs and ATOMICs wait for one another from `cfg_depth`
//! on. An acknowledgement is asked for by a message's last packet that has nothing behind it, and by
//! every packet once the store is half full: one answer for all that stands before it. Responses for
//! PSNs that are not out are dropped, as are those to nothing that waits.
//! Borders: PSN compares at 0, 2^23 and the wrap; acknowledgement at, before and past the oldest
//! READ; the last response; the store full, half full, empty; depth reached; budget 0; timeout − 1.

use derive::{Image, ImageEnum};
use serde::{Deserialize, Serialize};

use crate::block::Block;
use crate::image::{BadBits, Field, Item, Reader, Writer};
use crate::rc_pkg::{
    Entry, Loss, Op, RcWqe, Request, Response, RspKind, SYNDROME_SEQUENCE, Status, Waiting, part,
    span,
};
use crate::sizes::Sizes;
use crate::types::Psn;

/// Input ports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Image)]
pub struct Inputs {
    /// From the host: a connection begins.
    pub open: bool,
    /// From the host: the first PSN.
    pub cfg_psn: Psn,
    /// From the host: the path MTU as a power of two.
    #[bits(4)]
    pub cfg_mtu: u8,
    /// From the host: the retry budget.
    #[bits(3)]
    pub cfg_retries: u8,
    /// From the host: READs and ATOMICs without a response.
    #[bits(5)]
    pub cfg_depth: u8,
    /// From the host: clocks without news; 0 is never.
    pub cfg_timeout: u32,
    /// From `wqe_retire`: one more is posted.
    pub issued: bool,
    /// From the memory of work requests.
    pub wqe_rdata: RcWqe,
    /// From the memory of entries.
    pub entry_rdata: Entry,
    /// From the wire.
    pub tx_ready: bool,
    /// From the wire.
    pub rx_valid: bool,
    /// From the wire.
    pub rx: Response,
}

/// Output ports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Image)]
pub struct Outputs {
    /// To `wqe_retire`: a READ or ATOMIC has its response.
    pub done_valid: bool,
    /// To `wqe_retire`.
    #[bits(6)]
    pub done_wqe: u8,
    /// To `wqe_retire`: a work request has no packets here any more.
    pub freed: bool,
    /// To `wqe_retire`: the connection has failed.
    pub fail_valid: bool,
    /// To `wqe_retire`.
    pub fail_status: Status,
    /// To the memory of work requests.
    pub wqe_re: bool,
    /// To the memory of work requests.
    pub wqe_raddr: u32,
    /// To the memory of entries.
    pub entry_we: bool,
    /// To the memory of entries.
    pub entry_waddr: u32,
    /// To the memory of entries.
    pub entry_wdata: Entry,
    /// To the memory of entries.
    pub entry_re: bool,
    /// To the memory of entries.
    pub entry_raddr: u32,
    /// To the wire.
    pub tx_valid: bool,
    /// To the wire.
    pub tx: Request,
    /// To the host: where the request's payload lies.
    pub tx_laddr: u64,
    /// To the host: the payload of the response of the last clock has a place.
    pub place_valid: bool,
    /// To the host.
    pub place_addr: u64,
    /// For the records: packets are lost.
    pub loss_valid: bool,
    /// For the records.
    pub loss: Loss,
    /// For the records: a response was dropped.
    pub stray: bool,
    /// For the records: the store is full.
    pub stall_full: bool,
    /// For the records: a READ or ATOMIC waits for others.
    pub stall_depth: bool,
    /// For the records: nothing is in the store, and nothing is to be sent.
    pub empty: bool,
}

/// What goes out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, ImageEnum, Serialize, Deserialize)]
#[bits(3)]
pub enum State {
    /// Nothing yet.
    #[default]
    Choose = 0,
    /// The oldest entry comes from its memory.
    Head = 1,
    /// The entry to be sent again comes.
    Again = 2,
    /// The work request comes.
    Build = 3,
    /// A request waits for the wire.
    Send = 4,
}

/// Registers: the fields of `regs_t` in the RTL, in the same order.
#[derive(Clone, Debug, PartialEq, Eq, Image, Serialize, Deserialize)]
pub struct Regs {
    /// A connection is there.
    pub open: bool,
    /// It has failed.
    pub failed: bool,
    /// Path MTU as a power of two.
    #[bits(4)]
    pub mtu: u8,
    /// Retries after a PSN retires.
    #[bits(3)]
    pub budget: u8,
    /// READs and ATOMICs without a response.
    #[bits(5)]
    pub depth: u8,
    /// Clocks without news.
    pub timeout: u32,
    /// Of the next packet that is new.
    pub next_psn: Psn,
    /// First PSN not retired.
    pub acked: Psn,
    /// Retries left.
    #[bits(3)]
    pub retries: u8,
    /// Clocks since the last news.
    pub timer: u32,
    /// Go back to the oldest entry.
    pub rewind: bool,
    /// A response past the oldest READ has come, to `past`.
    pub past_valid: bool,
    /// The last PSN that it spoke of.
    pub past: Psn,
    /// The work request that is sent next.
    #[bits(6)]
    pub wqe: u8,
    /// Those not sent whole.
    #[bits(7)]
    pub posted: u8,
    /// Sent of the next one.
    #[bits(21)]
    pub offset: u32,
    /// The oldest entry.
    pub head: u8,
    /// Entries.
    #[bits(9)]
    pub used: u16,
    /// Of the entries, in this transmission.
    #[bits(9)]
    pub sent: u16,
    /// `head_last`, `head_ends` are the oldest entry's.
    pub head_known: bool,
    /// Its last PSN.
    pub head_last: Psn,
    /// It is the last of its work request.
    pub head_ends: bool,
    /// READs and ATOMICs without a response.
    pub waiting: Vec<Waiting>,
    /// The oldest of them.
    #[bits(4)]
    pub first: u8,
    /// How many.
    #[bits(5)]
    pub waits: u8,
    /// What goes out.
    pub state: State,
    /// `Build` is of a packet that goes again.
    pub again: bool,
    /// Its entry.
    pub entry: Entry,
    /// `tx` waits for the wire.
    pub tx_valid: bool,
    /// The request.
    pub tx: Request,
    /// Where its payload lies.
    pub tx_laddr: u64,
    /// The response of the last clock has a place.
    pub place_valid: bool,
    /// Where.
    pub place_addr: u64,
    /// A READ or ATOMIC has its response.
    pub done_valid: bool,
    /// Which.
    #[bits(6)]
    pub done_wqe: u8,
    /// A work request has no packets here any more.
    pub freed: bool,
    /// The connection has just failed.
    pub fail_valid: bool,
    /// Why.
    pub fail_status: Status,
    /// Packets are lost.
    pub loss_valid: bool,
    /// How it was seen.
    pub loss: Loss,
    /// A response was dropped.
    pub stray: bool,
    /// The store is full.
    pub stall_full: bool,
    /// A READ or ATOMIC waits for others.
    pub stall_depth: bool,
    /// The sizes of the build.
    pub build: Build,
}

/// The sizes of the build; no register.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Build {
    wqes: u32,
    packets: u32,
}

impl Item for Build {
    fn layout(&self, _name: &str, _width: u32, _out: &mut Vec<Field>) {}
    fn write(&self, _out: &mut Writer<'_>) {}
    fn read(&mut self, _width: u32, _words: &mut Reader<'_>) -> Result<(), BadBits> {
        Ok(())
    }
}

/// Bits of a length.
const LENGTH: u32 = 0x1f_ffff;

/// What a response says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Arrival {
    /// Its PSN is out.
    out: bool,
    /// A negative acknowledgement.
    refuses: bool,
    /// And of another kind than a sequence error.
    fatal: bool,
    /// The next packet of the oldest READ's or ATOMIC's response.
    answers: bool,
    /// It speaks of PSNs past the oldest READ or ATOMIC.
    past: bool,
    /// And for the first time in a transmission.
    implied: bool,
    /// All before this PSN have arrived.
    upto: Psn,
    /// Dropped.
    stray: bool,
}

/// Registers as they were before the clock.
struct Before {
    acked: Psn,
    next_psn: Psn,
    sending: bool,
    live: bool,
    failed: bool,
}

/// The packet that `Build` makes.
struct Built {
    entry: Entry,
    psn: Psn,
    offset: u32,
}

impl Block for Regs {
    type Inputs = Inputs;
    type Outputs = Outputs;

    fn reset(sizes: &Sizes) -> Self {
        Self {
            open: false,
            failed: false,
            mtu: 0,
            budget: 0,
            depth: 0,
            timeout: 0,
            next_psn: Psn::default(),
            acked: Psn::default(),
            retries: 0,
            timer: 0,
            rewind: false,
            past_valid: false,
            past: Psn::default(),
            wqe: 0,
            posted: 0,
            offset: 0,
            head: 0,
            used: 0,
            sent: 0,
            head_known: false,
            head_last: Psn::default(),
            head_ends: false,
            waiting: vec![Waiting::default(); sizes.reads as usize],
            first: 0,
            waits: 0,
            state: State::Choose,
            again: false,
            entry: Entry::default(),
            tx_valid: false,
            tx: Request::default(),
            tx_laddr: 0,
            place_valid: false,
            place_addr: 0,
            done_valid: false,
            done_wqe: 0,
            freed: false,
            fail_valid: false,
            fail_status: Status::Success,
            loss_valid: false,
            loss: Loss::Timeout,
            stray: false,
            stall_full: false,
            stall_depth: false,
            build: Build { wqes: sizes.wqes, packets: sizes.packets },
        }
    }

    fn drive(&self, o: &mut Outputs) {
        o.done_valid = self.done_valid;
        o.done_wqe = self.done_wqe;
        o.freed = self.freed;
        o.fail_valid = self.fail_valid;
        o.fail_status = self.fail_status;
        o.tx_valid = self.tx_valid;
        o.tx = self.tx;
        o.tx_laddr = self.tx_laddr;
        o.place_valid = self.place_valid;
        o.place_addr = self.place_addr;
        o.loss_valid = self.loss_valid;
        o.loss = self.loss;
        o.stray = self.stray;
        o.stall_full = self.stall_full;
        o.stall_depth = self.stall_depth;
        o.empty = self.used == 0 && self.posted == 0;
    }

    fn ready(&self, i: &Inputs, o: &mut Outputs) {
        let again = self.state == State::Again;
        o.wqe_re = again || self.goes_on();
        o.wqe_raddr = u32::from(if again { i.entry_rdata.wqe } else { self.wqe });
        let built = self.build(i);
        o.entry_we = self.sends(i, &built) && !self.again;
        o.entry_waddr = self.place(self.used);
        o.entry_wdata = built.entry;
        let pops = self.pops();
        o.entry_re = self.looks() || self.goes_again() || pops && self.used > 1;
        o.entry_raddr = match (pops, self.looks()) {
            (true, _) => self.place(1),
            (_, true) => self.place(0),
            _ => self.place(self.sent),
        };
    }

    fn clock(&mut self, i: &Inputs, o: &Outputs) {
        let (arrival, due) = (self.judge(i), self.due());
        let before = Before {
            acked: self.acked,
            next_psn: self.next_psn,
            sending: self.tx_valid || self.rewind || self.sent < self.used,
            live: self.live(),
            failed: self.failed,
        };
        let finishes = arrival.answers && i.rx.psn == self.oldest().last_psn;
        self.freed = self.pops() && self.head_ends;
        self.stall_full = self.state == State::Choose && self.posted > 0 && self.full();
        self.stall_depth = self.state == State::Build && self.live() && self.blocked(&i.wqe_rdata);
        self.advance(i, o);
        self.arrive(i, arrival, due, finishes);
        self.lose(arrival, &before);
        if before.failed {
            (self.used, self.sent, self.posted, self.waits) = (0, 0, 0, 0);
            (self.head_known, self.rewind) = (false, false);
        }
        if i.open {
            self.open(i);
        }
    }

    fn idle(&self, i: &Inputs) -> bool {
        let events = self.place_valid || self.done_valid || self.freed || self.fail_valid;
        let events = events || self.loss_valid || self.stray || self.stall_full;
        let inputs = i.open || i.issued || i.rx_valid;
        let still = self.acked == self.next_psn && self.used == 0 && self.posted == 0;
        let still = still && self.state == State::Choose && !self.rewind && self.timer == 0;
        !events && !inputs && still && !self.stall_depth && !self.failed
    }
}

impl Regs {
    fn live(&self) -> bool {
        self.open && !self.failed
    }

    fn full(&self) -> bool {
        u32::from(self.used) == self.build.packets
    }

    /// The place of an entry, counted from the oldest.
    fn place(&self, n: u16) -> u32 {
        (u32::from(self.head) + u32::from(n)) & (self.build.packets - 1)
    }

    fn oldest(&self) -> Waiting {
        self.waiting[usize::from(self.first) & (self.waiting.len() - 1)]
    }

    /// The next PSN of the oldest READ's or ATOMIC's response.
    fn due(&self) -> Psn {
        let first = self.oldest().psn;
        if self.acked.ahead_of(first) > 0 { self.acked } else { first }
    }

    /// What a response says, before this clock changes anything.
    fn judge(&self, i: &Inputs) -> Arrival {
        let rx = &i.rx;
        if !i.rx_valid || !self.live() {
            return Arrival::default();
        }
        let (acked, due, waits) = (self.acked.0, self.due(), self.waits > 0);
        let out = rx.psn.minus(acked) < self.next_psn.minus(acked);
        let refuses = out && rx.refuses();
        let upto = if refuses { rx.psn } else { rx.psn.plus(1) };
        let data = rx.kind != RspKind::Ack;
        let of_kind = (rx.kind == RspKind::Atomic) == self.oldest().atomic;
        let answers = out && data && waits && rx.psn == due && of_kind;
        let past = out && !answers && waits && upto.ahead_of(due) > 0;
        let stray = !answers && !past && (!out || data);
        let fatal = refuses && rx.syndrome != SYNDROME_SEQUENCE;
        let implied = past && (!self.past_valid || upto.minus(1).ahead_of(self.past) <= 0);
        Arrival { out, refuses, fatal, answers, past, implied, upto, stray }
    }

    /// Retires PSNs, and takes the response of a READ or ATOMIC.
    fn arrive(&mut self, i: &Inputs, arrival: Arrival, due: Psn, finishes: bool) {
        self.stray = arrival.stray;
        self.place_valid = arrival.answers;
        self.done_valid = finishes;
        if arrival.past {
            self.acked = due;
            (self.past_valid, self.past) = (true, arrival.upto.minus(1));
        } else if arrival.out && !arrival.stray {
            self.acked = arrival.upto;
        }
        if arrival.answers {
            let oldest = self.oldest();
            let behind = u64::from(i.rx.psn.minus(oldest.psn.0).0 << self.mtu & 0xff_ffff);
            self.place_addr = oldest.laddr.wrapping_add(behind);
            self.done_wqe = oldest.wqe;
            self.past_valid = false;
        }
        if finishes {
            self.first = (self.first + 1) & (self.waiting.len() as u8 - 1);
            self.waits -= 1;
        }
    }

    /// Counts a loss, and fails once the budget is spent.
    fn lose(&mut self, arrival: Arrival, before: &Before) {
        let news = self.acked != before.acked;
        let due = self.timeout != 0 && self.timer == self.timeout;
        let expired = before.live && due && !news && !before.sending;
        let refused = arrival.refuses && !arrival.past;
        let lost = arrival.implied || refused || expired;
        if news {
            self.retries = self.budget;
        }
        let fails = arrival.fatal || lost && self.retries == 0;
        self.loss_valid = lost;
        if lost {
            self.loss = match (arrival.implied, refused) {
                (true, _) => Loss::Implied,
                (_, true) => Loss::Nak,
                _ => Loss::Timeout,
            };
            self.rewind = true;
            self.retries -= u8::from(!fails);
        }
        let still = before.sending || self.acked == before.next_psn;
        self.timer = if still || news || lost { 0 } else { self.timer.wrapping_add(1) };
        self.fail_valid = fails;
        if fails {
            self.fail_status = if arrival.fatal { Status::Remote } else { Status::Retries };
            self.failed = true;
        }
    }

    /// The oldest entry has retired.
    fn pops(&self) -> bool {
        let retired = self.head_known && self.acked.ahead_of(self.head_last) > 0;
        self.state == State::Choose && retired
    }

    /// The oldest entry is read.
    fn looks(&self) -> bool {
        self.state == State::Choose && !self.head_known && self.used > 0
    }

    /// Nothing stands before a packet.
    fn chooses(&self) -> bool {
        self.state == State::Choose && !self.pops() && !self.looks() && !self.rewind
    }

    fn goes_again(&self) -> bool {
        self.chooses() && self.sent < self.used
    }

    fn goes_on(&self) -> bool {
        self.chooses() && self.sent == self.used && self.posted > 0 && !self.full()
    }

    /// A new READ or ATOMIC waits for others.
    fn blocked(&self, wqe: &RcWqe) -> bool {
        !self.again && wqe.op.waits() && self.waits >= self.depth
    }

    /// What goes out: retires, goes back, sends again, sends, in this order.
    fn advance(&mut self, i: &Inputs, o: &Outputs) {
        let issued = u8::from(i.issued && self.live());
        match self.state {
            State::Choose if self.pops() => {
                self.state = if self.used > 1 { State::Head } else { State::Choose };
                self.head = self.place(1) as u8;
                self.used -= 1;
                self.sent = self.sent.saturating_sub(1);
                self.head_known = false;
            }
            State::Choose if self.looks() => self.state = State::Head,
            State::Choose if self.rewind => (self.rewind, self.sent) = (false, 0),
            State::Choose if self.goes_again() => self.state = State::Again,
            State::Choose if o.wqe_re => (self.state, self.again) = (State::Build, false),
            State::Choose => {}
            State::Head => {
                self.head_known = true;
                self.head_last = i.entry_rdata.last_psn;
                self.head_ends = i.entry_rdata.last;
                self.state = State::Choose;
            }
            State::Again => {
                (self.entry, self.again) = (i.entry_rdata, true);
                self.state = State::Build;
            }
            State::Build => {
                let built = self.build(i);
                if self.sends(i, &built) {
                    self.send(&i.wqe_rdata, &built);
                } else {
                    self.state = State::Choose;
                }
            }
            State::Send => {
                if i.tx_ready {
                    (self.tx_valid, self.state) = (false, State::Choose);
                }
            }
        }
        self.posted += issued;
    }

    /// A packet goes, and enters the store where it is new.
    fn send(&mut self, wqe: &RcWqe, built: &Built) {
        let new = !self.again;
        self.used += u16::from(new);
        self.sent += 1;
        self.state = State::Send;
        self.tx_valid = true;
        self.tx = self.request(wqe, built);
        self.tx_laddr = wqe.laddr.wrapping_add(u64::from(built.offset));
        if !new {
            return;
        }
        let entry = &built.entry;
        self.next_psn = entry.last_psn.plus(1);
        if wqe.op.waits() {
            let at = usize::from(self.first + self.waits) & (self.waiting.len() - 1);
            self.waiting[at] = Waiting {
                wqe: self.wqe,
                psn: entry.psn,
                last_psn: entry.last_psn,
                atomic: wqe.op == Op::Atomic,
                laddr: wqe.laddr,
            };
            self.waits += 1;
        }
        if entry.last {
            self.offset = 0;
            self.wqe = (self.wqe + 1) & (self.build.wqes as u8 - 1);
            self.posted -= 1;
        } else {
            self.offset += 1 << self.mtu;
        }
    }

    /// A connection begins.
    fn open(&mut self, i: &Inputs) {
        let reads = self.waiting.len() as u32;
        let Build { wqes, packets } = self.build;
        *self = Self {
            open: true,
            mtu: i.cfg_mtu,
            budget: i.cfg_retries,
            retries: i.cfg_retries,
            depth: i.cfg_depth,
            timeout: i.cfg_timeout,
            next_psn: i.cfg_psn,
            acked: i.cfg_psn,
            ..Self::reset(&Sizes { wqes, packets, reads, ..Sizes::DEFAULT })
        };
    }

    /// The packet that `Build` is about.
    fn build(&self, i: &Inputs) -> Built {
        let wqe = &i.wqe_rdata;
        let psns = if wqe.op == Op::Read { span(wqe.len, self.mtu) } else { 1 };
        let left = wqe.len.wrapping_sub(self.offset) & LENGTH;
        let new = Entry {
            wqe: self.wqe,
            psn: self.next_psn,
            last_psn: self.next_psn.plus(psns).minus(1),
            offset: self.offset,
            last: wqe.op.waits() || left <= 1 << self.mtu,
        };
        let entry = if self.again { self.entry } else { new };
        if wqe.op == Op::Read && self.acked.ahead_of(entry.psn) > 0 {
            // It resumes behind what has come of its response.
            let offset = self.acked.minus(entry.psn.0).0 << self.mtu & LENGTH;
            Built { entry, psn: self.acked, offset }
        } else {
            Built { entry, psn: entry.psn, offset: entry.offset }
        }
    }

    /// Whether it goes out: not one that has retired meanwhile.
    fn sends(&self, i: &Inputs, built: &Built) -> bool {
        let retired = self.again && self.acked.ahead_of(built.entry.last_psn) > 0;
        let stays = self.rewind || retired || self.blocked(&i.wqe_rdata);
        self.state == State::Build && self.live() && !stays
    }

    /// The packet, which counts as sent and in the store.
    fn request(&self, wqe: &RcWqe, built: &Built) -> Request {
        let left = wqe.len.wrapping_sub(built.offset) & LENGTH;
        let half = u32::from(self.used) >= self.build.packets / 2;
        let alone = self.posted == u8::from(!self.again) && self.sent == self.used;
        Request {
            op: wqe.op,
            first: wqe.op.waits() || built.offset == 0,
            last: built.entry.last,
            ack_req: built.entry.last && alone || half,
            psn: built.psn,
            raddr: wqe.raddr.wrapping_add(u64::from(built.offset)),
            len: left,
            bytes: if wqe.op.waits() { 0 } else { part(left, self.mtu) },
            add: wqe.add,
            operand: wqe.operand,
            compare: wqe.compare,
        }
    }
}
