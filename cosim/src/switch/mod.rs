//! The switch between the NICs: what it does to frames by rule, and its ports.
//!
//! It is part of the environment: a function of the golden NICs' outputs, the scenario and the
//! seed. A frame goes to the NIC that has its destination IPv4 address, as its sender wrote it; one
//! for nobody is dropped and counted. A rule judges a frame by its first beat, so that a frame that
//! nothing is done to passes without being stored. Rules act in the order of the scenario, each on
//! what the ones before have left; what a queue does comes after them.
//!
//! Within a clock, frames come to a port in this order: those of the NICs, the first NIC of the
//! scenario first; pauses of the switch; those that were held back, by the clock in which they go
//! on, then in the order in which they were.

pub mod downlink;
pub mod frame;
pub mod route;
pub mod rule;
pub mod settings;

use serde::{Deserialize, Serialize};

use crate::host::Moment;
use crate::run::RuleResult;
use crate::settings::Settings;
use crate::wire::{Assembler, WireBeat};
use downlink::{Downlink, Queued, Stored};
use frame::{Kind, Seen};
use route::{Rewrite, Routes};
use rule::{Action, Deed, Rule};
use settings::PauseSettings;

/// Something that the switch did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Act {
    /// Index of the NIC that sent the frame; the receiver where the switch made it.
    pub from: usize,
    /// Index of the NIC that it goes to; the sender where it goes to none.
    pub to: usize,
    /// The rule that said so; none for a queue.
    pub rule: Option<usize>,
    /// What was done.
    pub what: What,
    /// What the frame was.
    pub seen: Seen,
    /// Its bytes before.
    pub bytes: u32,
}

/// What a switch can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum What {
    /// The frame is gone.
    Drop,
    /// It is gone, for no NIC has its address.
    NoAddress,
    /// One of its bits is turned.
    Corrupt,
    /// Copies follow it.
    Duplicate,
    /// Others pass it.
    Reorder,
    /// It is cut down to its headers.
    Trim,
    /// The same, with the codepoint of the last hop.
    TrimLastHop,
    /// It got CE.
    Mark,
    /// It comes later.
    Delay,
    /// A pause frame was sent to a NIC.
    Pause,
    /// A pause frame of a NIC holds its port.
    Paused,
}

impl What {
    /// As records write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Drop => "drop",
            Self::NoAddress => "drop-no-address",
            Self::Corrupt => "corrupt",
            Self::Duplicate => "duplicate",
            Self::Reorder => "reorder",
            Self::Trim => "trim",
            Self::TrimLastHop => "trim-last-hop",
            Self::Mark => "mark",
            Self::Delay => "delay",
            Self::Pause => "pause",
            Self::Paused => "paused",
        }
    }
}

/// What comes from one NIC.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Uplink {
    /// Units a clock.
    rate: u64,
    /// Clocks from a frame's end to its arrival.
    delay: u64,
    /// Where its frame goes.
    ways: Vec<Way>,
    /// It passes straight.
    straight: bool,
    /// What the hop changes in it.
    rewrite: Option<Rewrite>,
    tap: Assembler,
}

/// One port that a frame goes to.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Way {
    to: usize,
    /// What is done to it.
    deeds: Vec<Deed>,
}

/// Pause frames that the switch sends.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Pauses {
    settings: PauseSettings,
    sent: u64,
}

/// The switch.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Switch {
    routes: Routes,
    uplinks: Vec<Uplink>,
    downlinks: Vec<Downlink>,
    rules: Vec<Rule>,
    pauses: Vec<Pauses>,
    /// Some port takes its NIC's pauses.
    pausable: Vec<bool>,
    boot: u64,
    /// What it did since this was last emptied.
    pub acts: Vec<Act>,
}

impl Switch {
    /// Nothing on its way.
    pub fn new(settings: &Settings, boot: u64) -> Self {
        let uplink = |s: &crate::settings::NicSettings| Uplink {
            rate: s.wire_rate,
            delay: s.delay,
            ways: Vec::new(),
            straight: false,
            rewrite: None,
            tap: Assembler::default(),
        };
        let rules = settings.switch.rules.iter().enumerate();
        let pause = |p: &PauseSettings| Pauses { settings: p.clone(), sent: 0 };
        Self {
            routes: Routes::new(settings),
            uplinks: settings.nics.iter().map(uplink).collect(),
            downlinks: settings.nics.iter().map(|s| Downlink::new(s.downlink)).collect(),
            rules: rules.map(|(n, r)| Rule::new(r, settings.seed, n)).collect(),
            pauses: settings.switch.pauses.iter().map(pause).collect(),
            pausable: settings.nics.iter().map(|s| s.downlink.pausable).collect(),
            boot,
            acts: Vec::new(),
        }
    }

    /// Nothing is on its way.
    pub fn quiet(&self) -> bool {
        self.downlinks.iter().all(Downlink::quiet)
    }

    /// Nothing is on its way to this NIC.
    pub fn quiet_to(&self, nic: usize) -> bool {
        self.downlinks[nic].quiet()
    }

    /// Every pause has been sent.
    pub fn finished(&self) -> bool {
        self.pauses.iter().all(|p| p.sent == p.settings.count)
    }

    /// What came of each table of the scenario, in their order.
    pub fn results(&self) -> Vec<RuleResult> {
        let sent = self.pauses.iter().map(|p| RuleResult {
            table: p.settings.table,
            action: What::Pause.name(),
            matched: p.sent,
            acted: p.sent,
            asked: Some(p.settings.count),
        });
        let mut all: Vec<_> = self.rules.iter().map(Rule::result).chain(sent).collect();
        all.sort_by_key(|result| result.table);
        all
    }

    /// The next clock in which something happens here; `u64::MAX` for never.
    pub fn due(&self) -> u64 {
        let pauses = self.pauses.iter().filter_map(|p| p.due(self.boot));
        let ports = self.downlinks.iter().map(Downlink::due);
        ports.chain(pauses).min().unwrap_or(u64::MAX)
    }

    /// A beat of a frame that a NIC sends; `back` counts on its last one.
    pub fn put(&mut self, clock: u64, from: usize, mut beat: WireBeat, back: u32) {
        if beat.sop {
            self.begin(clock, from, &beat);
        }
        let up = &mut self.uplinks[from];
        if let Some(rewrite) = &mut up.rewrite {
            beat = rewrite.beat(beat);
        }
        let end = Moment { clock, back: u64::from(back), rate: up.rate };
        if up.straight {
            self.downlinks[up.ways[0].to].pass(beat, &end, up.delay, from);
        } else if let Some(bytes) = up.tap.beat(&beat) {
            let stored = Stored { from, bytes, ready: end, delay: up.delay };
            let ways = std::mem::take(&mut up.ways);
            if ways.is_empty() {
                self.note(from, from, What::NoAddress, &stored.bytes);
            }
            for way in &ways {
                self.forward(way, stored.clone());
            }
            self.uplinks[from].ways = ways;
        }
    }

    /// A frame begins: where it goes, what the rules say of it, and whether it has to be stored.
    fn begin(&mut self, clock: u64, from: usize, beat: &WireBeat) {
        let mut bytes = [0; 128];
        beat.data.to_bytes(&mut bytes);
        let bytes = &bytes[..usize::from(beat.bytes)];
        let ours = self.pausable[from] && Kind::of(bytes) == Kind::Pause;
        // A pause that the port takes goes on to nobody: the first other NIC stands for it.
        let ports = self.routes.of(from, bytes).take(if ours { 1 } else { usize::MAX });
        let up = &mut self.uplinks[from];
        up.ways.clear();
        up.ways.extend(ports.map(|to| Way { to, deeds: Vec::new() }));
        if !self.rules.is_empty() {
            let seen = Seen::of(bytes);
            let since = clock.saturating_sub(self.boot);
            for way in &mut up.ways {
                let ends = (from, way.to);
                let rules = self.rules.iter_mut().enumerate();
                way.deeds.extend(rules.filter_map(|(n, r)| r.judge(n, since, ends, &seen)));
            }
        }
        (up.straight, up.rewrite) = (false, None);
        if let [way] = up.ways.as_slice() {
            up.rewrite = self.routes.rewrite(way.to, bytes);
            let free = self.downlinks[way.to].is_free(clock, up.rate, up.delay, from);
            up.straight = free && !ours && way.deeds.is_empty();
        }
    }

    /// A whole frame: deeds in order, then its way on.
    fn forward(&mut self, way: &Way, mut stored: Stored) {
        let (from, to) = (stored.from, way.to);
        let seen = Seen::of(&stored.bytes);
        let (mut late, mut behind, mut copies) = (0, None, Vec::new());
        for deed in &way.deeds {
            let bytes = stored.bytes.len() as u32;
            let what = carry_out(deed, &mut stored.bytes);
            self.acts.push(Act { from, to, rule: Some(deed.rule), what, seen, bytes });
            match deed.action {
                _ if what == What::Drop => return,
                Action::Delay { .. } => late += deed.clocks,
                Action::Reorder { .. } => behind = Some((deed.number, deed.clocks)),
                Action::Duplicate { .. } => copies.push((deed.number, deed.clocks)),
                _ => {}
            }
        }
        if seen.kind == Kind::Pause && self.pausable[from] {
            self.note(from, from, What::Paused, &stored.bytes);
            let at = stored.ready.clock + stored.delay;
            self.downlinks[from].paused_by(at, &stored.bytes);
            return;
        }
        let again = (!copies.is_empty()).then(|| stored.clone());
        self.place(to, stored, late, behind);
        for (copies, by) in copies {
            for copy in (0..copies).filter_map(|_| again.clone()) {
                self.place(to, copy, late + by, None);
            }
        }
    }

    /// Into a queue, at once or later.
    fn place(&mut self, to: usize, stored: Stored, late: u64, behind: Option<(u64, u64)>) {
        if let Some((frames, wait)) = behind {
            self.downlinks[to].reorder(stored, frames, wait + late);
        } else if late > 0 {
            self.downlinks[to].delay(stored, late);
        } else {
            let (from, bytes) = (stored.from, stored.bytes.clone());
            let done = self.downlinks[to].admit(stored);
            self.queued(from, to, &bytes, done);
        }
    }

    fn queued(&mut self, from: usize, to: usize, bytes: &[u8], done: Queued) {
        match done {
            Queued::Waits => {}
            Queued::Marked => self.note(from, to, What::Mark, bytes),
            Queued::Trimmed => self.note(from, to, What::TrimLastHop, bytes),
            Queued::Dropped => self.note(from, to, What::Drop, bytes),
        }
    }

    fn note(&mut self, from: usize, to: usize, what: What, frame: &[u8]) {
        let (seen, bytes) = (Seen::of(frame), frame.len() as u32);
        self.acts.push(Act { from, to, rule: None, what, seen, bytes });
    }

    /// A frame that no NIC has sent.
    pub fn inject(&mut self, clock: u64, to: usize, bytes: Vec<u8>) {
        self.downlinks[to].inject(clock, to, bytes);
    }

    /// What is due in `clock`, after all NICs' beats.
    pub fn step(&mut self, clock: u64) {
        for n in 0..self.pauses.len() {
            while self.pauses[n].due(self.boot).is_some_and(|at| at <= clock) {
                self.pauses[n].sent += 1;
                let s = &self.pauses[n].settings;
                let (to, bytes) = (s.to, frame::pause(s.classes, &s.quanta));
                self.note(to, to, What::Pause, &bytes);
                self.downlinks[to].pause(clock, to, bytes);
            }
        }
        for to in 0..self.downlinks.len() {
            let mut told = Vec::new();
            self.downlinks[to].step(clock, |from, bytes, done| {
                if done != Queued::Waits {
                    told.push((from, bytes.to_vec(), done));
                }
            });
            for (from, bytes, done) in told {
                self.queued(from, to, &bytes, done);
            }
        }
    }

    /// The beat that arrives at a NIC in `clock`.
    pub fn take(&mut self, clock: u64, nic: usize) -> Option<WireBeat> {
        self.downlinks[nic].take(clock)
    }
}

impl Pauses {
    fn due(&self, boot: u64) -> Option<u64> {
        let s = &self.settings;
        (self.sent < s.count).then(|| boot + s.at + self.sent * s.gap)
    }
}

/// Does to a frame's bytes what the rule says; gives what came of it.
fn carry_out(deed: &Deed, bytes: &mut Vec<u8>) -> What {
    match deed.action {
        Action::Drop => What::Drop,
        Action::Corrupt => {
            let bit = (deed.number % (bytes.len() as u64 * 8)) as usize;
            bytes[bit / 8] ^= 1 << (bit % 8);
            What::Corrupt
        }
        Action::Duplicate { .. } => What::Duplicate,
        Action::Reorder { .. } => What::Reorder,
        Action::Trim { .. } if !frame::trimmable(bytes) => What::Drop,
        Action::Trim { last_hop } => {
            *bytes = frame::trimmed(bytes, last_hop);
            if last_hop { What::TrimLastHop } else { What::Trim }
        }
        Action::Mark => {
            if frame::markable(bytes) {
                *bytes = frame::marked(bytes);
            }
            What::Mark
        }
        Action::Delay { .. } => What::Delay,
    }
}
