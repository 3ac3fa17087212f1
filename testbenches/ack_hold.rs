//! `ack_hold`: model and RTL against each other, and both against fractions and plain queues.

use std::collections::VecDeque;

use rtl_model::ack_hold::{Inputs, Regs};
use rtl_model::types::{Answer, Nack, Psn, Qpn, Reply};
use testbenches::{Lockstep, Mismatch, Reached, Rng, Sizes, Start, Table};

/// Bytes of frames: SACK, ACK, NACK.
const SACK: u32 = 94;
const ACK: u32 = 62;
const NACK: u32 = 78;

fn pair(seed: u32, sizes: &Sizes) -> Lockstep<Regs> {
    Lockstep::new("ack_hold", sizes, Start::Random(seed)).expect("builds")
}

/// S003's defaults.
fn settings() -> Inputs {
    Inputs {
        held_ready: true,
        nack_ready: true,
        out_ready: true,
        cfg_wire_rate: 400_000,
        cfg_pcie_rate: 504_320,
        cfg_penalty_low: 900_000,
        cfg_penalty_high: 2_700_000,
        ..Inputs::default()
    }
}

/// BUF-6, BUF-7, RTT-2: both numbers and the wait, at their borders.
#[test]
fn buf_6_buf_7_rtt_2_borders_of_an_answer() -> Result<(), Mismatch> {
    for row in Table::read("ack_hold/borders_of_an_answer.txt") {
        let mut pair = pair(row.line() as u32, &Sizes::DEFAULT);
        let hold = row.bit("hold");
        let levels = Inputs {
            occ: row.dec("occ") as u32,
            cfg_ack_hold: hold,
            cfg_charge_less: if hold { 18 } else { 0 },
            ..settings()
        };
        // SACKs ahead, and a start that takes what is too much.
        let ahead = row.dec("ahead") as u32;
        let answer = Answer { sack: true, ..Answer::default() };
        for _ in 0..ahead.div_ceil(SACK) {
            pair.clock(&Inputs { in_valid: true, r#in: answer, ..levels })?;
        }
        let tx_len = (ahead.next_multiple_of(SACK) - ahead) as u16;
        pair.clock(&Inputs { tx_valid: true, tx_cls: 1, tx_len, ..levels })?;
        let answer = Answer { size: row.dec("size") as u16, ..answer };
        pair.clock(&Inputs { in_valid: true, r#in: answer, ..levels })?;
        let stamped = pair.clock(&levels)?.stamped;
        row.expect("service", stamped.service);
        row.expect("penalty", stamped.penalty);
        let mut clocks = 2;
        let i = Inputs { head_valid: true, head: stamped, ..levels };
        while !pair.clock(&i)?.head_ready {
            clocks += 1;
        }
        // It is at ack_build one clock after it has been taken.
        row.expect("clocks", clocks + 1);
    }
    Ok(())
}

/// What an answer says and when it may go, by fractions.
#[derive(Clone, Copy, Debug)]
struct Told {
    service: u16,
    penalty: u8,
    /// The first clock in which it may be at `ack_build`.
    from: u64,
}

fn told(i: &Inputs, ahead: u32, clock: u64) -> Told {
    let nack = i.r#in.nack != Nack::None;
    let size = u128::from(i.r#in.size);
    let (bytes, rate) = if i.cfg_ack_hold {
        (u128::from(i.occ).max(size - u128::from(i.cfg_charge_less)), i.cfg_pcie_rate)
    } else {
        (size + u128::from(ahead), i.cfg_wire_rate)
    };
    let rate = u128::from(rate);
    let wait = if i.cfg_ack_hold && !nack { (bytes * 8_000).div_ceil(rate) } else { 0 };
    let (low, high) = (i64::from(i.cfg_penalty_low), i64::from(i.cfg_penalty_high));
    let held = i64::from(i.occ);
    let between = || (held - low) * 127 / (high - low);
    let penalty = if held < low {
        0
    } else if held >= high {
        127
    } else {
        between()
    };
    Told {
        service: (bytes * 8_000 / rate / 128).min(0xffff) as u16,
        penalty: penalty as u8,
        from: clock + wait as u64,
    }
}

/// The FIFOs beside the block, and what they ought to hold.
#[derive(Default)]
struct Queues {
    held: VecDeque<(Reply, Told)>,
    nacks: VecDeque<(Reply, Told)>,
    /// Stamped, on the way to either.
    next: Option<(Answer, Told)>,
}

fn answer(rng: &mut Rng) -> Answer {
    let nacks = [Nack::Trimmed, Nack::LastHop, Nack::Range];
    let nack = if rng.percent(25) { rng.pick(&nacks) } else { Nack::None };
    let sack = nack == Nack::None && rng.percent(70);
    let any = rng.below(16_000) as u16 + 18;
    Answer {
        stamped: rng.percent(50),
        stamp: rng.bits() as u16,
        nack,
        sack,
        ack: nack == Nack::None && (!sack || rng.percent(40)),
        probe: sack && rng.percent(10),
        dst_ip: rng.bits() as u32,
        dest: rng.below(64) as u8,
        sender_qpn: Qpn::new(rng.bits() as u16, rng.bits() as u8),
        own_qpn: Qpn::new(rng.bits() as u16, rng.bits() as u8),
        cum: Psn::new(rng.bits() as u32),
        drew: Psn::new(rng.bits() as u32),
        sack_offset: rng.bits() as u16,
        bitmap: rng.bits(),
        msn: rng.bits() as u32 & 0xff_ffff,
        ooo: rng.bits() as u16 & 0x7fff,
        rcvd: rng.bits() as u32 & 0xff_ffff,
        entropy: rng.bits() as u16,
        ce: rng.percent(50),
        rtx: rng.percent(50),
        size: rng.pick(&[78, 106, 4174, 4202, 8270, any]),
    }
}

fn frames(i: &Inputs) -> u32 {
    let icrc = if i.cfg_icrc { 4 } else { 0 };
    let first = if i.r#in.nack != Nack::None {
        NACK + icrc
    } else if i.r#in.sack {
        SACK + icrc
    } else {
        0
    };
    let ack = ACK + u32::from(i.cfg_ack_extra) + icrc;
    first + if i.r#in.ack { ack } else { 0 }
}

/// Other settings.
fn redraw(i: &mut Inputs, rng: &mut Rng) {
    i.cfg_ack_hold = rng.percent(60);
    i.cfg_charge_less = rng.pick(&[0, 18]);
    i.cfg_ack_extra = rng.pick(&[0, 16]);
    i.cfg_icrc = rng.percent(50);
    i.cfg_wire_rate = rng.pick(&[400_000, 1, 399_999, 496_000]);
    i.cfg_pcie_rate = rng.pick(&[504_320, 409_760, 126_080, 512_000]);
    (i.cfg_penalty_low, i.cfg_penalty_high) =
        rng.pick(&[(900_000, 2_700_000), (1_000, 1_001), (5, 5), (9_000, 100)]);
}

/// SACK-6, BUF-6, BUF-7, RTT-2: numbers are those of the clock in which an answer came; answers
/// keep their order and wait their time, NACKs neither.
#[test]
fn random_answers_wait_as_long_as_their_backlog() -> Result<(), Mismatch> {
    let reached = Reached::begin("ack_hold");
    let (mut waited, mut passed, mut most) = (0, 0, 0);
    for (seed, sizes) in [(1, Sizes::SMALL), (2, Sizes::SMALL), (3, Sizes::DEFAULT)] {
        let mut rng = Rng::new(u64::from(seed), "ack_hold");
        let mut pair = pair(seed, &sizes);
        let mut i = settings();
        let mut q = Queues::default();
        let mut ahead = 0_u32;
        let mut out: Option<Told> = None;
        for clock in 0..60_000_u64 {
            if clock == 30_000 {
                pair.reset().expect("resets");
                (q, ahead, out) = (Queues::default(), 0, None);
                i.in_valid = false;
            }
            let empty = q.held.is_empty() && q.nacks.is_empty() && q.next.is_none();
            if clock % 3_000 == 0 && empty && out.is_none() {
                redraw(&mut i, &mut rng);
            }
            let (low, high) = (i.cfg_penalty_low, i.cfg_penalty_high);
            let near = rng.pick(&[low, high, low / 2 + high / 2]);
            let draw = |rng: &mut Rng| near.saturating_add(rng.below(3) as u32).saturating_sub(1);
            i.occ = match rng.below(8) {
                0 => draw(&mut rng),
                1 => rng.bits() as u32,
                _ => rng.below(20_000) as u32,
            };
            if i.cfg_ack_hold && i.occ > 20_000 {
                i.occ = 0; // a whole pool takes its time
            }
            if !i.in_valid && clock % 3_000 < 1_500 && rng.percent(10) {
                i.in_valid = true;
                i.r#in = answer(&mut rng);
            }
            i.held_ready = rng.percent(70);
            i.nack_ready = rng.percent(70);
            i.out_ready = rng.percent(70);
            i.tx_valid = rng.percent(30);
            i.tx_cls = rng.pick(&[0, 1, 1, 8]);
            i.tx_len = rng.pick(&[62, 78, 94]).min(ahead as u16 & 0x3fff);
            i.head_valid = !q.held.is_empty();
            i.head = q.held.front().map_or(Reply::default(), |h| h.0);
            i.nhead_valid = !q.nacks.is_empty();
            i.nhead = q.nacks.front().map_or(Reply::default(), |h| h.0);
            let o = pair.clock(&i)?;

            assert_eq!(o.out_valid, out.is_some(), "clock {clock}");
            if o.out_valid && i.out_ready {
                out = None;
            }
            let open = out.is_none();
            let due = q.held.front().is_some_and(|h| h.1.from <= clock + 1);
            assert_eq!(o.nhead_ready, open, "clock {clock}");
            if i.head_valid {
                assert_eq!(o.head_ready, open && !i.nhead_valid && due, "clock {clock}");
            }
            if i.nhead_valid && open {
                passed += usize::from(i.head_valid);
                out = q.nacks.pop_front().map(|h| h.1);
            } else if i.head_valid && open && due {
                out = q.held.pop_front().map(|h| h.1);
            } else if i.head_valid && open {
                waited += 1;
            }
            for (valid, ready, nack) in
                [(o.held_valid, i.held_ready, false), (o.nack_valid, i.nack_ready, true)]
            {
                if !valid {
                    continue;
                }
                let (answer, told) = q.next.expect("an answer came");
                assert_eq!(o.stamped.answer, answer);
                assert_eq!((o.stamped.service, o.stamped.penalty), (told.service, told.penalty));
                assert_eq!(nack, i.cfg_ack_hold && answer.nack != Nack::None);
                if ready {
                    q.next = None;
                    let queue = if nack { &mut q.nacks } else { &mut q.held };
                    queue.push_back((o.stamped, told));
                }
            }
            assert_eq!(o.in_ready, q.next.is_none(), "clock {clock}");
            if i.in_valid && o.in_ready {
                q.next = Some((i.r#in, told(&i, ahead, clock)));
                ahead += frames(&i);
                i.in_valid = false;
            }
            if i.tx_valid && i.tx_cls == 1 {
                ahead -= u32::from(i.tx_len);
            }
            most = most.max(q.held.len());
        }
    }
    assert!(waited > 1_000 && passed > 500 && most > 8, "{waited} {passed} {most}");
    reached.check();
    Ok(())
}
