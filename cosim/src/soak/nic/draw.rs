//! A legal scenario drawn from a seed, as the text of its file.

use std::fmt::Write as _;

use rtl_model::rng::Rng;
use rtl_model::sizes::Sizes;

use super::{link, pools};

/// What may be drawn.
#[derive(Clone, Copy, Debug, Default)]
pub struct Scope {
    /// The default build instead of the small one.
    pub default_build: bool,
    /// Data may be lost, corrupted, trimmed, reordered and delayed, control frames be lost.
    pub lossy: bool,
    /// Clocks after boot.
    pub clocks: u64,
}

/// Names of NICs, the first two or more of which a scenario has.
const NAMES: [&str; 4] = ["a", "b", "c", "d"];

/// Payload bytes that may be on their way to a NIC without a full ingress pool.
const ROOM: [u64; 2] = [24_000, 400_000];

/// Clocks in which all comes to its end once nothing is posted and the switch does no more harm.
const DRAIN: u64 = 3_000_000;

/// A scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drawn {
    /// The text of its file.
    pub text: String,
    /// It ends by itself: no host stops or loses a read, and no frame is forged that keeps a slot.
    pub ends: bool,
}

/// The scenario of a seed.
pub fn scenario(seed: u64, scope: &Scope) -> Drawn {
    let rng = &mut Rng::new(seed, "soak");
    let stops = link::stops(seed, scope.clocks);
    let build = if scope.default_build { "default" } else { "small" };
    let mss = rng.pick(&[64, 256, 1000, 1024, 2048, 4095, 4096, 4097, 8192]);
    let aim = aim(seed, scope);
    let mss = if aim == Aim::Nothing { mss } else { 64 };
    let profile = rng.pick(&["mrc", "uet"]);
    let mut text = format!("profile = \"{profile}\"\n");
    defaults(&mut text, rng, mss, scope, aim);
    let prefetch = &mut Rng::new(seed, "prefetch");
    let nics = nics(seed);
    for (name, host) in nics.iter().zip(1..) {
        let _ = writeln!(text, "[[nic]]\nname = \"{name}\"\naddress = \"10.0.0.{host}\"");
        nic(&mut text, rng, scope.lossy, aim);
        // What is dropped for want of a pool needs recovery.
        let small = scope.lossy && rng.percent(35) && aim != Aim::Window;
        let buffer = pools::prefetch(prefetch, mss);
        // One packet at a time fills no window.
        text.push_str(buffer.as_deref().filter(|_| aim != Aim::Window).unwrap_or_default());
        pools::pools(&mut text, rng, mss, small);
        receiver(&mut text, prefetch);
        link::link(&mut text, rng, prefetch, stops.filter(|_| host == 1));
    }
    messages(&mut text, rng, mss, scope, nics);
    let blocks = faults(&mut text, rng, nics);
    link::faults(&mut text, rng, nics);
    switch(&mut text, rng, scope, nics);
    match aim {
        Aim::Nothing => {}
        Aim::Flood => text.push_str(FLOOD),
        Aim::Window => window(&mut text, psns(scope)),
    }
    let loses = link::loses(seed, scope.clocks);
    text.push_str(loses.as_deref().unwrap_or_default());
    let ends = stops.is_none() && loses.is_none() && !blocks;
    // Boot comes before the clocks that count.
    let boot = if scope.default_build { 17_000 } else { 2_000 };
    // Thousands of reads take their time on a slow link.
    let drain = if aim == Aim::Window { 2 * DRAIN } else { DRAIN };
    let limit = scope.clocks + boot + if ends { drain } else { 0 };
    let head = format!("seed = {seed}\nlimit = \"{limit}ns\"\nbuild = \"{build}\"\n");
    Drawn { text: head + &text, ends }
}

/// Answers that cannot leave and packets that come twice and three times: more answers wait than
/// can (SACK-6).
const FLOOD: &str = "[[message]]\nfrom = \"a\"\nto = \"b\"\nbytes = \"20000B\"\ncount = 6\n\
    [[switch]]\naction = \"pause\"\nto = \"b\"\nclasses = [1]\n\
    [[switch]]\naction = \"pause\"\nto = \"b\"\nclasses = [1]\nquanta = 0\nat = \"20us\"\n\
    [[switch]]\naction = \"duplicate\"\nkind = [\"data\", \"retransmission\"]\nby = \"0ns\"\n\
    most = \"400ns\"\ncopies = 3\nto = \"b\"\nuntil = \"20us\"\n";

/// Long messages of small packets, some of which come behind all others of the window or never: it
/// fills and shuts (SEG-2), and SACKs walk over all of it (SACK-3).
fn window(text: &mut String, psns: u64) {
    let (bytes, most) = (2 * psns * 64, psns - 1);
    for (from, to) in [("a", "b"), ("b", "a")] {
        let _ = writeln!(
            text,
            "[[message]]\nfrom = \"{from}\"\nto = \"{to}\"\nbytes = \"{bytes}B\"\n\
             [[switch]]\naction = \"reorder\"\nkind = [\"data\", \"retransmission\"]\n\
             to = \"{to}\"\nmost_frames = {most}\nby = \"60us\"\nprobability = 0.01\n\
             [[switch]]\naction = \"drop\"\nkind = \"data\"\nto = \"{to}\"\n\
             probability = 0.003"
        );
    }
}

/// What a lossy scenario is made for beside all else.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Aim {
    Nothing,
    /// One of eight of the default build.
    Flood,
    /// One of four of its others, one of ten of the small build.
    Window,
}

fn aim(seed: u64, scope: &Scope) -> Aim {
    let windows = if scope.default_build { 25 } else { 10 };
    match () {
        () if !scope.lossy => Aim::Nothing,
        () if scope.default_build && Rng::new(seed, "soak flood").percent(12) => Aim::Flood,
        () if Rng::new(seed, "soak window").percent(windows) => Aim::Window,
        () => Aim::Nothing,
    }
}

/// PSNs of window for a QP.
fn psns(scope: &Scope) -> u64 {
    u64::from(if scope.default_build { Sizes::DEFAULT } else { Sizes::SMALL }.psns)
}

/// BUF-6: where the penalty starts and is whole.
fn receiver(text: &mut String, rng: &mut Rng) {
    let (low, high) = rng.pick(&[(25, 75), (25, 75), (0, 100), (0, 1), (99, 100), (50, 51)]);
    let _ = writeln!(
        text,
        "ReceiverCongestionLowThreshold = {low}\nReceiverCongestionHighThreshold = {high}"
    );
}

/// Two NICs, in one of five scenarios three or four. The draw is one of its own: all else is the
/// same whatever comes of it.
fn nics(seed: u64) -> &'static [&'static str] {
    let rng = &mut Rng::new(seed, "soak NICs");
    &NAMES[..if rng.percent(20) { rng.between(3, 4) as usize } else { 2 }]
}

/// All ways between NICs, those of two of them first.
fn ways(nics: &[&'static str]) -> impl Iterator<Item = (&'static str, &'static str)> {
    let pairs =
        nics.iter().enumerate().flat_map(|(n, to)| nics[..n].iter().map(|from| (*from, *to)));
    let pairs: Vec<_> = pairs.collect();
    pairs.into_iter().flat_map(|(from, to)| [(from, to), (to, from)])
}

/// What all NICs have alike.
fn defaults(text: &mut String, rng: &mut Rng, mss: u64, scope: &Scope, aim: Aim) {
    let psns = psns(scope);
    let range = rng.pick(&[4, 5, 8, 31, 64, 127, psns]);
    let range = if aim == Aim::Window { psns } else { range };
    let psn = rng.pick(&[0, 0, 1, 0x7f_ffff, 0xff_fff0, 0xff_ffff]);
    let _ = writeln!(
        text,
        "[defaults]\nMSS = {mss}\nMaxPSNRange = {range}\nInitialPSN = {psn}\n\
         MaxCongestionWindow = {}\nQPGroupsEnabled = {}\nTrimmingEnabled = {}\n\
         CqeOnLink = {}\nCloseDelay = \"{}ns\"",
        if aim == Aim::Nothing { rng.pick(&[1, 2, 5, 20, 108]) } else { 2_000 },
        rng.percent(60),
        rng.percent(60),
        rng.percent(30),
        rng.pick(&[0, 0, 1, 500, 2_000]),
    );
    // Profile uet has no other mode.
    if text.contains("profile = \"mrc\"") && rng.percent(40) {
        text.push_str("RTTTimestampMode = \"WireTimestamp\"\n");
    }
    let _ = writeln!(text, "ICRCEnable = {}", rng.percent(20));
    if scope.lossy {
        let timeout = rng.pick(&[3, 5, 10, 20]);
        let allowance = rng.pick(&[0, 1, 3, 16, 64, 512, 1023]);
        // Nothing is taken for lost before the window is full.
        let (timeout, allowance) =
            if aim == Aim::Window { (60, allowance.max(512)) } else { (timeout, allowance) };
        let _ = writeln!(
            text,
            "InitialAckTimeout = \"{timeout}us\"\nSACKLossMinRetxPkts = {allowance}\n\
             FixedRexmitTimeEnable = {}",
            rng.percent(30),
        );
        // Budgets that end within a run.
        if rng.percent(25) {
            let (linear, more) = (rng.between(0, 2), rng.between(0, 1));
            let _ = writeln!(text, "LinearRetryCount = {linear}\nExponentialRetryCount = {more}");
        }
    }
}

/// What each NIC has of its own.
fn nic(text: &mut String, rng: &mut Rng, lossy: bool, aim: Aim) {
    let _ = writeln!(
        text,
        "DataRate = \"{}Gbps\"\nDelay = \"{}ns\"",
        rng.pick(&[50, 100, 200, 400, 496]),
        rng.between(1, 400),
    );
    // A receiver takes fewer packets ahead than a sender may send (RX-4).
    if lossy && rng.percent(20) {
        // Fewer than four small packets draw no SACK: so many take a timeout for each of them.
        let least = if aim == Aim::Flood { 4 } else { 1 };
        let range = rng.pick(&[1, 2, 4, 30]).max(least);
        if aim != Aim::Window {
            let _ = writeln!(text, "MaxPSNRange = {range}");
        }
    }
}

/// One or two entries each way; half of the scenarios end by themselves.
fn messages(text: &mut String, rng: &mut Rng, mss: u64, scope: &Scope, nics: &[&'static str]) {
    let entries = rng.between(1, 2);
    let endless = rng.percent(50);
    let senders = nics.len() as u64 - 1;
    for (from, to) in ways(nics) {
        for _ in 0..entries {
            // The small build has room for 16 messages.
            let outstanding = if rng.percent(10) { 16 } else { rng.between(1, 5) };
            let room = ROOM[usize::from(scope.default_build)] / (entries * outstanding * senders);
            // A packet is charged with its headers.
            let most = (room / (mss + 78)).clamp(0, 60) * mss;
            let most = rng.pick(&[most, most / 2, 1, mss]).min(most.max(1));
            let count = if endless { 100_000 } else { rng.between(1, 40) };
            let _ = writeln!(
                text,
                "[[message]]\nfrom = \"{from}\"\nto = \"{to}\"\nbytes = \"0B\"\nmost = \"{most}B\"\n\
                 count = {count}\noutstanding = {outstanding}\nuntil = \"{}ns\"\noffset = {}\n\
                 one_qp = {}",
                scope.clocks,
                rng.pick(&[0, 0, 1, 63, 64, 4_095]),
                rng.percent(40),
            );
        }
    }
}

/// True when a near miss opens a side for the last slot of a peer, of a generation far ahead: what
/// the peer then sends from that slot goes nowhere (QP-5).
fn faults(text: &mut String, rng: &mut Rng, nics: &[&str]) -> bool {
    let mut opens = false;
    for kind in ["garbage-frames", "near-misses", "garbage-tlps", "bad-doorbells"] {
        if rng.percent(35) {
            let most = if rng.percent(20) { 60 } else { 15 };
            let count = rng.between(1, most);
            opens |= kind == "near-misses" && count >= 16;
            let _ = writeln!(
                text,
                "[[fault]]\nnic = \"{}\"\nkind = \"{kind}\"\ncount = {count}\nat = \"{}ns\"",
                rng.pick(nics),
                rng.between(0, 3_000),
            );
        }
    }
    opens
}

/// Rules that every NIC bears, and those that need recovery from loss, until nothing is posted any
/// more.
fn switch(text: &mut String, rng: &mut Rng, scope: &Scope, nics: &[&str]) {
    let until = scope.clocks;
    let control = "kind = [\"ACK\", \"SACK\", \"NACK\"]";
    let harmless = [
        "action = \"mark\"".to_owned(),
        format!("action = \"delay\"\n{control}\nby = \"1ns\"\nmost = \"900ns\""),
        format!("action = \"duplicate\"\n{control}\nby = \"0ns\"\nmost = \"300ns\""),
        "action = \"duplicate\"\nkind = \"data\"\nby = \"0ns\"\nmost = \"400ns\"".to_owned(),
    ];
    let data = "kind = [\"data\", \"retransmission\"]";
    let losing = [
        format!("action = \"drop\"\n{control}"),
        format!("action = \"drop\"\n{data}"),
        format!("action = \"corrupt\"\n{data}"),
        "action = \"trim\"".to_owned(),
        "action = \"trim-last-hop\"".to_owned(),
        format!(
            "action = \"reorder\"\n{data}\nmost_frames = {}\nby = \"{}us\"",
            // Over the whole PSN window, of the other build's too.
            rng.pick(&[100, 127, 1_023]),
            rng.pick(&[3, 3, 20]),
        ),
        format!("action = \"delay\"\n{data}\nby = \"1ns\"\nmost = \"3us\""),
    ];
    let more: &[String] = if scope.lossy { &losing } else { &[] };
    for rule in harmless.iter().chain(more) {
        if rng.percent(35) {
            let chance = rng.pick(&["0.01", "0.05", "0.1", "0.3"]);
            let _ =
                writeln!(text, "[[switch]]\n{rule}\nprobability = {chance}\nuntil = \"{until}ns\"");
        }
    }
    if rng.percent(35) {
        let _ = writeln!(
            text,
            "[[switch]]\naction = \"pause\"\nto = \"{}\"\nclasses = [{}]\nquanta = {}\n\
             at = \"{}ns\"\ngap = \"{}ns\"\ncount = {}",
            rng.pick(nics),
            rng.pick(&["0", "1", "0, 1", "2, 7"]),
            rng.pick(&[0, 1, 20, 300]),
            rng.between(0, 2_000),
            rng.between(100, 900),
            rng.between(1, 9),
        );
    }
}
