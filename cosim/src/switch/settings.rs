//! `[[switch]]` tables and a NIC's `Downlink`: the file as it stands, and checked.

use std::fmt;

use serde::de::{self, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use toml::Spanned;

use super::downlink::DownlinkSettings;
use super::frame::Kind;
use super::rule::{Action, RuleSettings};
use crate::keys::HERE;
use crate::scenario::{ScenarioError, share};
use crate::settings::{Check, MessageSettings, NicSettings};
use crate::units::{Rate, Size, Time};

/// How long a frame waits at most to be passed by others, in clocks.
const REORDER_WAIT: u64 = 10_000;
/// Frames that can pass another at most, and copies of one.
const MOST: u64 = 65_536;

/// Kinds that a rule can mean: what the NICs send.
const KINDS: [Kind; 7] =
    [Kind::Data, Kind::Retransmission, Kind::Ack, Kind::Sack, Kind::Nack, Kind::Probe, Kind::Pause];

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verb {
    /// Loss.
    Drop,
    /// A bit is turned.
    Corrupt,
    /// Copies follow.
    Duplicate,
    /// Others pass.
    Reorder,
    /// Trimmed.
    Trim,
    /// Trimmed on the hop to a NIC.
    TrimLastHop,
    /// ECN.
    Mark,
    /// Later.
    Delay,
    /// The switch sends pause frames.
    Pause,
}

/// One kind or several.
#[derive(Clone, Debug)]
pub struct Kinds(pub Vec<Kind>);

impl<'de> Deserialize<'de> for Kinds {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        d.deserialize_any(KindsVisitor).map(Self)
    }
}

struct KindsVisitor;

impl KindsVisitor {
    fn kind<E: de::Error>(name: &str) -> Result<Kind, E> {
        KINDS.into_iter().find(|kind| kind.name() == name).ok_or_else(|| {
            let names = KINDS.map(Kind::name).join("`, `");
            E::custom(format!("`{name}` is not a kind: give one of `{names}`, or a list of them"))
        })
    }
}

impl<'de> Visitor<'de> for KindsVisitor {
    type Value = Vec<Kind>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a kind or a list of kinds: {}", KINDS.map(Kind::name).join(", "))
    }

    fn visit_str<E: de::Error>(self, name: &str) -> Result<Vec<Kind>, E> {
        Ok(vec![Self::kind(name)?])
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Vec<Kind>, A::Error> {
        let mut kinds = Vec::new();
        while let Some(name) = seq.next_element::<String>()? {
            kinds.push(Self::kind(&name)?);
        }
        Ok(kinds)
    }
}

/// One `[[switch]]` table.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// What is done.
    pub action: Spanned<Verb>,
    /// Frames from this NIC.
    pub from: Option<Spanned<String>>,
    /// Frames to this NIC.
    pub to: Option<Spanned<String>>,
    /// Frames of these kinds.
    pub kind: Option<Spanned<Kinds>>,
    /// Frames with this PSN.
    pub psn: Option<Spanned<u64>>,
    /// Packets of this message.
    pub message: Option<Spanned<u64>>,
    /// The n-th time that a packet passes.
    pub transmission: Option<Spanned<u64>>,
    /// From this time on, counted from the end of boot.
    pub after: Option<Spanned<Time>>,
    /// Before this time.
    pub until: Option<Spanned<Time>>,
    /// Matches that are let through first.
    pub skip: Option<Spanned<u64>>,
    /// Of the others every n-th.
    pub every: Option<Spanned<u64>>,
    /// With this probability.
    pub probability: Option<Spanned<toml::Value>>,
    /// So often at most.
    pub count: Option<Spanned<u64>>,
    /// Copies.
    pub copies: Option<Spanned<u64>>,
    /// Frames that pass.
    pub frames: Option<Spanned<u64>>,
    /// Frames that pass at most, drawn evenly.
    pub most_frames: Option<Spanned<u64>>,
    /// Later by this.
    pub by: Option<Spanned<Time>>,
    /// Later by this at most, drawn evenly.
    pub most: Option<Spanned<Time>>,
    /// Classes that a pause names.
    pub classes: Option<Spanned<Vec<u8>>>,
    /// Time of a pause, in 512 bit times; 0 resumes.
    pub quanta: Option<Spanned<u64>>,
    /// When the first pause is sent, counted from the end of boot.
    pub at: Option<Spanned<Time>>,
    /// From one pause to the next.
    pub gap: Option<Spanned<Time>>,
}

/// A NIC's `Downlink` table.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "PascalCase")]
pub struct DownlinkTable {
    /// Rate of the switch's port.
    pub data_rate: Option<Spanned<Rate>>,
    /// Bytes of data that can wait there.
    pub buffer_size: Option<Spanned<Size>>,
    /// Bytes that wait from which on data is marked.
    pub mark_threshold: Option<Spanned<Size>>,
    /// The port takes its NIC's pauses.
    pub honours_pauses: Option<bool>,
}

/// Pause frames to a NIC.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PauseSettings {
    /// Place of its table in the scenario, from 1.
    pub table: usize,
    /// Index of the NIC.
    pub to: usize,
    /// Class vector.
    pub classes: u8,
    /// Time of each class.
    pub quanta: [u16; 8],
    /// Clocks after boot.
    pub at: u64,
    /// How many.
    pub count: u64,
    /// Clocks from one to the next.
    pub gap: u64,
}

/// Everything that a scenario says of its switch.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct SwitchSettings {
    /// Rules, in the order of the file.
    pub rules: Vec<RuleSettings>,
    /// Pause frames.
    pub pauses: Vec<PauseSettings>,
}

/// The rule that tables of a switch are held against where no rule of the NIC is.
const RULE: &str = HERE;

impl Check<'_> {
    /// All `[[switch]]` tables.
    ///
    /// # Errors
    /// At the first key that cannot work.
    pub fn switch(
        &self,
        tables: &[Spanned<Table>],
        nics: &[NicSettings],
        messages: &[MessageSettings],
    ) -> Result<SwitchSettings, ScenarioError> {
        let mut settings = SwitchSettings::default();
        for (table, place) in tables.iter().zip(1..) {
            let t = table.get_ref();
            self.only_what_is_used(t)?;
            if *t.action.get_ref() == Verb::Pause {
                settings.pauses.push(PauseSettings { table: place, ..self.pause(t, nics)? });
            } else {
                let rule = RuleSettings { table: place, ..self.rule(t, nics)? };
                self.can_act(t, &rule, messages)?;
                settings.rules.push(rule);
            }
        }
        Ok(settings)
    }

    /// A rule that no frame of this scenario can meet is refused.
    fn can_act(
        &self,
        t: &Table,
        rule: &RuleSettings,
        messages: &[MessageSettings],
    ) -> Result<(), ScenarioError> {
        if let Some(to) = t.to.as_ref().filter(|_| rule.from.is_some() && rule.from == rule.to) {
            return Err(self.error(to, "to", "is `from`: no frame goes back to its NIC", RULE));
        }
        if let Some(until) = t.until.as_ref().filter(|_| rule.when.1 <= rule.when.0) {
            return Err(self.error(until, "until", "is not later than `after`", RULE));
        }
        let count = messages.iter().fold(0_u64, |sum, m| sum.saturating_add(m.count));
        if let Some(message) = t.message.as_ref().filter(|m| *m.get_ref() >= count) {
            let what = format!("the scenario has {count} messages, counted from 0");
            return Err(self.error(message, "message", what, RULE));
        }
        let goes = |m: &MessageSettings| {
            rule.from.is_none_or(|n| n == m.from) && rule.to.is_none_or(|n| n == m.to)
        };
        let (end, key) = if t.from.is_some() { (&t.from, "from") } else { (&t.to, "to") };
        match end.as_ref().filter(|_| rule.kinds.iter().all(|k| k.is_data())) {
            Some(end) if !messages.iter().any(goes) => {
                Err(self.error(end, key, "no message of the scenario goes that way", RULE))
            }
            _ => Ok(()),
        }
    }

    /// A key that the action makes no use of is refused.
    fn only_what_is_used(&self, t: &Table) -> Result<(), ScenarioError> {
        let verb = *t.action.get_ref();
        let (pause, rule) = (verb == Verb::Pause, verb != Verb::Pause);
        let (copies, passed) = (verb == Verb::Duplicate, verb == Verb::Reorder);
        let later = copies || passed || verb == Verb::Delay;
        macro_rules! used {
            ($($key:ident if $when:expr),* $(,)?) => {
                $(if let Some(value) = t.$key.as_ref().filter(|_| !$when) {
                    let key = stringify!($key);
                    let what = format!("has no meaning for {verb:?}").to_lowercase();
                    return Err(self.error(value, key, what, RULE));
                })*
            };
        }
        used!(
            from if rule, kind if rule, psn if rule, message if rule, transmission if rule,
            after if rule, until if rule, skip if rule, every if rule, probability if rule,
            copies if copies, frames if passed, most_frames if passed, by if later,
            most if later && !passed,
            classes if pause, quanta if pause, at if pause, gap if pause,
        );
        Ok(())
    }

    fn pause(&self, t: &Table, nics: &[NicSettings]) -> Result<PauseSettings, ScenarioError> {
        let missing = |key| self.error(&t.action, key, "a pause needs it", "PFC-4");
        let to = self.index("to", t.to.as_ref().ok_or_else(|| missing("to"))?, nics)?;
        let classes = t.classes.as_ref().ok_or_else(|| missing("classes"))?;
        if classes.get_ref().iter().any(|c| *c > 7) {
            return Err(self.error(classes, "classes", "classes are 0 to 7", "PFC-4"));
        }
        if classes.get_ref().is_empty() {
            return Err(self.error(classes, "classes", "names no class", "PFC-4"));
        }
        let vector = classes.get_ref().iter().fold(0, |v, c| v | 1 << c);
        let quanta = self.number("quanta", t.quanta.as_ref(), 0xffff, 0..=0xffff, "PFC-4")? as u16;
        let count = self.number("count", t.count.as_ref(), 1, 1..=u64::MAX, RULE)?;
        Ok(PauseSettings {
            table: 0,
            to,
            classes: vector,
            quanta: std::array::from_fn(|c| if vector >> c & 1 == 1 { quanta } else { 0 }),
            at: self.clocks("at", t.at.as_ref(), 0)?,
            count,
            gap: self.clocks("gap", t.gap.as_ref(), 1_000)?,
        })
    }

    fn rule(&self, t: &Table, nics: &[NicSettings]) -> Result<RuleSettings, ScenarioError> {
        let action = self.action(t)?;
        let kinds = self.kinds(t)?;
        let end = |key, nic: &Option<Spanned<String>>| {
            nic.as_ref().map(|name| self.index(key, name, nics)).transpose()
        };
        let small = |key, value: &Option<Spanned<u64>>, legal, rule| {
            let number = value.as_ref().map(|v| self.number(key, Some(v), 0, legal, rule));
            Ok::<_, ScenarioError>(number.transpose()?.map(|n| n as u32))
        };
        Ok(RuleSettings {
            table: 0,
            from: end("from", &t.from)?,
            to: end("to", &t.to)?,
            kinds,
            psn: small("psn", &t.psn, 0..=0xff_ffff, "QP-2")?,
            message: small("message", &t.message, 0..=u64::from(u32::MAX), RULE)?,
            transmission: small("transmission", &t.transmission, 1..=1 << 20, RULE)?,
            when: (
                self.clocks("after", t.after.as_ref(), 0)?,
                self.clocks("until", t.until.as_ref(), u64::MAX)?,
            ),
            skip: t.skip.as_ref().map_or(0, |s| *s.get_ref()),
            every: self.number("every", t.every.as_ref(), 1, 1..=1 << 40, RULE)?,
            chance: t.probability.as_ref().map(|p| self.chance(p)).transpose()?,
            count: self.number("count", t.count.as_ref(), u64::MAX, 1..=u64::MAX, RULE)?,
            action,
        })
    }

    /// Cases of so many, exact.
    fn chance(&self, value: &Spanned<toml::Value>) -> Result<(u64, u64), ScenarioError> {
        let wrong = |what: String| self.error(value, "probability", what, RULE);
        let share = share(value.get_ref()).map_err(wrong)?;
        let of = 10_u64.pow(share.places);
        if share.digits == 0 {
            return Err(wrong("is 0: the rule would never act".into()));
        }
        if share.digits > of {
            return Err(wrong("is more than 1".into()));
        }
        Ok((share.digits, of))
    }

    /// All kinds but pauses unless the table says which; only data for what only data has.
    fn kinds(&self, t: &Table) -> Result<Vec<Kind>, ScenarioError> {
        let data = vec![Kind::Data, Kind::Retransmission];
        let verb = *t.action.get_ref();
        let trims = matches!(verb, Verb::Trim | Verb::TrimLastHop);
        let of_data = trims || t.message.is_some() || t.transmission.is_some();
        let Some(given) = &t.kind else {
            let rest = [Kind::Ack, Kind::Sack, Kind::Nack, Kind::Probe];
            return Ok(if of_data { data } else { [data, rest.to_vec()].concat() });
        };
        let kinds = given.get_ref().0.clone();
        if kinds.is_empty() {
            return Err(self.error(given, "kind", "is empty: the rule would never act", RULE));
        }
        if of_data && kinds.iter().any(|k| !k.is_data()) {
            let what = "only data and retransmissions are trimmed, or have a message";
            return Err(self.error(given, "kind", what, "PKT-3"));
        }
        Ok(kinds)
    }

    fn action(&self, t: &Table) -> Result<Action, ScenarioError> {
        let by = self.clocks("by", t.by.as_ref(), 0)?;
        let most = self.clocks("most", t.most.as_ref(), by)?;
        if let Some(at) = t.most.as_ref().filter(|_| most < by) {
            return Err(self.error(at, "most", "is less than `by`", RULE));
        }
        let one = |key, value: &Option<Spanned<u64>>, default| {
            self.number(key, value.as_ref(), default, 1..=MOST, RULE)
        };
        Ok(match t.action.get_ref() {
            Verb::Drop => Action::Drop,
            Verb::Corrupt => Action::Corrupt,
            Verb::Duplicate => {
                Action::Duplicate { copies: one("copies", &t.copies, 1)?, by: (by, most) }
            }
            Verb::Reorder => {
                let frames = one("frames", &t.frames, 1)?;
                let most = one("most_frames", &t.most_frames, frames)?;
                if let Some(at) = t.most_frames.as_ref().filter(|_| most < frames) {
                    return Err(self.error(at, "most_frames", "is less than `frames`", RULE));
                }
                let wait = if t.by.is_some() { by } else { REORDER_WAIT };
                Action::Reorder { frames: (frames, most), wait }
            }
            Verb::Trim => Action::Trim { last_hop: false },
            Verb::TrimLastHop => Action::Trim { last_hop: true },
            Verb::Mark => Action::Mark,
            Verb::Delay if t.by.is_none() => {
                return Err(self.error(&t.action, "by", "a delay needs it", RULE));
            }
            Verb::Delay => Action::Delay { by: (by, most) },
            Verb::Pause => unreachable!("pauses are no rules"),
        })
    }

    /// A NIC's port at the switch; rate 0 where the file gives none.
    ///
    /// # Errors
    /// At a rate that no link runs at.
    pub fn downlink(
        &self,
        own: &DownlinkTable,
        defaults: &DownlinkTable,
        delay: u64,
    ) -> Result<DownlinkSettings, ScenarioError> {
        macro_rules! pick {
            ($key:ident) => {
                own.$key.as_ref().or(defaults.$key.as_ref())
            };
        }
        let rate = pick!(data_rate).map(|r| self.wire_rate(Some(r))).transpose()?;
        let size = |key, value: Option<&Spanned<Size>>| {
            value.map(|v| self.size(key, Some(v), 0, 1..=1 << 40, RULE)).transpose()
        };
        Ok(DownlinkSettings {
            rate: rate.unwrap_or(0),
            delay,
            buffer: size("BufferSize", pick!(buffer_size))?,
            mark: size("MarkThreshold", pick!(mark_threshold))?,
            pausable: pick!(honours_pauses).copied().unwrap_or(false),
        })
    }
}
