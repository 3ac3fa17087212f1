//! Rules of a switch: which frames they mean, and what is done to those.

use std::collections::BTreeMap;

use rtl_model::rng::Rng;
use serde::{Deserialize, Serialize};

use super::frame::{Kind, Seen};
use crate::run::RuleResult;

/// What a rule does to a frame. Ranges are drawn from evenly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Action {
    /// It is gone.
    Drop,
    /// One of its bits is turned.
    Corrupt,
    /// Copies follow it.
    Duplicate {
        /// How many.
        copies: u64,
        /// Clocks after it.
        by: (u64, u64),
    },
    /// Later frames to the same NIC pass it.
    Reorder {
        /// How many.
        frames: (u64, u64),
        /// It goes on after that many clocks at the latest.
        wait: u64,
    },
    /// It is cut down to its headers, or dropped where its codepoint forbids that (PKT-3).
    Trim {
        /// On the hop to a NIC.
        last_hop: bool,
    },
    /// It gets CE.
    Mark,
    /// It arrives later.
    Delay {
        /// Clocks.
        by: (u64, u64),
    },
}

impl Action {
    /// As scenarios and records write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Drop => "drop",
            Self::Corrupt => "corrupt",
            Self::Duplicate { .. } => "duplicate",
            Self::Reorder { .. } => "reorder",
            Self::Trim { last_hop: false } => "trim",
            Self::Trim { last_hop: true } => "trim-last-hop",
            Self::Mark => "mark",
            Self::Delay { .. } => "delay",
        }
    }
}

/// One rule of a scenario: every part that is given must hold.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RuleSettings {
    /// Place of its table in the scenario, from 1.
    pub table: usize,
    /// Index of the sender.
    pub from: Option<usize>,
    /// Index of the receiver.
    pub to: Option<usize>,
    /// Kinds of frame.
    pub kinds: Vec<Kind>,
    /// PSN of BTH.
    pub psn: Option<u32>,
    /// Message, in the order of the posts, from 0.
    pub message: Option<u32>,
    /// The n-th time that a packet of a message passes here, from 1.
    pub transmission: Option<u32>,
    /// Clocks after boot: from the first, before the second.
    pub when: (u64, u64),
    /// Frames that match and are let through first.
    pub skip: u64,
    /// Of the others every n-th.
    pub every: u64,
    /// In so many cases of so many.
    pub chance: Option<(u64, u64)>,
    /// Frames that it acts on at most.
    pub count: u64,
    /// What it does.
    pub action: Action,
}

/// A rule under way.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Rule {
    settings: RuleSettings,
    /// Frames that matched.
    pub matched: u64,
    /// Frames that it acted on.
    pub acted: u64,
    rng: Rng,
    /// How often a packet has passed: sender, message, PSN.
    passed: BTreeMap<(usize, u32, u32), u32>,
}

/// What a rule does to one frame, numbers drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deed {
    /// Index of the rule.
    pub rule: usize,
    /// What it does.
    pub action: Action,
    /// Copies, frames or the place of the bit.
    pub number: u64,
    /// Clocks.
    pub clocks: u64,
}

impl Rule {
    /// The n-th rule of a scenario.
    pub fn new(settings: &RuleSettings, seed: u64, n: usize) -> Self {
        Self {
            settings: settings.clone(),
            matched: 0,
            acted: 0,
            rng: Rng::new(seed, &format!("switch rule {n}")),
            passed: BTreeMap::new(),
        }
    }

    /// What came of it.
    pub fn result(&self) -> RuleResult {
        let s = &self.settings;
        let asked = (s.count != u64::MAX).then_some(s.count);
        let (matched, acted) = (self.matched, self.acted);
        RuleResult { table: s.table, action: s.action.name(), matched, acted, asked }
    }

    /// Looks at a frame that begins in a clock after boot; gives what to do to it.
    pub fn judge(
        &mut self,
        n: usize,
        clock: u64,
        ends: (usize, usize),
        seen: &Seen,
    ) -> Option<Deed> {
        if !self.means(clock, ends, seen) {
            return None;
        }
        self.matched += 1;
        let s = &self.settings;
        let number = self.matched.checked_sub(s.skip + 1)?;
        if self.acted == s.count || (number + 1) % s.every != 0 {
            return None;
        }
        if s.chance.is_some_and(|(cases, of)| self.rng.below(of) >= cases) {
            return None;
        }
        self.acted += 1;
        Some(self.deed(n))
    }

    fn means(&mut self, clock: u64, (from, to): (usize, usize), seen: &Seen) -> bool {
        let s = &self.settings;
        let is = |want: Option<u32>, got: Option<u32>| want.is_none() || want == got;
        let means = s.from.is_none_or(|n| n == from)
            && s.to.is_none_or(|n| n == to)
            && s.kinds.contains(&seen.kind)
            && is(s.psn, Some(seen.psn))
            && is(s.message, seen.message);
        if !means {
            return false;
        }
        if let Some(transmission) = s.transmission {
            let key = (from, seen.message.unwrap_or(u32::MAX), seen.psn);
            let passed = self.passed.entry(key).or_default();
            *passed += 1;
            if *passed != transmission {
                return false;
            }
        }
        (self.settings.when.0..self.settings.when.1).contains(&clock)
    }

    fn deed(&mut self, rule: usize) -> Deed {
        let action = self.settings.action;
        let mut draw = |(least, most): (u64, u64)| {
            if least == most { least } else { self.rng.between(least, most) }
        };
        let (number, clocks) = match action {
            Action::Drop | Action::Trim { .. } | Action::Mark => (0, 0),
            Action::Corrupt => (draw((0, u64::MAX - 1)), 0),
            Action::Duplicate { copies, by } => (copies, draw(by)),
            Action::Reorder { frames, wait } => (draw(frames), wait),
            Action::Delay { by } => (0, draw(by)),
        };
        Deed { rule, action, number, clocks }
    }
}
