//! What a run of a reliable connection leaves: counts, `result.json` and `events.csv`.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use rtl_model::rc_pkg::{RcCqe, Response};
use serde::Serialize;

use super::event::{Event, Sink};

macro_rules! seen {
    ($($(#[$doc:meta])* $name:ident $text:literal,)*) => {
        /// What is counted: losses, drops, failures, wraps, full conditions, stalls.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Seen { $($(#[$doc])* $name,)* }

        /// Their names, in the same order.
        pub const NAMES: &[&str] = &[$($text,)*];
    };
}

seen! {
    /// A request was lost on the way.
    RequestLost "request lost",
    /// An answer was lost on the way.
    ResponseLost "response lost",
    /// Nothing came for too long.
    Timeout "loss seen: timeout",
    /// A sequence error came.
    Nak "loss seen: sequence error",
    /// A response came past a READ or ATOMIC.
    Implied "loss seen: past a READ or ATOMIC",
    /// The retry budget was spent.
    FailRetries "failed: retries",
    /// The responder refused.
    FailRemote "failed: refused",
    /// A work request was flushed.
    Flushed "flushed",
    /// A request came behind a gap.
    DropGap "request dropped: behind a gap",
    /// A duplicate came without a record.
    DropRecord "request dropped: no record",
    /// An answer came for nothing that waits.
    Stray "response dropped",
    /// A duplicate SEND.
    AgainSend "duplicate SEND",
    /// A duplicate WRITE.
    AgainWrite "duplicate WRITE",
    /// A duplicate READ.
    AgainRead "duplicate READ",
    /// A duplicate ATOMIC.
    AgainAtomic "duplicate ATOMIC",
    /// The PSN wrapped.
    WrapPsn "wrap: PSN",
    /// The MSN wrapped.
    WrapMsn "wrap: MSN",
    /// The list of work requests wrapped.
    WrapList "wrap: list of work requests",
    /// The replay store wrapped.
    WrapStore "wrap: replay store",
    /// The records wrapped.
    WrapRecords "wrap: records",
    /// As many work requests as there are places, in clocks in which the last one came.
    FullList "full: list of work requests",
    /// As many packets as there are places, in clocks in which the last one came.
    FullStore "full: replay store",
    /// A post waits.
    StallPost "stall: post",
    /// A new packet waits for room in the store.
    StallStore "stall: replay store",
    /// A READ or ATOMIC waits for others.
    StallDepth "stall: READs and ATOMICs",
    /// The walk waits for the host.
    StallEntry "stall: completion entry",
    /// A request waits for the wire.
    StallWire "stall: request",
    /// An answer waits for the wire.
    StallAnswer "stall: answer",
}

/// How often each happened; stalls in clocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counts {
    counts: Vec<u64>,
    full: [u32; 2],
}

impl Default for Counts {
    fn default() -> Self {
        Self { counts: vec![0; NAMES.len()], full: [0; 2] }
    }
}

impl Counts {
    /// Once more.
    pub fn add(&mut self, what: Seen) {
        self.counts[what as usize] += 1;
    }

    /// Once more, if so.
    pub fn add_if(&mut self, what: Seen, so: bool) {
        self.counts[what as usize] += u64::from(so);
    }

    /// How often.
    pub fn of(&self, what: Seen) -> u64 {
        self.counts[what as usize]
    }

    /// Nothing yet, of a list and a store that hold so much.
    pub fn new(list: u32, store: u32) -> Self {
        Self { full: [list, store], ..Self::default() }
    }

    /// Looks at numbers before and after an edge: PSN, MSN, places of list, store and records, and
    /// how many entries list and store hold.
    pub fn wraps(&mut self, before: &[u32; 7], after: &[u32; 7]) {
        let wraps =
            [Seen::WrapPsn, Seen::WrapMsn, Seen::WrapList, Seen::WrapStore, Seen::WrapRecords];
        for (n, what) in wraps.into_iter().enumerate() {
            self.add_if(what, after[n] < before[n]);
        }
        for (n, what) in [Seen::FullList, Seen::FullStore].into_iter().enumerate() {
            let last = after[5 + n] == self.full[n] && before[5 + n] + 1 == after[5 + n];
            self.add_if(what, last);
        }
    }

    /// Adds another run's.
    pub fn merge(&mut self, other: &Self) {
        for (mine, more) in self.counts.iter_mut().zip(&other.counts) {
            *mine += more;
        }
    }

    /// By name.
    pub fn by_name(&self) -> BTreeMap<&'static str, u64> {
        NAMES.iter().copied().zip(self.counts.iter().copied()).collect()
    }

    /// In the order in which they stand.
    pub fn rows(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        NAMES.iter().copied().zip(self.counts.iter().copied())
    }
}

/// One completion in `result.json`.
#[derive(Clone, Debug, Serialize)]
pub struct Completion {
    /// Clock in which the host took the entry.
    pub clock: u64,
    /// SSN.
    pub ssn: u32,
    /// What it was.
    pub op: String,
    /// How it ended.
    pub status: String,
}

/// Keeps completions, and writes a row for each event where there is a folder.
#[derive(Default)]
pub struct Recorder {
    /// Completion entries, as they were written; the first 4,096.
    pub completions: Vec<Completion>,
    file: Option<BufWriter<File>>,
    failed: Option<io::Error>,
}

impl Recorder {
    /// Into a folder, which is made, or nowhere.
    ///
    /// # Errors
    /// When the folder or the file cannot be made.
    pub fn new(folder: Option<&Path>) -> io::Result<Self> {
        let Some(folder) = folder else { return Ok(Self::default()) };
        fs::create_dir_all(folder)?;
        let mut file = BufWriter::new(File::create(folder.join("events.csv"))?);
        writeln!(file, "clock,event,psn,msn,what")?;
        Ok(Self { file: Some(file), ..Self::default() })
    }

    /// Writes what is left, and `result.json`.
    ///
    /// # Errors
    /// When a row or a file could not be written.
    pub fn finish(&mut self, folder: Option<&Path>, result: &impl Serialize) -> io::Result<()> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        if let Some(file) = &mut self.file {
            file.flush()?;
        }
        let Some(folder) = folder else { return Ok(()) };
        let text = serde_json::to_string_pretty(result).map_err(io::Error::other)?;
        fs::write(folder.join("result.json"), text + "\n")
    }

    fn row(&mut self, clock: u64, text: &str) {
        if let Some(file) = &mut self.file
            && let Err(e) = writeln!(file, "{clock},{text}")
        {
            self.failed.get_or_insert(e);
        }
    }
}

fn answer(event: &str, rsp: &Response) -> String {
    let kind = if rsp.refuses() { "NAK".to_owned() } else { format!("{:?}", rsp.kind) };
    format!("{event},{},{},{kind}", rsp.psn.0, rsp.msn.0)
}

fn entry(event: &str, cqe: RcCqe) -> String {
    format!("{event},,{},{:?} {:?}", cqe.ssn.0, cqe.op, cqe.status)
}

impl Sink for Recorder {
    fn event(&mut self, clock: u64, event: &Event) {
        if let Event::Completed(cqe) = event
            && self.completions.len() < 4_096
        {
            let (op, status) = (format!("{:?}", cqe.op), format!("{:?}", cqe.status));
            self.completions.push(Completion { clock, ssn: cqe.ssn.0, op, status });
        }
        if self.file.is_none() {
            return;
        }
        let way = |lost: &bool| if *lost { "LOST" } else { "SENT" };
        let text = match event {
            Event::Posted(ssn, wqe) => format!("POSTED,,{},{:?} {} B", ssn.0, wqe.op, wqe.len),
            Event::Sent(req, lost) => format!("REQUEST_{},{},,{:?}", way(lost), req.psn.0, req.op),
            Event::Arrived(req) => format!("REQUEST_ARRIVED,{},,{:?}", req.psn.0, req.op),
            Event::Delivered(end) => format!("DELIVERED,,,{}", if *end { "message" } else { "" }),
            Event::Executed(addr) => format!("EXECUTED,,,{addr:#x}"),
            Event::Answered(rsp, lost) => answer(&format!("ANSWER_{}", way(lost)), rsp),
            Event::Took(rsp) => answer("ANSWER_ARRIVED", rsp),
            Event::Duplicate(op) => format!("DUPLICATE,,,{op:?}"),
            Event::Dropped(why) => format!("REQUEST_DROPPED,,,{why:?}"),
            Event::Stray => "ANSWER_DROPPED,,,".to_owned(),
            Event::Lost(how) => format!("RETRY,,,{how:?}"),
            Event::Failed(why) => format!("FAILED,,,{why:?}"),
            Event::Retired(cqe) => entry("RETIRED", *cqe),
            Event::Completed(cqe) => entry("COMPLETED", *cqe),
        };
        self.row(clock, &text);
    }
}
