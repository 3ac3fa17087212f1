//! `egress_arbiter`: model and RTL against each other, and both against a rational clock.

use std::collections::VecDeque;

use rtl_model::block::Block;
use rtl_model::egress_arbiter::{Inputs, Outputs, Regs};
use rtl_model::image::Wide;
use rtl_model::types::Frame;
use testbenches::{Lockstep, Mismatch, Reached, Rng, Sizes, Start, Table};

/// Units a clock at 400 Gbps; a byte is 8,000.
const RATE: u32 = 400_000;
/// Bytes of frames: ACK, data without payload, SACK, 199 B, a full packet.
const LENGTHS: [u16; 5] = [62, 78, 94, 199, 4_174];

fn pair(seed: u32) -> Lockstep<Regs> {
    Lockstep::new("egress_arbiter", &Sizes::DEFAULT, Start::Random(seed)).expect("builds")
}

/// Pools of classes 0 and 1.
fn pools(data: u32, control: u32) -> Wide<4> {
    Wide([u64::from(data) | u64::from(control) << 32, 0, 0, 0])
}

fn settings() -> Inputs {
    Inputs {
        cfg_wire_rate: RATE,
        cfg_egress_pool: pools(230_400, 25_600),
        cfg_weights: 0x0501,
        ..Inputs::default()
    }
}

fn frame(len: u16, rng: &mut Rng) -> Frame {
    Frame {
        hdr: Wide(std::array::from_fn(|_| rng.bits())),
        hdr_len: 74,
        len,
        data: rng.percent(70),
        slot: rng.below(1_024) as u16,
        off: rng.below(64) as u8,
    }
}

/// Settings with both pools reserved beyond what a test sends.
fn reserved(pair: &mut Lockstep<Regs>, frames: usize, bytes: u16) -> Result<(), Mismatch> {
    for _ in 0..frames {
        pair.clock(&Inputs { resv_valid: true, resv_bytes: bytes, ..settings() })?;
    }
    Ok(())
}

#[test]
fn section_2_exact_ends_and_half() -> Result<(), Mismatch> {
    let mut pair = pair(1);
    let ack = Frame { len: 62, ..Frame::default() };
    for row in Table::read("egress_arbiter/exact_ends_and_half.txt") {
        let (resv, cresv) = (row.dec("resv") as u16, row.dec("cresv") as u16);
        let out = pair.clock(&Inputs {
            cls_valid: u8::from(row.bit("dat")) | u8::from(row.bit("ctl")) << 1,
            cls0: ack,
            cls1: ack,
            resv_valid: resv > 0,
            resv_bytes: resv,
            cresv_valid: cresv > 0,
            cresv_bytes: cresv,
            cfg_egress_pool: pools(248, 248),
            ..settings()
        })?;
        row.expect("dat_ready", out.cls_ready & 1);
        row.expect("ctl_ready", out.cls_ready >> 1);
        row.expect("tx_valid", u8::from(out.tx_valid));
        row.expect("tx_ctl", out.tx_cls);
        row.expect("end_valid", u8::from(out.end_valid));
        row.expect("end_back", out.end_back);
        row.expect("end_ctl", out.end_cls);
        row.expect("egress_free", out.egress_free);
        row.expect("ctl_free", out.ctl_free);
        row.expect("half_valid", u8::from(out.half_valid));
    }
    Ok(())
}

/// Section 2, PKT-2: of frames back to back each ends at the first clock at or after its exact
/// time, however many came before it, and the remainder is exact too.
fn back_to_back(lengths: &[u16], rate: u32, frames: usize) -> Result<(), Mismatch> {
    let mut rng = Rng::new(0x5eed, "back_to_back");
    let mut pair = pair(2);
    let (mut units, mut start) = (0_u64, None);
    let mut sent = VecDeque::new();
    let mut next = frame(rng.pick(lengths), &mut rng);
    let (mut given, mut ended) = (0, 0);
    while ended < frames {
        // Reserved as it is offered; the release comes at least a clock later.
        let ready = !pair.regs().busy || pair.regs().left <= rate;
        let out = pair.clock(&Inputs {
            cls_valid: u8::from(given < frames),
            cls0: next,
            resv_valid: given < frames && ready,
            resv_bytes: next.len,
            cfg_wire_rate: rate,
            ..settings()
        })?;
        let now = pair.clocks() - 1; // of the outputs in hand
        if out.tx_valid && start.is_none() {
            start = Some(now);
        }
        if out.end_valid {
            let length: u16 = sent.pop_front().expect("a frame that started");
            units += u64::from(length) * 8_000;
            let clocks = units.div_ceil(u64::from(rate));
            assert_eq!(now - start.expect("started"), clocks, "frame {ended}");
            assert_eq!(u64::from(out.end_back), clocks * u64::from(rate) - units, "frame {ended}");
            assert_eq!(out.end_len, length);
            ended += 1;
        }
        if out.cls_ready & 1 == 1 && given < frames {
            sent.push_back(next.len);
            next = frame(rng.pick(lengths), &mut rng);
            given += 1;
        }
    }
    Ok(())
}

#[test]
fn section_2_twenty_thousand_back_to_back_of_62() -> Result<(), Mismatch> {
    back_to_back(&[62], RATE, 20_000)
}

#[test]
fn section_2_twenty_thousand_back_to_back_of_78() -> Result<(), Mismatch> {
    back_to_back(&[78], RATE, 20_000)
}

#[test]
fn section_2_twenty_thousand_back_to_back_of_94() -> Result<(), Mismatch> {
    back_to_back(&[94], RATE, 20_000)
}

#[test]
fn section_2_twenty_thousand_back_to_back_of_199() -> Result<(), Mismatch> {
    back_to_back(&[199], RATE, 20_000)
}

#[test]
fn section_2_twenty_thousand_back_to_back_of_4174() -> Result<(), Mismatch> {
    back_to_back(&[4_174], RATE, 20_000)
}

/// 1,000,000 of one length in the model alone: the same.
fn a_million(len: u16) {
    let mut port = Regs::reset(&Sizes::DEFAULT);
    let mut o = Outputs::default();
    let cls0 = Frame { len, ..Frame::default() };
    let mut i = Inputs { cls_valid: 1, cls0, resv_bytes: len, ..settings() };
    let (mut ended, mut start) = (0, None);
    for clock in 0_u64.. {
        port.drive(&mut o);
        i.resv_valid = !port.busy || port.left <= RATE;
        port.ready(&i, &mut o);
        if o.tx_valid {
            start.get_or_insert(clock);
        }
        if o.end_valid {
            ended += 1;
            let units = ended * u64::from(len) * 8_000;
            let clocks = units.div_ceil(RATE.into());
            assert_eq!(clock - start.expect("started"), clocks, "frame {ended} of {len} B");
            assert_eq!(u64::from(o.end_back), clocks * u64::from(RATE) - units);
            if ended == 1_000_000 {
                return;
            }
        }
        port.clock(&i, &o);
    }
}

#[test]
fn section_2_a_million_back_to_back_of_each_length_in_the_model() {
    LENGTHS.into_iter().for_each(a_million);
}

#[test]
fn section_2_mixed_lengths_at_rates_that_do_not_divide() -> Result<(), Mismatch> {
    back_to_back(&LENGTHS, RATE, 1_000)?;
    back_to_back(&[62, 78, 94], 399_999, 2_000)?;
    back_to_back(&[62, 199], 100_003, 1_000)?;
    back_to_back(&[62, 63], 496_000, 2_000) // a frame of 62 B takes a clock to the unit
}

/// SEG-4, BUF-3: a full pool of full packets rings half at the first release that leaves it.
fn releases_until_half(len: u16, packets: usize) -> Result<usize, Mismatch> {
    let mut pair = pair(3);
    reserved(&mut pair, packets, len)?;
    let full = pair.clock(&settings())?;
    assert!(full.egress_free < u32::from(len), "one more does not fit");
    let packet = Frame { len, data: true, ..Frame::default() };
    let mut releases = 0;
    loop {
        let out = pair.clock(&Inputs { cls_valid: 1, cls0: packet, ..settings() })?;
        releases += usize::from(out.end_valid);
        if out.half_valid {
            return Ok(releases);
        }
    }
}

#[test]
fn seg_4_half_at_the_28th_release_of_55() -> Result<(), Mismatch> {
    assert_eq!(releases_until_half(4_174, 55)?, 28);
    Ok(())
}

#[test]
fn seg_4_half_at_the_27th_release_of_54() -> Result<(), Mismatch> {
    assert_eq!(releases_until_half(4_202, 54)?, 27);
    Ok(())
}

/// BUF-1, S003: 328 ACKs of 78 B fit 25,600 B, and 54 packets of 4,202 B fit 230,400 B; one more of
/// either finds no room.
#[test]
fn buf_1_328_acks_and_54_packets_fill_the_default_pools() -> Result<(), Mismatch> {
    let mut pair = pair(6);
    let (mut acks, mut packets) = (0, 0);
    let mut out = pair.clock(&settings())?;
    for _ in 0..400 {
        out = pair.clock(&settings())?;
        let (cresv, resv) = (out.ctl_free >= 78, out.egress_free >= 4_202);
        acks += u32::from(cresv);
        packets += u32::from(resv);
        out = pair.clock(&Inputs {
            cresv_valid: cresv,
            cresv_bytes: 78,
            resv_valid: resv,
            resv_bytes: 4_202,
            ..settings()
        })?;
    }
    assert_eq!((acks, packets), (328, 54));
    assert_eq!((out.ctl_free, out.egress_free), (25_600 - 328 * 78, 230_400 - 226_908));
    Ok(())
}

/// A class as its partner sees it: what is reserved and waits in the queue.
#[derive(Default)]
struct Class {
    queue: VecDeque<Frame>,
    /// Reserved, in the order of the reservations, not yet in the queue.
    coming: VecDeque<Frame>,
    held: u32,
}

impl Class {
    /// Reserves a frame where there is room, as the partner sees it; its bytes, or 0.
    fn reserve(&mut self, free: u32, percent: u64, rng: &mut Rng) -> u16 {
        let any = rng.between(62, 4_174) as u16;
        let len = if rng.percent(80) { rng.pick(&LENGTHS) } else { any };
        if u32::from(len) > free || !rng.percent(percent) {
            return 0;
        }
        self.coming.push_back(frame(len, rng));
        len
    }
}

/// Frames of both classes in order, one at a time, control first, and free + held = pool.
struct Watch {
    classes: [Class; 2],
    /// On the wire now, and its class.
    on_wire: Option<(Frame, usize)>,
    pools: [u32; 2],
    /// Reserved of class 0 by the event of the clock before.
    beside: u32,
    /// Given back by the event of the clock before.
    returned: u32,
    settled: bool,
}

impl Watch {
    fn check(&mut self, i: &Inputs, out: &Outputs) {
        if out.end_valid {
            let (frame, class) = self.on_wire.take().expect("a frame was on the wire");
            let got = (out.end_len, out.end_data, out.end_slot, usize::from(out.end_cls));
            assert_eq!(got, (frame.len, frame.data, frame.slot, class));
            self.classes[class].held -= u32::from(frame.len);
        }
        self.classes[0].held -= self.returned;
        let released = out.end_valid && out.end_cls == 0 || self.returned > 0;
        let half = released
            && 2 * u64::from(self.classes[0].held - self.beside) <= u64::from(self.pools[0]);
        assert_eq!(out.half_valid, half, "BUF-3: the release, without the reservation beside it");
        if out.tx_valid {
            assert!(self.on_wire.is_none(), "one frame at a time");
            let class = usize::from(out.tx_cls);
            let frame = self.classes[class].queue.pop_front().expect("a frame was offered");
            assert_eq!(frame, out.tx);
            self.on_wire = Some((frame, class));
        }
        assert!(
            out.cls_ready & 1 == 0 || i.cls_valid & 2 == 0,
            "ARB-2: data is taken only without control"
        );
    }

    /// BUF-1, BUF-3: nothing is lost and nothing invented.
    fn conserve(&mut self, out: &Outputs) {
        if self.settled {
            assert_eq!(out.egress_free + self.classes[0].held, self.pools[0]);
            assert_eq!(out.ctl_free + self.classes[1].held, self.pools[1]);
        }
        self.settled = true;
    }
}

#[test]
fn random_tests_reach_all() -> Result<(), Mismatch> {
    let reached = Reached::begin("egress_arbiter");
    arb_1_random_traffic_agrees_and_conserves_the_pools()?;
    arb_2_every_choice_is_the_plain_one()?;
    reached.check();
    Ok(())
}

#[test]
fn arb_1_random_traffic_agrees_and_conserves_the_pools() -> Result<(), Mismatch> {
    for (seed, load) in [(1, 100), (2, 40), (3, 5)] {
        let mut rng = Rng::new(u64::from(seed), "egress_arbiter");
        let mut pair = pair(seed);
        let pools = [rng.pick(&[230_400, 8_348, 4_174]), rng.pick(&[25_600, 4_174])];
        let fresh = || Watch {
            classes: Default::default(),
            on_wire: None,
            pools,
            beside: 0,
            returned: 0,
            settled: false,
        };
        let mut watch = fresh();
        let mut free = [0, 0];
        let (mut resv, mut cresv) = (0, 0);
        for clock in 0..40_000 {
            // What was reserved a clock ago reaches its queue some time later.
            for class in &mut watch.classes {
                if rng.percent(30) {
                    class.queue.extend(class.coming.pop_front());
                }
            }
            // A frame that starts in this clock still heads the queue: `pop` comes with `tx_valid`.
            let taken = usize::from(pair.regs().tx_valid);
            let taken_ctl = taken * usize::from(pair.regs().tx_cls == 1);
            let dat = watch.classes[0].queue.get(taken - taken_ctl).copied();
            let ctl = watch.classes[1].queue.get(taken_ctl).copied();
            // A reservation that comes to nothing; the last one may be made in this clock.
            let unresv = if watch.classes[0].coming.len() > 1 && rng.percent(5) {
                watch.classes[0].coming.pop_front().map_or(0, |f| f.len)
            } else {
                0
            };
            let i = Inputs {
                cls_valid: u8::from(dat.is_some()) | u8::from(ctl.is_some()) << 1,
                cls0: dat.unwrap_or_default(),
                cls1: ctl.unwrap_or_default(),
                resv_valid: resv > 0,
                resv_bytes: resv,
                cresv_valid: cresv > 0,
                cresv_bytes: cresv,
                unresv_valid: unresv > 0,
                unresv_bytes: unresv,
                cfg_egress_pool: self::pools(pools[0], pools[1]),
                cfg_sched: rng.pick(&[0, 3]),
                cfg_weights: rng.bits(),
                ..settings()
            };
            let out = pair.clock(&i)?;
            watch.check(&i, &out);
            watch.conserve(&out);
            // Counted from the clock after the event on, as in the block.
            watch.beside = u32::from(resv);
            watch.returned = u32::from(unresv);
            watch.classes[0].held += u32::from(resv);
            watch.classes[1].held += u32::from(cresv);
            free[0] = out.egress_free.saturating_sub(u32::from(resv));
            free[1] = out.ctl_free.saturating_sub(u32::from(cresv));
            resv = watch.classes[0].reserve(free[0], load, &mut rng);
            cresv = watch.classes[1].reserve(free[1], load / 4, &mut rng);
            if clock == 20_000 {
                pair.reset().expect("resets");
                watch = fresh();
                (resv, cresv) = (0, 0);
            }
        }
    }
    Ok(())
}

#[test]
fn free_follows_a_pool_that_changes_size() -> Result<(), Mismatch> {
    let mut pair = pair(4);
    reserved(&mut pair, 2, 100)?;
    for (pool, free) in [(230_400, 230_200), (200, 0), (199, 0), (201, 1), (0, 0)] {
        let i = Inputs { cfg_egress_pool: pools(pool, 0), ..settings() };
        pair.clock(&i)?;
        assert_eq!(pair.clock(&i)?.egress_free, free);
    }
    Ok(())
}

/// All eight classes, their queues never short of room.
struct Eight {
    pair: Lockstep<Regs>,
    i: Inputs,
    /// The class of each frame that has started; 8 is PFC.
    served: Vec<u8>,
}

impl Eight {
    fn new(seed: u32) -> Self {
        let mut i = settings();
        i.cfg_egress_pool = Wide([25_600 * (1 + (1 << 32)); 4]);
        for (class, head) in heads(&mut i).into_iter().enumerate() {
            *head = Frame { len: 62 + class as u16, ..Frame::default() };
        }
        let mut eight = Self { pair: pair(seed), i, served: Vec::new() };
        eight.fill();
        eight
    }

    /// Room for releases ahead of the reservations that `clock` makes.
    fn fill(&mut self) {
        for oresv_cls in 0..8 {
            let oresv_valid = true;
            let i = Inputs { oresv_valid, oresv_cls, oresv_bytes: 12_000, ..self.i };
            self.pair.clock(&Inputs { cls_valid: 0, pfc_valid: false, ..i }).expect("agrees");
        }
    }

    /// A clock: a frame taken is reserved, so that its release finds its bytes.
    fn clock(&mut self) -> Result<Outputs, Mismatch> {
        let (regs, rate) = (self.pair.regs(), self.i.cfg_wire_rate);
        let starts = regs.tx_valid && regs.tx_cls < 8;
        self.i.oresv_valid = starts;
        self.i.oresv_cls = if starts { regs.tx_cls } else { 0 };
        self.i.oresv_bytes = regs.tx.len;
        assert!(rate <= RATE, "a frame takes more than a clock");
        let out = self.pair.clock(&self.i)?;
        if out.tx_valid {
            self.served.push(out.tx_cls);
        }
        Ok(out)
    }

    /// The classes of the next `n` frames.
    fn serve(&mut self, n: usize) -> Result<Vec<u8>, Mismatch> {
        self.served.clear();
        while self.served.len() < n {
            self.clock()?;
        }
        Ok(self.served.clone())
    }

    /// Until the frame that is chosen now has started and the port is free but for it.
    fn settle(&mut self, valid: u8) -> Result<(), Mismatch> {
        self.i.cls_valid = valid;
        for _ in 0..8 {
            self.clock()?;
        }
        Ok(())
    }
}

fn heads(i: &mut Inputs) -> [&mut Frame; 8] {
    [
        &mut i.cls0,
        &mut i.cls1,
        &mut i.cls2,
        &mut i.cls3,
        &mut i.cls4,
        &mut i.cls5,
        &mut i.cls6,
        &mut i.cls7,
    ]
}

/// ARB-2, case 19: [1, 5] is 5, 1, 5, 1; a class that is empty or paused loses its turn and comes
/// back with a fresh one; what is left of a weight stays while the port idles.
#[test]
fn arb_2_weights_are_turns() -> Result<(), Mismatch> {
    let mut eight = Eight::new(11);
    eight.i.cfg_sched = 2;
    eight.i.cfg_egress_pool = pools(25_600, 25_600);
    eight.i.cls_valid = 3;
    assert_eq!(eight.serve(13)?, [1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 0, 1]);
    // Control is empty after two of five: data at once, and a fresh five next.
    assert_eq!(eight.serve(1)?, [1]);
    eight.i.cls_valid = 1;
    assert_eq!(eight.serve(2)?[1], 0);
    eight.i.cls_valid = 3;
    let next = eight.serve(9)?;
    let fives: Vec<_> = next.split(|c| *c == 0).map(<[u8]>::len).filter(|n| *n > 0).collect();
    assert_eq!(fives[0], 5, "{next:?}");
    // An idle port keeps what is left.
    let mut eight = Eight::new(12);
    eight.i.cfg_sched = 2;
    eight.i.cfg_egress_pool = pools(25_600, 25_600);
    eight.i.cls_valid = 2;
    eight.serve(3)?;
    eight.settle(0)?;
    let before = eight.pair.regs().credit;
    eight.settle(0)?;
    eight.i.cls_valid = 3;
    let next = eight.serve(8)?;
    let left = next.iter().take_while(|c| **c == 1).count();
    assert_eq!(left, usize::from(before), "{next:?}");
    Ok(())
}

/// ARB-2, case 18: two classes that always want to send are served in turn, whoever comes and goes.
#[test]
fn arb_2_round_robin_is_fair() -> Result<(), Mismatch> {
    let mut rng = Rng::new(18, "arb_2_round_robin");
    let mut eight = Eight::new(13);
    eight.i.cfg_sched = 1;
    eight.i.cls_valid = 0xff;
    assert_eq!(eight.serve(9)?, [0, 1, 2, 3, 4, 5, 6, 7, 0]);
    let mut counts = [0_i64; 9];
    for _ in 0..4_000 {
        eight.i.cls_valid = 0b0100_0010 | rng.bits() as u8;
        let out = eight.clock()?;
        if out.tx_valid {
            counts[usize::from(out.tx_cls)] += 1;
            assert!((counts[1] - counts[6]).abs() <= 1, "{counts:?}");
        }
    }
    assert!(counts[1] > 100, "{counts:?}");
    Ok(())
}

/// The rules of ARB-1 and ARB-2 over lists, without registers of the block.
struct Plain {
    last: u8,
    turn: Option<(u8, u8)>,
}

impl Plain {
    /// The class that goes now, if any may.
    fn choose(&mut self, i: &Inputs) -> Option<u8> {
        if i.pfc_valid {
            return Some(8);
        }
        let weight = |c: u8| (i.cfg_weights >> (8 * c)) as u8;
        let able: Vec<u8> = (0..8).filter(|c| (i.cls_valid & !i.paused) >> c & 1 == 1).collect();
        let from = |first: u8| {
            let mut order = able.clone();
            order.sort_by_key(|c| (c + 8 - first) % 8);
            order
        };
        let class = match i.cfg_sched {
            1 => *from((self.last + 1) % 8).first()?,
            2 => {
                let pool =
                    |c: &u8| (i.cfg_egress_pool.0[usize::from(*c) / 2] >> (32 * (c % 2))) as u32;
                let top = (1..8).filter(|c| pool(c) > 0).max().unwrap_or(0);
                let (turn, left) = self.turn.unwrap_or((top, weight(top)));
                let left = left.min(weight(turn));
                if able.contains(&turn) && left > 0 {
                    self.turn = Some((turn, left - 1));
                    turn
                } else {
                    let order = from((turn + 1) % 8);
                    let next = *order.iter().find(|c| weight(**c) > 0)?;
                    self.turn = Some((next, weight(next) - 1));
                    next
                }
            }
            _ => *able.last()?,
        };
        self.last = class;
        Some(class)
    }
}

/// ARB-1, ARB-2, PFC-4: eight classes, pauses and PFC frames that come and go, every setting changed
/// at any time; the port idles only where nobody may send.
#[test]
fn arb_2_every_choice_is_the_plain_one() -> Result<(), Mismatch> {
    let mut seen = [0; 9];
    for seed in 21..=23 {
        let mut rng = Rng::new(u64::from(seed), "arb_2");
        let mut eight = Eight::new(seed);
        let mut plain = Plain { last: 7, turn: None };
        let mut expected = None;
        for clock in 0..20_000 {
            if clock % 64 == 0 {
                eight.i.cfg_sched = rng.below(4) as u8;
                eight.i.cfg_weights = rng.bits() & rng.pick(&[u64::MAX, 0x0302_0302_0302_0301, 0]);
                eight.i.cfg_wire_rate = rng.pick(&[RATE, 399_999, 250_000]);
                let none = if rng.percent(50) { 0 } else { 25_600 * (1 + (1 << 32)) };
                eight.i.cfg_egress_pool.0[3] = none;
            }
            if rng.percent(20) {
                eight.i.cls_valid = (rng.bits() & rng.bits()) as u8;
                eight.i.paused = (rng.bits() & rng.bits()) as u8;
            }
            eight.i.pfc_valid = rng.percent(10);
            eight.i.pfc = Frame { len: 64, hdr_len: 60, ..Frame::default() };
            let regs = eight.pair.regs();
            let open = !regs.busy || regs.left <= eight.i.cfg_wire_rate;
            let out = eight.clock()?;
            assert_eq!(out.tx_valid.then_some(out.tx_cls), expected, "clock {clock}");
            seen[usize::from(expected.unwrap_or(0))] += usize::from(expected.is_some());
            let i = eight.i;
            expected = if open { plain.choose(&i) } else { None };
            if clock == 10_000 {
                eight.pair.reset().expect("resets");
                eight.fill();
                plain = Plain { last: 7, turn: None };
                expected = None;
            }
        }
    }
    assert!(seen.iter().all(|n| *n > 200), "{seen:?}");
    Ok(())
}
