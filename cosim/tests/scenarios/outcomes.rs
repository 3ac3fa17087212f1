//! How a run ends, and what it says then. One in which nothing can move any more ends at once,
//! whatever its limit, and says who waits for what: tag, buffer, credit, pool; one that can still
//! move goes on, through a pause, a slow link and a timer.

use cosim::event::{Event, Nowhere};
use cosim::run::{Mode, Outcome, Run, RunResult};
use cosim::summary::summary;

use crate::common::{Log, finished, message, model, run_into, scenario, settings, try_settings};

/// Clocks in which a run that stands still has to end, behind its boot.
const SOON: u64 = 40_000;

fn run(text: &str, mode: Mode) -> Run {
    run_into(&settings(text), mode, None).0
}

/// What a run in lockstep waits for that stands still; its limit is far away.
fn stuck(text: &str) -> Vec<String> {
    let run = run(text, Mode::Lockstep);
    assert!(run.world.clock < run.world.boot + SOON, "it ends at once: {}", run.world.clock);
    match run.outcome {
        Outcome::Stuck(waits) => waits,
        other => panic!("{other:?}"),
    }
}

fn limited(run: &Run) -> &[String] {
    match &run.outcome {
        Outcome::Limit(waits) => waits,
        other => panic!("{other:?}"),
    }
}

fn says(waits: &[String], what: &str) {
    assert!(waits.iter().any(|w| w == what), "{waits:#?}\nwithout {what}");
}

fn fault(nic: &str, kind: &str) -> String {
    format!("[[fault]]\nnic = \"{nic}\"\nkind = \"{kind}\"\n")
}

/// A tag and the pool, PCI-8, SEG-4: the first of many reads is never answered. All that is fetched
/// behind it keeps its room in the egress pool, 55 full packets (BUF-3), and the pass stands.
#[test]
fn a_read_without_an_answer_names_its_tag_and_the_pool() {
    let text = scenario("limit = \"8s\"", &message("300KB", "")) + &fault("a", "lost-completion");
    let waits = stuck(&text);
    says(&waits, "a: tags without all their data: 0");
    says(&waits, "a: tag 0: 4096 B at 0x200000000, never answered");
    says(&waits, &format!("a: the pass is stopped by the egress pool: {} of 230400 B", 55 * 4_174));
    says(&waits, "message a to b, 300000 B: SEND_COMPLETE");
}

/// Buffer and credit, PCI-4: a host that never drains, with room for one header. Reads fill the
/// NIC's transmit buffer, and the oldest waits for the host's.
#[test]
fn a_host_that_never_drains_names_buffer_and_credit() {
    let head = "limit = \"8s\"\n[defaults]\nHostPCIe.DrainStops = \"0ns\"\n\
                HostPCIe.RXHeaderBufferSize = \"16B\"\n";
    let credit = "a: a read waits for the host's receive buffer: 16 of 16 B of headers, 0 of 256000 B of data";
    says(&stuck(&scenario(head, &message("80KB", ""))), credit);
    let small = format!("{head}PCIe.TXHeaderBufferSize = \"64B\"");
    let waits = stuck(&scenario(&small, &message("80KB", "")));
    says(&waits, credit);
    let buffer = "a: a transfer waits for the transmit buffer: 64 of 64 B of headers, 0 of 256000 \
                  B of data";
    says(&waits, buffer);
}

/// The receiver's host never drains: its payloads and its completion entry stay in its NIC.
#[test]
fn a_receiver_whose_host_never_drains_is_named() {
    let never =
        "name = \"b\"\nHostPCIe.DrainStops = \"0ns\"\nHostPCIe.RXHeaderBufferSize = \"16B\"";
    let text = scenario("limit = \"8s\"\nbuild = \"small\"", &message("4KB", ""));
    let waits = stuck(&text.replace("name = \"b\"", never));
    says(&waits, "message a to b, 4000 B: RECV_COMPLETE");
    says(&waits, "b: a completion entry waits for the writes before it");
    says(
        &waits,
        "b: a write waits for the host's receive buffer: 16 of 16 B of headers, 512 of 256000 B of \
         data",
    );
}

/// A fault that no read meets keeps no run going; what it has not done is told.
#[test]
fn a_fault_that_nothing_meets_keeps_no_run_going() {
    let faults = fault("a", "lost-completion") + &fault("b", "late-completion");
    let waits = stuck(&(scenario("limit = \"8s\"", &message("20KB", "count = 5")) + &faults));
    says(&waits, "a: tag 0: 4096 B at 0x200000000, never answered");
}

/// The pause, PFC-4: who waits for its end is told, to the clock, with the pool that is full
/// meanwhile (54 packets, `uet`); it is no end of the run, which goes on to the last byte.
#[test]
fn a_pause_is_told_to_the_clock_and_waited_for() {
    let pause = "[[switch]]\naction = \"pause\"\nto = \"a\"\nclasses = [0]\nat = \"100ns\"\n";
    let text = |limit: &str| {
        let head = format!("limit = \"{limit}\"\nprofile = \"uet\"");
        scenario(&head, &message("300KB", "at = \"1us\"")) + pause
    };
    let mut run = run(&text("60us"), Mode::Lockstep);
    let waits = limited(&run).to_vec();
    says(&waits, &format!("a: the pass is stopped by the egress pool: {} of 230400 B", 54 * 4_202));
    says(&waits, "a: a frame waits for the port");
    let mut left = 0;
    while run.world.nodes[0].nic.b.pause_hold.paused == 1 {
        run.world.step(&mut Nowhere);
        left += 1;
    }
    assert!((30_000..60_000).contains(&left), "{left}");
    says(&waits, &format!("a: class 0 is paused for another {left} ns (PFC)"));
    finished(&text("8s"), Mode::Lockstep);
}

/// Control frames that are paused at the receiver are named too.
#[test]
fn paused_answers_are_named() {
    let pause = "[[switch]]\naction = \"pause\"\nto = \"b\"\nclasses = [1]\nat = \"100ns\"\n";
    let head = "limit = \"60us\"\nbuild = \"small\"";
    let run = run(&(scenario(head, &message("20KB", "at = \"1us\"")) + pause), Mode::Lockstep);
    let waits = limited(&run);
    says(waits, "b: a control frame waits for the port");
    assert!(waits.iter().any(|w| w.starts_with("b: class 1 is paused for another ")), "{waits:?}");
}

/// PCI-2: a slow link is named, with the time that it still needs, and waited for.
#[test]
fn a_slow_link_is_told_and_waited_for() {
    let text = |limit: &str| {
        let head = format!(
            "limit = \"{limit}\"\nbuild = \"small\"\n[defaults]\nPCIe.LaneCount = 1\n\
             PCIe.LaneBps = \"100Mbps\""
        );
        scenario(&head, &message("3KB", ""))
    };
    // 98 B take 7,840 ns; boot ends with clock 1,324.
    let run = run(&text("5us"), Mode::ModelOnly);
    let left = run.world.nodes[0].nic.b.pcie_link.left.div_ceil(100);
    assert!((1_000..7_840).contains(&left), "{left}");
    says(limited(&run), &format!("a: a read is on the link to the host for another {left} ns"));
    finished(&text("8s"), Mode::ModelOnly);
}

/// CPL-2: a lost ACK leaves nothing but a timer that asks for it again: the run waits for that one,
/// and for no other of its kind.
#[test]
fn a_timer_that_asks_for_an_ack_is_waited_for() {
    let lost = "[[switch]]\naction = \"drop\"\nkind = \"ACK\"\ncount = 1\n";
    let head = "limit = \"8s\"\nbuild = \"small\"";
    let run = finished(&(scenario(head, &message("20KB", "")) + lost), Mode::Lockstep);
    assert!(run.world.clock > 300_000, "{}", run.world.clock);
}

/// QP-6: a message whose QP comes into error has its time and its reason in `result.json` and in the
/// table; refused posts are counted and named there.
#[test]
fn failed_and_refused_messages_are_told() {
    let head = "limit = \"2ms\"\nbuild = \"small\"\n[defaults]\nInitialAckTimeout = \"5us\"\n\
                LinearRetryCount = 1\nExponentialRetryCount = 0";
    let lost = "[[switch]]\naction = \"drop\"\nmessage = 0\n";
    let text = scenario(head, &(message("100B", "") + &message("3KB", "at = \"40us\""))) + lost;
    let settings_ = settings(&text);
    let mut log = Log::default();
    model(&settings_, &mut log, |_| false);
    let errors = log.0.iter().filter(|e| matches!(e.2, Event::QpError { .. }));
    let at = errors.map(|e| e.0).next().expect("an error");
    let (run, recorder) = run_into(&settings_, Mode::ModelOnly, None);
    let result = RunResult::new("text.toml", Mode::ModelOnly, &run, &recorder);
    let told: Vec<_> = result.messages.iter().map(|m| (m.failed, m.why.as_deref())).collect();
    assert_eq!(told, [(Some(at), Some("Timeout")), (None, None)]);
    let json = serde_json::to_value(&result).expect("is JSON");
    assert_eq!(
        (&json["messages"][0]["failed"], &json["messages"][0]["why"]),
        (&at.into(), &"Timeout".into())
    );
    let table = summary(&result, &run);
    assert!(table.contains("messages       2, 3100 B; 1 whole, 1 in a QP in error\n"), "{table}");
    assert!(table.contains(&format!("  failed {at:>7} ns: Timeout\n")), "{table}");

    // 20 posts at once, and entries for 16 messages.
    let many = message("1KB", "count = 10").repeat(2);
    let (run, recorder) = run_into(
        &settings(&scenario("limit = \"2ms\"\nbuild = \"small\"", &many)),
        Mode::ModelOnly,
        None,
    );
    let result = RunResult::new("text.toml", Mode::ModelOnly, &run, &recorder);
    let refused = result.messages.iter().filter(|m| m.why.as_deref() == Some("MsgFull")).count();
    let table = summary(&result, &run);
    assert!(refused > 0 && table.contains(&format!(" whole, {refused} refused\n")), "{table}");
    assert!(table.contains("RECV       - ns  refused: MsgFull\n"), "{table}");
    assert_eq!(result.messages.iter().filter(|m| m.refused == Some(8)).count(), refused);
}

/// PFC-1: a threshold that no packet reaches on a class that sends pauses is refused; one that a
/// packet too many reaches is not. A time that is no whole clock has the rule of its key.
#[test]
fn pfc_1_a_threshold_out_of_reach_is_refused() {
    let with = |line: &str| {
        try_settings(&scenario(&format!("limit = \"2ms\"\n[defaults]\n{line}"), &message("1B", "")))
    };
    let xoff = |enable: &str, share: &str| {
        with(&format!(
            "IngressBufferManager.PFCEnableVector = {enable}\n\
             IngressBufferManager.PfcStaticXoffThreshold = {share}"
        ))
    };
    for (enable, share) in [("[0, 1]", "[0.8, 2]"), ("[1]", "[1.01]")] {
        let e = xoff(enable, share).expect_err("refused");
        let key = "defaults.IngressBufferManager.PfcStaticXoffThreshold";
        assert_eq!((e.line, e.key.as_str(), e.rule), (4, key, Some("PFC-1")), "{e}");
    }
    // Class 0 has 3,600,000 B; a packet of up to 8,306 B more counts. Class 1: 400,000 B and 94.
    for (enable, share) in
        [("[1]", "[1.0023]"), ("[0, 1]", "[0.8, 1.0002]"), ("[1, 0]", "[0.8, 2]"), ("[0]", "[2]")]
    {
        assert!(xoff(enable, share).is_ok(), "{enable} {share}");
    }
    let e = with("HostPCIe.Latency = \"0.5ns\"").expect_err("refused");
    assert_eq!((e.line, e.key.as_str(), e.rule), (3, "defaults.HostPCIe.Latency", Some("PCI-1")));
    let e = with("Delay = \"1.5ns\"").expect_err("refused");
    assert_eq!((e.line, e.rule), (3, Some("PKT-2")), "{e}");
}

/// `--parquet` is there in every build; one without Parquet says how to come by it.
#[cfg(not(feature = "parquet"))]
#[test]
fn parquet_says_how_to_build_it() {
    let path = crate::common::project("fixtures/scenarios/first_write.toml");
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_nicstep"));
    command.arg("run").arg(path).args(["--model-only", "--parquet", "--out"]).arg(folder.path());
    let output = command.output().expect("runs");
    let err = String::from_utf8(output.stderr).expect("is text");
    assert_eq!(output.status.code(), Some(2), "{err}");
    assert!(err.contains("cargo build --release --features parquet") && err.lines().count() == 1);
}
