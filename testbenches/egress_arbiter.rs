//! `egress_arbiter`: model and RTL against each other, and both against a rational clock.

use std::collections::VecDeque;

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

fn settings() -> Inputs {
    Inputs {
        cfg_wire_rate: RATE,
        cfg_egress_pool0: 230_400,
        cfg_egress_pool1: 25_600,
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
            dat_valid: row.bit("dat"),
            dat: ack,
            ctl_valid: row.bit("ctl"),
            ctl: ack,
            resv_valid: resv > 0,
            resv_bytes: resv,
            cresv_valid: cresv > 0,
            cresv_bytes: cresv,
            cfg_egress_pool0: 248,
            cfg_egress_pool1: 248,
            ..settings()
        })?;
        row.expect("dat_ready", u8::from(out.dat_ready));
        row.expect("ctl_ready", u8::from(out.ctl_ready));
        row.expect("tx_valid", u8::from(out.tx_valid));
        row.expect("tx_ctl", u8::from(out.tx_ctl));
        row.expect("end_valid", u8::from(out.end_valid));
        row.expect("end_back", out.end_back);
        row.expect("end_ctl", u8::from(out.end_ctl));
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
            dat_valid: given < frames,
            dat: next,
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
        if out.dat_ready && given < frames {
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
        let out = pair.clock(&Inputs { dat_valid: true, dat: packet, ..settings() })?;
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
            let got = (out.end_len, out.end_data, out.end_slot, usize::from(out.end_ctl));
            assert_eq!(got, (frame.len, frame.data, frame.slot, class));
            self.classes[class].held -= u32::from(frame.len);
        }
        self.classes[0].held -= self.returned;
        let released = out.end_valid && !out.end_ctl || self.returned > 0;
        let half = released
            && 2 * u64::from(self.classes[0].held - self.beside) <= u64::from(self.pools[0]);
        assert_eq!(out.half_valid, half, "BUF-3: the release, without the reservation beside it");
        if out.tx_valid {
            assert!(self.on_wire.is_none(), "one frame at a time");
            let class = usize::from(out.tx_ctl);
            let frame = self.classes[class].queue.pop_front().expect("a frame was offered");
            assert_eq!(frame, out.tx);
            self.on_wire = Some((frame, class));
        }
        assert!(!(out.dat_ready && i.ctl_valid), "ARB-2: data is taken only without control");
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
fn arb_1_random_traffic_agrees_and_conserves_the_pools() -> Result<(), Mismatch> {
    let reached = Reached::begin("egress_arbiter");
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
            let taken_ctl = taken * usize::from(pair.regs().tx_ctl);
            let dat = watch.classes[0].queue.get(taken - taken_ctl).copied();
            let ctl = watch.classes[1].queue.get(taken_ctl).copied();
            // A reservation that comes to nothing; the last one may be made in this clock.
            let unresv = if watch.classes[0].coming.len() > 1 && rng.percent(5) {
                watch.classes[0].coming.pop_front().map_or(0, |f| f.len)
            } else {
                0
            };
            let i = Inputs {
                dat_valid: dat.is_some(),
                dat: dat.unwrap_or_default(),
                ctl_valid: ctl.is_some(),
                ctl: ctl.unwrap_or_default(),
                resv_valid: resv > 0,
                resv_bytes: resv,
                cresv_valid: cresv > 0,
                cresv_bytes: cresv,
                unresv_valid: unresv > 0,
                unresv_bytes: unresv,
                cfg_egress_pool0: pools[0],
                cfg_egress_pool1: pools[1],
                cfg_sched: rng.below(3) as u8,
                cfg_weight0: rng.bits() as u8,
                cfg_weight1: rng.bits() as u8,
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
    reached.check();
    Ok(())
}

#[test]
fn free_follows_a_pool_that_changes_size() -> Result<(), Mismatch> {
    let mut pair = pair(4);
    reserved(&mut pair, 2, 100)?;
    for (pool, free) in [(230_400, 230_200), (200, 0), (199, 0), (201, 1), (0, 0)] {
        let i = Inputs { cfg_egress_pool0: pool, ..settings() };
        pair.clock(&i)?;
        assert_eq!(pair.clock(&i)?.egress_free, free);
    }
    Ok(())
}
