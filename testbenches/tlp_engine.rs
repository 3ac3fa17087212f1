//! `tlp_engine`: model and RTL agree on every clock, and both with headers written byte by byte.

use std::collections::VecDeque;

use rtl_model::image::Wide;
use rtl_model::tlp_engine::{CQE, Inputs, Outputs, READ, Regs, WRITE};
use rtl_model::types::Word;
use testbenches::{Late, Lockstep, Mismatch, Reached, Rng, Sizes, Start, Table};

/// Addresses around the borders: 4 GiB, a page, a DW.
const ADDRESSES: [u64; 8] = [
    0,
    0x1000,
    0xffff_f000,
    0x1_0000_0000,
    0x1_2345_6000,
    0xffff_ffff_ffff_f000,
    0xffff_ff00,
    0x8000_0000_0000_0e00,
];

/// Lengths around the borders: a DW, a word, the largest write.
const LENGTHS: [u16; 18] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 29, 30, 61, 64, 65, 127, 128, 509, 512];

/// Lengths of reads besides those: the largest, whose length field is 0.
const READ_LENGTHS: [u16; 4] = [4096, 4095, 2048, 513];

fn after_reset(sizes: &Sizes, seed: u32) -> Lockstep<Regs> {
    Lockstep::new("tlp_engine", sizes, Start::Random(seed)).expect("builds")
}

/// A memory request as PCIe puts it on the wire, from the bytes that it names one by one.
fn request(write: bool, addr: u64, len: u16, tag: u8, rid: u16) -> Vec<u8> {
    let mut enables: Vec<u8> = Vec::new();
    let mut last_dw = None;
    for n in 0..u64::from(len) {
        let byte = addr + n;
        if last_dw != Some(byte / 4) {
            enables.push(0);
            last_dw = Some(byte / 4);
        }
        *enables.last_mut().expect("pushed") |= 1 << (byte % 4);
    }
    let last = if enables.len() > 1 { enables[enables.len() - 1] } else { 0 };
    let long = addr > u64::from(u32::MAX);
    let format = match (write, long) {
        (false, false) => 0x00,
        (false, true) => 0x20,
        (true, false) => 0x40,
        (true, true) => 0x60,
    };
    let mut out = vec![format, 0];
    out.extend((enables.len() as u16 % 1024).to_be_bytes());
    out.extend(rid.to_be_bytes());
    out.extend([tag, last << 4 | enables[0]]);
    let address = (addr - addr % 4).to_be_bytes();
    out.extend(if long { &address[..] } else { &address[4..] });
    out
}

/// The header port's value of those bytes: DW0 in bits 31:0, each DW's first byte on top.
fn port(bytes: &[u8]) -> Wide<2> {
    let dw = |n: usize| {
        bytes
            .get(4 * n..4 * n + 4)
            .map_or(0, |b| u64::from(u32::from_be_bytes(b.try_into().expect("four"))))
    };
    Wide([dw(1) << 32 | dw(0), dw(3) << 32 | dw(2)])
}

/// The header as words in text, DW0 first; three or four.
fn text(hdr: Wide<2>) -> String {
    let [low, high] = hdr.0;
    let three = format!("{:08x}_{:08x}_{:08x}", low as u32, low >> 32, high as u32);
    if low >> 29 & 1 == 1 {
        return format!("{three}_{:08x}", high >> 32);
    }
    assert_eq!(high >> 32, 0, "DW3 of a 3-DW header");
    three
}

/// What is wanted of one TLP.
struct Tlp {
    kind: u8,
    hdr: Wide<2>,
    dws: u16,
    cost: u16,
    words: VecDeque<Word>,
}

impl Tlp {
    /// Looks at one word that goes to `pcie_link`; true with the last.
    fn agrees(&mut self, out: &Outputs, first: bool) -> bool {
        let word = self.words.pop_front().expect("no more words than the payload has");
        assert_eq!(out.tx_first, first);
        assert_eq!(out.tx_last, self.words.is_empty());
        assert_eq!(text(out.tx_hdr), text(self.hdr));
        assert_eq!((out.tx_kind, out.tx_dws), (self.kind, self.dws));
        assert_eq!(out.tx_cost, self.cost);
        assert_eq!(out.tx_data, word);
        out.tx_last
    }
}

#[test]
fn pci_3_pci_5_headers_of_the_figures() -> Result<(), Mismatch> {
    for file in ["headers_of_the_figures.txt", "byte_enables.txt"] {
        let mut pair = after_reset(&Sizes::DEFAULT, 1);
        for row in Table::read(&format!("tlp_engine/{file}")) {
            let (write, addr) = (row.bit("write"), row.hex("addr"));
            let len = row.dec("len") as u16;
            let i = Inputs {
                cfg_rid: 0x0100,
                cfg_pcie_overhead: 34,
                cfg_read_request: 64,
                rd_valid: !write,
                rd_addr: addr,
                rd_len: len,
                rd_tag: row.hex("tag") as u8,
                wr_valid: write,
                wr_first: true,
                wr_last: true,
                wr_addr: addr,
                wr_len: if write { len } else { 0 },
                tx_ready: true,
                tx_free: 33,
                ..Inputs::default()
            };
            pair.clock(&i)?;
            let out = pair.clock(&Inputs { tx_ready: true, ..Inputs::default() })?;
            row.expect("header", text(out.tx_hdr));
            row.expect("cost", out.tx_cost);
            // The same from the bytes.
            let tag = if write { 0 } else { i.rd_tag };
            assert_eq!(out.tx_hdr, port(&request(write, addr, len, tag, 0x0100)));
        }
    }
    Ok(())
}

#[test]
fn pci_4_reads_and_writes_alternate() -> Result<(), Mismatch> {
    let mut pair = after_reset(&Sizes::DEFAULT, 2);
    for row in Table::read("tlp_engine/reads_and_writes_alternate.txt") {
        let out = pair.clock(&Inputs {
            rd_valid: row.bit("rd"),
            rd_len: 64,
            wr_valid: row.text("wr") != "-",
            wr_first: "fo".contains(row.text("wr")),
            wr_last: "lo".contains(row.text("wr")),
            wr_len: 100,
            cqe_valid: row.bit("cqe"),
            tx_ready: row.bit("tx_ready"),
            tx_free: 100,
            ..Inputs::default()
        })?;
        row.expect("rd_ready", u8::from(out.rd_ready));
        row.expect("wr_ready", u8::from(out.wr_ready));
        row.expect("cqe_ready", u8::from(out.cqe_ready));
        row.expect("tx_valid", u8::from(out.tx_valid));
        row.expect("tx_kind", out.tx_kind);
        row.expect("tx_first", u8::from(out.tx_first));
        row.expect("tx_last", u8::from(out.tx_last));
    }
    Ok(())
}

/// Case 11, PCI-1, CPL-1: a read, the words of a write, and the write of a completion, each of which
/// waits for 0 to 5 clocks until `pcie_link` takes it, go out once each.
#[test]
fn case_11_tlps_go_out_once_whatever_waits() -> Result<(), Mismatch> {
    for low in 0..=5 {
        let mut pair = after_reset(&Sizes::SMALL, 2);
        let (mut link, mut left, mut sent) = (Late::by(low), [1, 2, 1], Vec::new());
        for _ in 0..60 {
            let i = Inputs {
                rd_valid: left[0] > 0,
                rd_len: 64,
                wr_valid: left[1] > 0,
                wr_first: left[1] == 2,
                wr_last: left[1] == 1,
                wr_len: 100,
                cqe_valid: left[2] > 0,
                tx_ready: link.ready(pair.regs().valid),
                tx_free: 100,
                ..Inputs::default()
            };
            let out = pair.clock(&i)?;
            left[0] -= u8::from(i.rd_valid && out.rd_ready);
            left[1] -= u8::from(i.wr_valid && out.wr_ready);
            left[2] -= u8::from(i.cqe_valid && out.cqe_ready);
            sent.extend(i.tx_ready.then_some((out.tx_kind, out.tx_first)));
        }
        sent.sort_unstable();
        let mut want = [(READ, true), (WRITE, false), (WRITE, true), (CQE, true)];
        want.sort_unstable();
        assert_eq!((left, &sent[..]), ([0; 3], &want[..]), "{low} clocks");
    }
    Ok(())
}

/// PCI-4: reads need no room for payload, and pass a write that has none; it goes once there is
/// some, in its turn. The word that waits for the buffer counts as taken.
#[test]
fn pci_4_reads_pass_a_write_without_room() -> Result<(), Mismatch> {
    let mut pair = after_reset(&Sizes::DEFAULT, 2);
    let i = Inputs {
        rd_valid: true,
        rd_len: 64,
        wr_valid: true,
        wr_first: true,
        wr_last: true,
        wr_len: 60,
        tx_ready: true,
        ..Inputs::default()
    };
    for (free, kinds) in
        [(3, [READ, READ, READ]), (4, [READ, WRITE, READ]), (8, [READ, WRITE, READ])]
    {
        pair.reset().expect("resets");
        for kind in kinds {
            let out = pair.clock(&Inputs { tx_free: free, ..i })?;
            assert_eq!((out.rd_ready, out.wr_ready), (kind == READ, kind == WRITE), "{free} units");
        }
    }
    // Writes alone: the one in the output register has taken 4 units of 7, then 4 of 8.
    for (free, second) in [(7, false), (8, true)] {
        pair.reset().expect("resets");
        let i = Inputs { rd_valid: false, tx_free: free, ..i };
        assert!(pair.clock(&i)?.wr_ready);
        assert_eq!(pair.clock(&i)?.wr_ready, second, "{free} units");
    }
    Ok(())
}

/// The sources: what each still holds, and what is wanted of it.
struct Sources {
    i: Inputs,
    write: VecDeque<Word>,
    wanted: [VecDeque<Tlp>; 3],
}

impl Sources {
    fn new() -> Self {
        let wanted = [VecDeque::new(), VecDeque::new(), VecDeque::new()];
        Self { i: Inputs::default(), write: VecDeque::new(), wanted }
    }

    fn word(rng: &mut Rng) -> Word {
        Wide(std::array::from_fn(|_| rng.bits()))
    }

    /// An address with room for `len` bytes in its page.
    fn address(rng: &mut Rng, len: u16) -> u64 {
        let room = 4096 - u64::from(len);
        let offset = if rng.percent(60) { rng.below(4) } else { rng.below(4096) };
        let page = if rng.percent(70) { rng.pick(&ADDRESSES) } else { rng.bits() };
        (page & !0xfff) + offset.min(room)
    }

    /// New TLPs, in `busy` percent of the clocks for each source.
    fn offer(&mut self, rng: &mut Rng, busy: u64) {
        let i = &mut self.i;
        let overhead = u16::from(i.cfg_pcie_overhead);
        if !i.rd_valid && rng.percent(busy) {
            i.rd_valid = true;
            i.rd_len = match rng.below(10) {
                0..3 => rng.pick(&READ_LENGTHS),
                3..5 => rng.between(1, 4096) as u16,
                _ => rng.pick(&LENGTHS),
            };
            i.rd_addr = Self::address(rng, i.rd_len);
            i.rd_tag = rng.bits() as u8;
            let hdr = port(&request(false, i.rd_addr, i.rd_len, i.rd_tag, i.cfg_rid));
            let words = VecDeque::from([Wide::ZERO]);
            let tlp = Tlp { kind: READ, hdr, dws: 0, cost: i.cfg_read_request + overhead, words };
            self.wanted[usize::from(READ)].push_back(tlp);
        }
        if !i.cqe_valid && rng.percent(busy / 4) {
            i.cqe_valid = true;
            i.cqe_addr = Self::address(rng, 32);
            i.cqe_data = Wide(std::array::from_fn(|_| rng.bits()));
            let at = i.cqe_addr - i.cqe_addr % 4;
            let hdr = port(&request(true, at, 32, 0, i.cfg_rid));
            let mut bytes = [0; 32];
            i.cqe_data.to_bytes(&mut bytes);
            let words = VecDeque::from([Wide::from_bytes(&bytes)]);
            let cost = if i.cfg_cqe_on_link { 32 + overhead } else { 0 };
            let tlp = Tlp { kind: CQE, hdr, dws: 8, cost, words };
            self.wanted[usize::from(CQE)].push_back(tlp);
        }
        if !i.wr_valid && self.write.is_empty() && rng.percent(busy) {
            let any = rng.between(1, 512) as u16;
            i.wr_len = if rng.percent(80) { rng.pick(&LENGTHS) } else { any };
            i.wr_addr = Self::address(rng, i.wr_len);
            let bytes = request(true, i.wr_addr, i.wr_len, 0, i.cfg_rid);
            let dws = u16::from_be_bytes([bytes[2], bytes[3]]);
            let words: VecDeque<_> = (0..dws.div_ceil(16)).map(|_| Self::word(rng)).collect();
            self.write.clone_from(&words);
            let cost = i.wr_len + overhead;
            let tlp = Tlp { kind: WRITE, hdr: port(&bytes), dws, cost, words };
            self.wanted[usize::from(WRITE)].push_back(tlp);
            i.wr_first = true;
        }
        // Words of one write may come with pauses between them.
        if !i.wr_valid && !self.write.is_empty() && rng.percent(20 + busy) {
            i.wr_valid = true;
            i.wr_data = self.write[0];
            i.wr_last = self.write.len() == 1;
        }
    }

    fn taken(&mut self, out: &Outputs) {
        self.i.rd_valid &= !out.rd_ready;
        self.i.cqe_valid &= !out.cqe_ready;
        if self.i.wr_valid && out.wr_ready {
            self.i.wr_valid = false;
            self.i.wr_first = false;
            self.write.pop_front();
        }
    }
}

/// PCI-4's order, as a property: with both kinds waiting, the other kind goes next.
#[derive(Default)]
struct Order {
    last: Option<bool>,
    open: bool,
}

impl Order {
    /// The oldest write has room, besides what may wait in the output register.
    fn write_fits(i: &Inputs) -> bool {
        let dws = (i.wr_addr % 4 + u64::from(i.wr_len)).div_ceil(4);
        let units = if i.cqe_valid { 2 } else { dws.div_ceil(4) };
        (i.cqe_valid || i.wr_valid) && u64::from(i.tx_free) >= units + 32
    }

    fn agrees(&mut self, i: &Inputs, out: &Outputs) {
        let (rd, cqe) = (i.rd_valid && out.rd_ready, i.cqe_valid && out.cqe_ready);
        let wr = i.wr_valid && out.wr_ready;
        assert!(u8::from(rd) + u8::from(cqe) + u8::from(wr) <= 1, "one source a clock");
        assert!(!self.open || !rd && !cqe, "nothing between the words of a TLP");
        let both = i.rd_valid && (wr || cqe || Self::write_fits(i));
        let begins = rd || cqe || wr && !self.open;
        if begins && both {
            assert_ne!(self.last, Some(rd), "the other kind was waiting");
            assert!(self.last.is_some() || rd, "a read first");
        }
        if begins && wr {
            assert!(!i.cqe_valid, "a CQE goes before a write");
        }
        if begins {
            self.last = Some(rd);
        } else if !i.rd_valid && !i.wr_valid && !i.cqe_valid && !self.open {
            self.last = None;
        }
        if wr {
            self.open = !i.wr_last;
        }
    }
}

fn traffic(sizes: &Sizes, seed: u32) -> Result<(), Mismatch> {
    let mut rng = Rng::new(seed.into(), "tlp_engine");
    let mut pair = after_reset(sizes, seed);
    let mut sources = Sources::new();
    let mut order = Order::default();
    let mut firsts = [true; 3];
    let mut sent = [0; 3];
    for clock in 0..30_000 {
        let phase = clock / 500;
        let (busy, ready) = ([100, 30, 75, 5][phase % 4], [100, 75, 25, 75, 0][phase % 5]);
        let idle = sources.wanted.iter().all(VecDeque::is_empty);
        if idle && rng.percent(20) {
            sources.i.cfg_rid = rng.bits() as u16;
            sources.i.cfg_cqe_on_link = rng.percent(50);
            sources.i.cfg_pcie_overhead = rng.pick(&[34, 34, 0, 1, 255]);
            sources.i.cfg_read_request = rng.pick(&[64, 64, 0, 1, 1023]);
        }
        sources.offer(&mut rng, busy);
        sources.i.tx_ready = rng.percent(ready);
        if rng.percent(10) {
            sources.i.tx_free = rng.pick(&[0, 1, 2, 3, 7, 31, 32, 33, 64, 1_000]);
        }
        let i = sources.i;
        let out = pair.clock(&i)?;
        order.agrees(&i, &out);
        if out.tx_valid && i.tx_ready {
            let kind = usize::from(out.tx_kind);
            let tlp = sources.wanted[kind].front_mut().expect("a TLP that was asked for");
            firsts[kind] = tlp.agrees(&out, firsts[kind]);
            if firsts[kind] {
                sources.wanted[kind].pop_front();
                sent[kind] += 1;
            }
        }
        sources.taken(&out);
        if rng.below(5_000) == 0 {
            pair.reset().expect("resets");
            sources = Sources::new();
            order = Order::default();
            firsts = [true; 3];
        }
    }
    assert!(sent.iter().all(|n| *n > 500), "{sent:?} TLPs of each kind");
    Ok(())
}

#[test]
fn pci_2_pci_3_pci_5_random_traffic_agrees() -> Result<(), Mismatch> {
    let reached = Reached::begin("tlp_engine");
    traffic(&Sizes::SMALL, 1)?;
    traffic(&Sizes::DEFAULT, 2)?;
    traffic(&Sizes::DEFAULT, 3)?;
    reached.check();
    Ok(())
}
