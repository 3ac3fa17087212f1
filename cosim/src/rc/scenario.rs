//! Scenarios of a reliable connection: TOML in, checked settings out, every refusal with file,
//! line, key and rule, as for the NIC.

use std::path::Path;

use rtl_model::rc_pkg::{LONGEST, Op};
use rtl_model::sizes::Sizes;
use serde::Deserialize;
use toml::Spanned;

use crate::scenario::{Build, CLK_PS, ScenarioError, Source};
use crate::units::{Size, Time};

/// The file as it stands.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    #[allow(dead_code)] // for the reader of the file
    about: String,
    unit: Spanned<String>,
    #[serde(default = "one")]
    seed: u64,
    limit: Spanned<Time>,
    #[serde(default)]
    build: Build,
    #[serde(default)]
    connection: Connection,
    #[serde(default)]
    network: Network,
    #[serde(default)]
    host: Host,
    #[serde(default)]
    work: Vec<Spanned<Work>>,
}

fn one() -> u64 {
    1
}

/// When a READ or ATOMIC counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Count {
    #[default]
    Early,
    Late,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "PascalCase")]
struct Connection {
    #[serde(rename = "MTU")]
    mtu: Option<Spanned<Size>>,
    #[serde(rename = "InitialPSN")]
    initial_psn: Option<Spanned<u64>>,
    #[serde(rename = "InitialMSN")]
    initial_msn: Option<Spanned<u64>>,
    retry_count: Option<Spanned<u64>>,
    ack_timeout: Option<Spanned<Time>>,
    read_atomic_depth: Option<Spanned<u64>>,
    #[serde(default)]
    count_reads: Count,
    responder_records: Option<Spanned<u64>>,
    coalesce_acks: Option<Spanned<u64>>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "PascalCase")]
struct Network {
    delay: Option<Spanned<Time>>,
    request_loss: Option<Spanned<u64>>,
    response_loss: Option<Spanned<u64>>,
    #[serde(default)]
    drop_requests: Vec<Spanned<u64>>,
    #[serde(default)]
    drop_responses: Vec<Spanned<u64>>,
    refuse_response: Option<Spanned<u64>>,
    stall: Option<Spanned<u64>>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "PascalCase")]
struct Host {
    cqe_stall: Option<Spanned<u64>>,
    atomic_latency: Option<Spanned<Time>>,
}

/// What a work request of a scenario is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A SEND.
    Send,
    /// A WRITE.
    Write,
    /// A READ.
    Read,
    /// An ATOMIC: fetch and add, or compare and swap, as drawn.
    Atomic,
    /// One of the four, as drawn.
    Mixed,
}

impl Kind {
    /// The one that it is, where it is one.
    pub fn op(self) -> Option<Op> {
        match self {
            Self::Send => Some(Op::Send),
            Self::Write => Some(Op::Write),
            Self::Read => Some(Op::Read),
            Self::Atomic => Some(Op::Atomic),
            Self::Mixed => None,
        }
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Work {
    op: Kind,
    bytes: Option<Spanned<Size>>,
    most: Option<Spanned<Size>>,
    count: Option<Spanned<u64>>,
    signal: Option<bool>,
    at: Option<Spanned<Time>>,
}

/// Work requests alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkSettings {
    /// What they are.
    pub kind: Kind,
    /// Bytes, least and most. An ATOMIC has 8.
    pub bytes: (u64, u64),
    /// How many.
    pub count: u64,
    /// Their signal flag; drawn where there is none.
    pub signal: Option<bool>,
    /// Posted no earlier, in clocks.
    pub at: u64,
}

/// A scenario with every value settled. Times are in clocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Seed of everything random.
    pub seed: u64,
    /// Clocks after which the run is given up.
    pub limit: u64,
    /// Sizes of the build.
    pub sizes: Sizes,
    /// Path MTU as a power of two.
    pub mtu: u8,
    /// PSN of the first request.
    pub psn: u32,
    /// The MSN that both ends start from.
    pub msn: u32,
    /// Retry budget.
    pub retries: u8,
    /// Clocks without news after which packets go again.
    pub timeout: u32,
    /// READs and ATOMICs without a response.
    pub depth: u8,
    /// READs and ATOMICs that the responder has records of.
    pub records: u32,
    /// READs and ATOMICs count at validation.
    pub early: bool,
    /// Acknowledgements that one packet stands for.
    pub coalesce: u8,
    /// From leaving to arriving.
    pub delay: u64,
    /// Percent of requests and of answers that are lost.
    pub loss: [u64; 2],
    /// Requests and answers that are lost in any case, counted from 1.
    pub drops: [Vec<u64>; 2],
    /// The answer that becomes a refusal, counted from 1.
    pub refuse: Option<u64>,
    /// Percent of clocks in which a wire takes nothing.
    pub stall: u64,
    /// Percent of clocks in which the host takes no completion entry.
    pub cqe_stall: u64,
    /// Clocks that an atomic operation takes at most.
    pub atomic: u64,
    /// What is posted, in this order.
    pub work: Vec<WorkSettings>,
}

impl Settings {
    /// A connection with nothing special about it, and nothing posted.
    pub fn plain(sizes: Sizes) -> Self {
        Self {
            seed: 1,
            limit: 100_000,
            sizes,
            mtu: 12,
            psn: 0,
            msn: 0,
            retries: 7,
            timeout: 8_192,
            depth: sizes.reads as u8,
            records: sizes.reads,
            early: true,
            coalesce: 1,
            delay: 100,
            loss: [0; 2],
            drops: [Vec::new(), Vec::new()],
            refuse: None,
            stall: 0,
            cqe_stall: 0,
            atomic: 20,
            work: Vec::new(),
        }
    }
}

/// The value of `unit` for a reliable connection; a NIC's scenario has no such key.
const UNIT: &str = "rc";
/// Where the rules of these files stand.
const RULES: Option<&str> = Some("docs/rc.md");

/// A file of which only the unit is looked at.
#[derive(Deserialize)]
struct Probe {
    unit: Option<Spanned<toml::Value>>,
}

/// Whether a file is a scenario of a reliable connection.
///
/// # Errors
/// When it cannot be read, is not TOML, or is of a unit that there is not.
pub fn is_rc(path: &Path) -> Result<bool, ScenarioError> {
    let (source, probe) = Source::read_as::<Probe>(path)?;
    let Some(unit) = probe.unit else { return Ok(false) };
    match unit.get_ref().as_str() {
        Some(UNIT) => Ok(true),
        _ => Err(not_a_unit(&source, &unit)),
    }
}

fn not_a_unit<T>(source: &Source, unit: &Spanned<T>) -> ScenarioError {
    source.error(unit.span(), "unit", "can be \"rc\"; a NIC's scenario has none", RULES)
}

/// Reads, parses and checks a file.
///
/// # Errors
/// When it cannot be read, is not TOML, or holds a key or value that cannot be.
pub fn read(path: &Path) -> Result<Settings, ScenarioError> {
    let (source, file) = Source::read_as(path).map_err(with_rules)?;
    settle(&source, &file)
}

/// The same from a text; `name` stands in errors.
///
/// # Errors
/// As `read`.
pub fn parse(name: &str, text: &str) -> Result<Settings, ScenarioError> {
    let (source, file) = Source::parse_as(name.to_owned(), text.to_owned()).map_err(with_rules)?;
    settle(&source, &file)
}

/// An error in a file's text, with the place of the rules.
fn with_rules(error: ScenarioError) -> ScenarioError {
    let rule = if error.line == 0 { None } else { RULES };
    ScenarioError { rule, ..error }
}

/// Checks values against their rules.
struct Check<'a>(&'a Source);

impl Check<'_> {
    /// A value within its range, or the default.
    fn within<T: Copy + Into<u64>>(
        &self,
        key: &str,
        value: Option<&Spanned<T>>,
        default: u64,
        range: (u64, u64),
    ) -> Result<u64, ScenarioError> {
        let Some(spanned) = value else { return Ok(default) };
        let value: u64 = (*spanned.get_ref()).into();
        if (range.0..=range.1).contains(&value) {
            return Ok(value);
        }
        let what = format!("is {value}, and can be {} to {}", range.0, range.1);
        Err(self.0.error(spanned.span(), key, what, RULES))
    }

    /// How many there are: one unless given, and not none.
    fn some(&self, key: &str, value: Option<&Spanned<u64>>) -> Result<u64, ScenarioError> {
        match value.filter(|v| *v.get_ref() == 0) {
            Some(none) => Err(self.0.error(none.span(), key, "is 0: leave the table out", RULES)),
            None => Ok(value.map_or(1, |v| *v.get_ref())),
        }
    }

    /// A packet's number in the order in which they leave.
    fn nth(&self, key: &str, value: &Spanned<u64>) -> Result<u64, ScenarioError> {
        match *value.get_ref() {
            0 => Err(self.0.error(value.span(), key, "is 0, and packets count from 1", RULES)),
            n => Ok(n),
        }
    }

    /// A time in whole clocks, or the default.
    fn clocks(
        &self,
        key: &str,
        value: Option<&Spanned<Time>>,
        default: u64,
    ) -> Result<u64, ScenarioError> {
        let Some(spanned) = value else { return Ok(default) };
        let ps = spanned.get_ref().0;
        if ps.is_multiple_of(CLK_PS) && u32::try_from(ps / CLK_PS).is_ok() {
            return Ok(ps / CLK_PS);
        }
        let what = format!("is {ps} ps, and can be whole clocks of {CLK_PS} ps, below 2^32");
        Err(self.0.error(spanned.span(), key, what, RULES))
    }
}

fn settle(source: &Source, file: &File) -> Result<Settings, ScenarioError> {
    let check = Check(source);
    if file.unit.get_ref() != UNIT {
        return Err(not_a_unit(source, &file.unit));
    }
    let sizes = match file.build {
        Build::Default => Sizes::DEFAULT,
        Build::Small => Sizes::SMALL,
    };
    let (c, n, h) = (&file.connection, &file.network, &file.host);
    let number = |key, value: Option<&Spanned<u64>>, default, range| {
        check.within(key, value, default, range)
    };
    let percent = |key, value: Option<&Spanned<u64>>, most| number(key, value, 0, (0, most));
    let each = |key, list: &[Spanned<u64>]| -> Result<Vec<_>, _> {
        list.iter().map(|n| check.nth(key, n)).collect()
    };
    let limit = check.clocks("limit", Some(&file.limit), 0)?;
    if limit == 0 {
        return Err(source.error(file.limit.span(), "limit", "must be at least one clock", RULES));
    }
    Ok(Settings {
        seed: file.seed,
        limit,
        sizes,
        mtu: mtu(source, c.mtu.as_ref())?,
        psn: number("InitialPSN", c.initial_psn.as_ref(), 0, (0, 0xff_ffff))? as u32,
        msn: number("InitialMSN", c.initial_msn.as_ref(), 0, (0, 0xff_ffff))? as u32,
        retries: number("RetryCount", c.retry_count.as_ref(), 7, (0, 7))? as u8,
        timeout: check.clocks("AckTimeout", c.ack_timeout.as_ref(), 8_192)? as u32,
        depth: number(
            "ReadAtomicDepth",
            c.read_atomic_depth.as_ref(),
            u64::from(sizes.reads),
            (1, u64::from(sizes.reads)),
        )? as u8,
        records: records(source, c.responder_records.as_ref(), sizes.reads)?,
        early: c.count_reads == Count::Early,
        coalesce: number("CoalesceAcks", c.coalesce_acks.as_ref(), 1, (1, 255))? as u8,
        delay: check.clocks("Delay", n.delay.as_ref(), 100)?,
        loss: [
            percent("RequestLoss", n.request_loss.as_ref(), 100)?,
            percent("ResponseLoss", n.response_loss.as_ref(), 100)?,
        ],
        drops: [each("DropRequests", &n.drop_requests)?, each("DropResponses", &n.drop_responses)?],
        refuse: n.refuse_response.as_ref().map(|n| check.nth("RefuseResponse", n)).transpose()?,
        stall: percent("Stall", n.stall.as_ref(), 99)?,
        cqe_stall: percent("CqeStall", h.cqe_stall.as_ref(), 99)?,
        atomic: check.clocks("AtomicLatency", h.atomic_latency.as_ref(), 20)?,
        work: file.work.iter().map(|w| work(source, w.get_ref())).collect::<Result<_, _>>()?,
    })
}

fn records(source: &Source, value: Option<&Spanned<u64>>, most: u32) -> Result<u32, ScenarioError> {
    let Some(spanned) = value else { return Ok(most) };
    match *spanned.get_ref() {
        n @ (2 | 4 | 8 | 16) if n <= u64::from(most) => Ok(n as u32),
        n => {
            let what = format!("is {n}, and can be a power of two from 2 to {most}");
            Err(source.error(spanned.span(), "ResponderRecords", what, RULES))
        }
    }
}

fn mtu(source: &Source, value: Option<&Spanned<Size>>) -> Result<u8, ScenarioError> {
    let Some(spanned) = value else { return Ok(12) };
    match spanned.get_ref().0 {
        bytes @ (256 | 512 | 1024 | 2048 | 4096) => Ok(bytes.trailing_zeros() as u8),
        bytes => {
            let what = format!("is {bytes} B, and can be 256, 512, 1024, 2048 or 4096");
            Err(source.error(spanned.span(), "MTU", what, RULES))
        }
    }
}

fn work(source: &Source, work: &Work) -> Result<WorkSettings, ScenarioError> {
    let check = Check(source);
    let least = work.bytes.as_ref().map_or(8, |b| b.get_ref().0);
    let most = work.most.as_ref().map_or(least, |b| b.get_ref().0);
    for (key, spanned, bytes, low) in
        [("bytes", work.bytes.as_ref(), least, 0), ("most", work.most.as_ref(), most, least)]
    {
        let Some(spanned) = spanned else { continue };
        if work.op == Kind::Atomic {
            let what = "an ATOMIC has 8 B, whatever stands here: leave it out";
            return Err(source.error(spanned.span(), key, what, RULES));
        }
        if !(low..=u64::from(LONGEST)).contains(&bytes) {
            let what = format!("is {bytes} B, and can be {low} to {LONGEST}");
            return Err(source.error(spanned.span(), key, what, RULES));
        }
    }
    Ok(WorkSettings {
        kind: work.op,
        bytes: (least, most),
        count: check.some("count", work.count.as_ref())?,
        signal: work.signal,
        at: check.clocks("at", work.at.as_ref(), 0)?,
    })
}
