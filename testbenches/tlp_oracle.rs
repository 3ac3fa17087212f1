//! TLP headers, ours against those of cocotbext-pcie (PCI-2, PCI-3, PCI-5, section 13): the host's
//! functions in `cosim::tlp` and the model of `tlp_engine`.

use std::collections::VecDeque;
use std::io::Write;
use std::process::Stdio;

use cosim::tlp::{self, Completion, Header, Tlp};
use rtl_model::block::Block;
use rtl_model::tlp_engine::{CQE_BYTES, Inputs, Outputs, Regs};
use serde_json::{Value, json};
use testbenches::oracle;
use testbenches::{Rng, Sizes};
use verilated::project_root;

/// Vectors of each kind.
const VECTORS: usize = 400;
const SEED: u64 = 0x71b;

/// Addresses around the borders: page 0, both sides of 4 GiB, the top.
const BASES: [u64; 5] = [0, 0x1_0000, 0xffff_f000, 0x1_0000_0000, 0xffff_ffff_ffff_f000];
/// Lengths around the borders: one DW, two, a transfer, all of a page.
const LENGTHS: [u32; 14] = [1, 2, 3, 4, 5, 7, 8, 9, 64, 127, 511, 512, 1024, 4096];

/// First byte and length of a request within its page.
fn place(rng: &mut Rng, longest: u32) -> (u64, u32) {
    let len = match rng.pick(&LENGTHS) {
        len if len <= longest && rng.percent(70) => len,
        _ => 1 + rng.below(u64::from(longest)) as u32,
    };
    let room = u64::from(4096 - len);
    let offset = if rng.percent(40) { rng.below(room.min(3) + 1) } else { rng.below(room + 1) };
    (rng.pick(&BASES) + offset, len)
}

/// The header's bytes, first first: three DWs or four.
fn hex(header: &Header) -> String {
    let dws = if header[0] >> 29 & 1 == 1 { 4 } else { 3 };
    header[..dws].iter().map(|dw| format!("{dw:08x}")).collect::<Vec<_>>().concat()
}

/// The header of those bytes; the fourth DW of a short one is zero.
fn header(hex: &str) -> Header {
    let mut dws = [0; 4];
    for (dw, at) in dws.iter_mut().zip((0..hex.len()).step_by(8)) {
        *dw = u32::from_str_radix(&hex[at..at + 8], 16).expect("DWs in hexadecimal");
    }
    dws
}

/// The oracle's answers, `None` when it cannot be had.
fn ask(questions: &[Value]) -> Option<VecDeque<Value>> {
    let mut python = oracle::installed("python3")?;
    let script = project_root().join("testbenches/oracles/tlp.py");
    python.arg(script).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = python.spawn().expect("python starts");
    let mut stdin = child.stdin.take().expect("its input is a pipe");
    let lines = questions.iter().map(|q| format!("{q}\n")).collect::<Vec<_>>().concat();
    // Beside the reading, so that neither waits for the other.
    let writer = std::thread::spawn(move || stdin.write_all(lines.as_bytes()));
    let output = child.wait_with_output().expect("python ends");
    writer.join().expect("the writer ends").expect("python reads everything");
    assert!(output.status.success(), "the oracle failed: {}", output.status);
    let text = String::from_utf8(output.stdout).expect("JSON is UTF-8");
    let answers = text.lines().map(|l| serde_json::from_str(l).expect("JSON"));
    let answers: VecDeque<Value> = answers.collect();
    assert_eq!(answers.len(), questions.len());
    Some(answers)
}

/// The oracle packs the same fields into the same bytes.
fn same_bytes(cases: &[(Value, Header)]) {
    let questions: Vec<_> = cases.iter().map(|(f, _)| json!({ "pack": f })).collect();
    let Some(answers) = ask(&questions) else { return };
    for ((fields, ours), answer) in cases.iter().zip(answers) {
        assert_eq!(Some(hex(ours).as_str()), answer["header"].as_str(), "{fields}");
    }
}

#[test]
fn host_writes_are_packed_alike() {
    let mut rng = Rng::new(SEED, "writes");
    let cases: Vec<_> = (0..VECTORS)
        .map(|_| {
            let (addr, len) = place(&mut rng, 4096);
            let fields =
                json!({"kind": "write", "addr": addr, "len": len, "tag": 0, "requester": 0});
            (fields, tlp::write(addr, len))
        })
        .collect();
    same_bytes(&cases);
}

#[test]
fn requests_are_read_alike() {
    let mut rng = Rng::new(SEED, "requests");
    let cases: Vec<_> = (0..VECTORS)
        .map(|_| {
            let (addr, len) = place(&mut rng, 4096);
            let (tag, requester) = (rng.below(256) as u8, rng.below(0x1_0000) as u16);
            let read = rng.percent(50);
            let kind = if read { "read" } else { "write" };
            let fields = json!({
                "kind": kind, "addr": addr, "len": len, "tag": tag, "requester": requester
            });
            let ours = Tlp::Read { addr, len, tag, requester };
            (fields, if read { ours } else { Tlp::Write { addr, len } })
        })
        .collect();
    let questions: Vec<_> = cases.iter().map(|(f, _)| json!({ "pack": f })).collect();
    let Some(answers) = ask(&questions) else { return };
    for ((fields, ours), answer) in cases.iter().zip(answers) {
        let theirs = header(answer["header"].as_str().expect("a header"));
        assert_eq!(tlp::parse(&theirs), *ours, "{fields}");
    }
}

#[test]
fn completions_are_packed_alike() {
    let mut rng = Rng::new(SEED, "completions");
    let cases: Vec<_> = (0..VECTORS)
        .map(|_| {
            let (addr, len) = place(&mut rng, tlp::MAX_PAYLOAD);
            // What a completer can say: with data it was successful, without it was not.
            let status = rng.pick(&[0, 0, 0, 1, 4]);
            let len = if status == 0 { len } else { 0 };
            let left = (len + rng.below(u64::from(4096 - len) + 1) as u32).max(1);
            let (tag, requester) = (rng.below(256) as u8, rng.below(0x1_0000) as u16);
            let fields = json!({
                "kind": "completion", "addr": addr, "len": len, "left": left, "status": status,
                "tag": tag, "requester": requester
            });
            (fields, tlp::completion(&Completion { addr, len, left, status, tag, requester }))
        })
        .collect();
    same_bytes(&cases);
}

/// PCI-5, section 13: whatever is read, its completions are those that a requester may expect.
#[test]
fn reads_are_completed_whole() {
    let mut rng = Rng::new(SEED, "reads");
    let mut questions = Vec::new();
    for _ in 0..VECTORS {
        let (addr, len) = place(&mut rng, 4096);
        let (tag, rcb) = (rng.below(256) as u8, rng.pick(&[64, 128]));
        let (_, read) = engine_read(addr, len as u16, tag, 0x0100);
        let Tlp::Read { requester, .. } = tlp::parse(&read) else {
            panic!("not a read: {read:x?}")
        };
        let (mut at, mut left) = (addr, len);
        let completions: Vec<_> = tlp::completion_lengths(addr, len, tlp::MAX_PAYLOAD, rcb)
            .into_iter()
            .map(|len| {
                let c = Completion { addr: at, len, left, status: 0, tag, requester };
                at = at.wrapping_add(u64::from(len)); // the last page ends at 0
                left -= len;
                hex(&tlp::completion(&c))
            })
            .collect();
        questions.push(json!({"read": hex(&read), "completions": completions, "rcb": rcb}));
    }
    let Some(answers) = ask(&questions) else { return };
    for (question, answer) in questions.iter().zip(answers) {
        assert_eq!(answer, json!({"wrong": []}), "{question}");
    }
}

/// The oracle's answers to a wrong completion and to one too few: the check can fail.
#[test]
fn wrong_completions_are_found() {
    let read = hex(&engine_read(0x1003, 1024, 7, 0x0100).1);
    let first =
        Completion { addr: 0x1003, len: 509, left: 1024, status: 0, tag: 7, requester: 0x100 };
    let wrong = Completion { left: 1023, tag: 8, ..first };
    let few = json!({"read": read, "completions": [hex(&tlp::completion(&first))], "rcb": 128});
    let wrong = json!({"read": read, "completions": [hex(&tlp::completion(&wrong))], "rcb": 128});
    let Some(answers) = ask(&[few, wrong]) else { return };
    let found = |n: usize| answers[n]["wrong"].as_array().expect("a list").len();
    assert_eq!((found(0), found(1)), (1, 3));
}

/// One clock of the model of `tlp_engine`, with room for a write, and the header it then shows.
fn engine(inputs: &Inputs) -> (u16, Header) {
    let inputs = &Inputs { tx_free: 1 << 12, ..*inputs };
    let mut regs = Regs::reset(&Sizes::DEFAULT);
    let mut outputs = Outputs::default();
    regs.drive(&mut outputs);
    regs.ready(inputs, &mut outputs);
    regs.clock(inputs, &outputs);
    regs.drive(&mut outputs);
    assert!(outputs.tx_valid && outputs.tx_first);
    let [low, high] = outputs.tx_hdr.0;
    let header = [low as u32, (low >> 32) as u32, high as u32, (high >> 32) as u32];
    (outputs.tx_dws, header)
}

fn engine_read(addr: u64, len: u16, tag: u8, rid: u16) -> (u16, Header) {
    engine(&Inputs {
        cfg_rid: rid,
        rd_valid: true,
        rd_addr: addr,
        rd_len: len,
        rd_tag: tag,
        tx_ready: true,
        ..Inputs::default()
    })
}

#[test]
fn engine_requests_are_packed_alike() {
    let mut rng = Rng::new(SEED, "engine");
    let mut cases = Vec::new();
    for n in 0..3 * VECTORS {
        let rid = rng.below(0x1_0000) as u16;
        let idle = Inputs { cfg_rid: rid, tx_ready: true, ..Inputs::default() };
        let (kind, addr, len, tag, (dws, header)) = match n % 3 {
            0 => {
                let (addr, len) = place(&mut rng, 4096);
                let tag = rng.below(256) as u8;
                ("read", addr, len, tag, engine_read(addr, len as u16, tag, rid))
            }
            1 => {
                let (addr, len) = place(&mut rng, tlp::MAX_PAYLOAD);
                let (wr_addr, wr_len) = (addr, len as u16);
                let word = Inputs { wr_valid: true, wr_first: true, wr_addr, wr_len, ..idle };
                let last = tlp::dws(addr, len) <= 16;
                ("write", addr, len, 0, engine(&Inputs { wr_last: last, ..word }))
            }
            _ => {
                let addr = place(&mut rng, 64).0 & !31;
                let cqe = Inputs { cqe_valid: true, cqe_addr: addr, ..idle };
                ("write", addr, u32::from(CQE_BYTES), 0, engine(&cqe))
            }
        };
        let payload = if kind == "write" { tlp::dws(addr, len) } else { 0 };
        assert_eq!(u32::from(dws), payload, "{kind} of {len} B at {addr:x}");
        let fields = json!({"kind": kind, "addr": addr, "len": len, "tag": tag, "requester": rid});
        cases.push((fields, header));
    }
    same_bytes(&cases);
}
