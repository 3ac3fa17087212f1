//! The switch between the NICs: what it does to frames by rule, and its ports.
//!
//! It is part of the environment: a function of the golden NICs' outputs, the scenario and the
//! seed. A rule judges a frame by its first beat, so that a frame that nothing is done to passes
//! without being stored. Rules act in the order of the scenario, each on what the ones before have
//! left; what a queue does comes after them.

pub mod downlink;
pub mod frame;
pub mod rule;
pub mod settings;

use serde::{Deserialize, Serialize};

use crate::host::Moment;
use crate::run::RuleResult;
use crate::settings::Settings;
use crate::wire::{Assembler, WireBeat};
use downlink::{Downlink, Queued, Stored};
use frame::{Kind, Seen};
use rule::{Action, Deed, Rule};
use settings::PauseSettings;

/// Something that the switch did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Act {
    /// Index of the NIC that sent the frame; the receiver where the switch made it.
    pub from: usize,
    /// Index of the NIC that it goes to.
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
    to: usize,
    /// It passes straight.
    straight: bool,
    /// What is done to it.
    deeds: Vec<Deed>,
    tap: Assembler,
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
        let uplink = |(n, s): (usize, &crate::settings::NicSettings)| Uplink {
            rate: s.wire_rate,
            delay: s.delay,
            to: 1 - n,
            straight: false,
            deeds: Vec::new(),
            tap: Assembler::default(),
        };
        let rules = settings.switch.rules.iter().enumerate();
        let pause = |p: &PauseSettings| Pauses { settings: p.clone(), sent: 0 };
        Self {
            uplinks: settings.nics.iter().enumerate().map(uplink).collect(),
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
    pub fn put(&mut self, clock: u64, from: usize, beat: WireBeat, back: u32) {
        if beat.sop {
            self.begin(clock, from, &beat);
        }
        let up = &mut self.uplinks[from];
        let end = Moment { clock, back: u64::from(back), rate: up.rate };
        if up.straight {
            self.downlinks[up.to].pass(beat, &end, up.delay);
        } else if let Some(bytes) = up.tap.beat(&beat) {
            let stored = Stored { bytes, ready: end, delay: up.delay };
            let deeds = std::mem::take(&mut up.deeds);
            self.forward(from, stored, &deeds);
            self.uplinks[from].deeds = deeds;
        }
    }

    /// A frame begins: what the rules say of it, and whether it has to be stored.
    fn begin(&mut self, clock: u64, from: usize, beat: &WireBeat) {
        let up = &mut self.uplinks[from];
        up.deeds.clear();
        let mut ours = false;
        if !self.rules.is_empty() || self.pausable[from] {
            let mut bytes = [0; 128];
            beat.data.to_bytes(&mut bytes);
            let seen = Seen::of(&bytes[..usize::from(beat.bytes)]);
            ours = self.pausable[from] && seen.kind == Kind::Pause;
            let since = clock.saturating_sub(self.boot);
            for (n, rule) in self.rules.iter_mut().enumerate() {
                up.deeds.extend(rule.judge(n, since, (from, up.to), &seen));
            }
        }
        let free = self.downlinks[up.to].is_free(clock, up.rate, up.delay);
        up.straight = free && !ours && up.deeds.is_empty();
    }

    /// A whole frame: deeds in order, then its way on.
    fn forward(&mut self, from: usize, mut stored: Stored, deeds: &[Deed]) {
        let to = self.uplinks[from].to;
        let seen = Seen::of(&stored.bytes);
        let (mut late, mut behind, mut copies) = (0, None, Vec::new());
        for deed in deeds {
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
        self.place(from, to, stored, late, behind);
        for (copies, by) in copies {
            for copy in (0..copies).filter_map(|_| again.clone()) {
                self.place(from, to, copy, late + by, None);
            }
        }
    }

    /// Into a queue, at once or later.
    fn place(
        &mut self,
        from: usize,
        to: usize,
        stored: Stored,
        late: u64,
        behind: Option<(u64, u64)>,
    ) {
        if let Some((frames, wait)) = behind {
            self.downlinks[to].reorder(stored, frames, wait + late);
        } else if late > 0 {
            self.downlinks[to].delay(stored, late);
        } else {
            let bytes = stored.bytes.clone();
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
        self.downlinks[to].inject(clock, bytes);
    }

    /// What is due in `clock`, after all NICs' beats.
    pub fn step(&mut self, clock: u64) {
        for n in 0..self.pauses.len() {
            while self.pauses[n].due(self.boot).is_some_and(|at| at <= clock) {
                self.pauses[n].sent += 1;
                let s = &self.pauses[n].settings;
                let (to, bytes) = (s.to, frame::pause(s.classes, &s.quanta));
                self.note(to, to, What::Pause, &bytes);
                self.downlinks[to].pause(bytes, clock);
            }
        }
        for to in 0..self.downlinks.len() {
            let from = self.uplinks.iter().position(|u| u.to == to).unwrap_or(to);
            let mut told = Vec::new();
            self.downlinks[to].step(clock, |bytes, done| {
                if done != Queued::Waits {
                    told.push((bytes.to_vec(), done));
                }
            });
            for (bytes, done) in told {
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
                *bytes = frame::marked(std::mem::take(bytes));
            }
            What::Mark
        }
        Action::Delay { .. } => What::Delay,
    }
}
