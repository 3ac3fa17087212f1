//! What hosts and the network do that they should not, drawn from the seed.

use rtl_model::header::{IP_UDP, UDP_PORT, ip_sum};
use rtl_model::host_interface::{DOORBELL_PAGE, OP_WRITE, Wqe};
use rtl_model::rng::Rng;
use rtl_model::types::Qpn;
use serde::{Deserialize, Serialize};

use crate::driver::BAR;
use crate::host::Spoil;
use crate::run::FaultResult;
use crate::scenario::FaultKind;
use crate::settings::{FaultSettings, Settings};
use crate::switch::Switch;
use crate::switch::frame::{self, sealed};
use crate::tlp::Header;
use crate::world::{Node, ip, mac};

/// Clocks between two faults of one entry.
const GAP: u64 = 37;
/// Clocks by which a late completion is late.
const LATE: u64 = 20_000;
/// The longest garbage, bytes.
const LONGEST: u64 = 200;

/// All faults of a scenario.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Faults {
    entries: Vec<Entry>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Entry {
    settings: FaultSettings,
    done: u64,
    rng: Rng,
    /// What a frame to this NIC says.
    frame: Addresses,
}

/// Addresses of the NIC that meets a fault, and of the first other one, its peer.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Addresses {
    mac: u64,
    own: u32,
    peer: u32,
    /// NICs, each a place of the peer table.
    nics: u64,
    last_slot: u32,
}

impl Faults {
    /// None done yet.
    pub fn new(settings: &Settings) -> Self {
        let entry = |(n, f): (usize, &FaultSettings)| Entry {
            settings: f.clone(),
            done: 0,
            rng: Rng::new(settings.seed, &format!("fault {n}")),
            frame: Addresses {
                mac: mac(&settings.nics[f.nic]),
                own: ip(settings.nics[f.nic].address),
                peer: ip(settings.nics[usize::from(f.nic == 0)].address),
                nics: settings.nics.len() as u64,
                last_slot: settings.sizes.qps - 1,
            },
        };
        Self { entries: settings.faults.iter().enumerate().map(entry).collect() }
    }

    /// What came of each; `nodes` say which wrong answers still wait for a read.
    pub fn results(&self, nodes: &[Node], name: impl Fn(usize) -> String) -> Vec<FaultResult> {
        let of = |(n, e): (usize, &Entry)| {
            let waits = nodes[e.settings.nic].host.spoils.iter().filter(|(_, by)| *by == n);
            FaultResult {
                kind: e.settings.kind,
                nic: name(e.settings.nic),
                acted: e.done - waits.count() as u64,
                asked: e.settings.count,
            }
        };
        self.entries.iter().enumerate().map(of).collect()
    }

    /// All have been done.
    pub fn finished(&self) -> bool {
        self.entries.iter().all(|e| e.done == e.settings.count)
    }

    /// Does what is due in `clock`.
    pub fn step(&mut self, clock: u64, boot: u64, nodes: &mut [Node], switch: &mut Switch) {
        for (place, entry) in self.entries.iter_mut().enumerate() {
            let s = &entry.settings;
            if entry.done < s.count && clock >= boot + s.at + entry.done * GAP {
                let kind = s.kind;
                let node = &mut nodes[s.nic];
                let n = entry.done;
                entry.done += 1;
                match spoil(kind) {
                    Some(spoil) => node.host.spoils.push_back((spoil, place)),
                    None => entry.act(kind, n, clock, node, switch),
                }
            }
        }
    }
}

impl Entry {
    /// The n-th fault; lengths run through 0 to 200 so that each occurs.
    fn act(&mut self, kind: FaultKind, n: u64, clock: u64, node: &mut Node, switch: &mut Switch) {
        let nic = self.settings.nic;
        let mut bytes = vec![0; (n % (LONGEST + 1)) as usize];
        self.rng.fill(&mut bytes);
        match kind {
            FaultKind::GarbageFrames => switch.inject(clock, nic, bytes),
            FaultKind::NearMisses => {
                let frame = self.near_miss(n);
                switch.inject(clock, nic, frame);
            }
            FaultKind::GarbageTlps => {
                bytes.resize(bytes.len().div_ceil(4) * 4, 0);
                let header = self.tlp_header(bytes.len() as u32 / 4);
                node.host.send_raw(clock, header, bytes);
            }
            FaultKind::BadDoorbells => {
                let (offset, bytes) = self.doorbell(n);
                node.host.post(clock, BAR + DOORBELL_PAGE + offset, &bytes);
            }
            FaultKind::StrayCompletions => {
                let header = self.stray_completion(n);
                bytes.resize(header[0] as usize % 1024 * 4, 0);
                node.host.send_raw(clock, header, bytes);
            }
            _ => unreachable!("the next read meets it"),
        }
    }

    /// A completion for any tag, of 0 to 7 DWs, that answers no read: no read of 4,095 B is left
    /// with its next byte at an odd address.
    fn stray_completion(&mut self, n: u64) -> Header {
        let dws = (n % 8) as u32;
        let kind = if dws == 0 { 0x0a00_0000 } else { 0x4a00_0000 };
        [kind | dws, 0xfff, (self.rng.bits() as u32 & 0xff) << 8 | 1, 0]
    }

    /// A doorbell write with one thing wrong: size, place, opcode, a reserved bit, peer, length,
    /// a QP that is not open.
    fn doorbell(&mut self, n: u64) -> (u64, Vec<u8>) {
        let good = Wqe { opcode: OP_WRITE, open: true, length: 64, ..Wqe::default() };
        let of = |wqe: Wqe| (0, wqe.to_bytes().to_vec());
        match n % 7 {
            0 => (0, vec![1; 1 + self.rng.below(63) as usize]),
            1 => (4, good.to_bytes().to_vec()),
            2 => of(Wqe { opcode: self.rng.between(4, 255) as u8, ..good }),
            3 => {
                let mut bytes = good.to_bytes().to_vec();
                bytes[48 + self.rng.below(16) as usize] = 1 << self.rng.below(8);
                (0, bytes)
            }
            4 => of(Wqe { dest: self.rng.between(self.frame.nics, 255) as u8, ..good }),
            5 => of(Wqe { length: 0x8000_0000 | self.rng.bits() as u32, ..good }),
            _ => of(Wqe {
                open: false,
                qpn: Qpn(self.rng.between(0xff_ff00, 0xff_ffff) as u32),
                ..good
            }),
        }
    }

    /// A header that is random, but for the type in three of four and the length in half of those.
    fn tlp_header(&mut self, dws: u32) -> Header {
        let mut header: Header = std::array::from_fn(|_| self.rng.bits() as u32);
        if self.rng.percent(75) {
            let kind = self.rng.pick(&[0x40, 0x60, 0x0a, 0x4a]);
            // Neither poisoned nor with a long tag, half the time.
            let odd = if self.rng.percent(50) { 0 } else { header[0] & 0x0088_4000 };
            header[0] = kind << 24 | odd | header[0] & 0x3ff;
        }
        if self.rng.percent(50) {
            header[0] = header[0] & !0x3ff | dws & 0x3ff;
        }
        match header[0] >> 24 {
            0x40 | 0x60 => header[1] &= !1,
            0x0a | 0x4a => header[2] |= 1 << 15,
            _ => {}
        }
        header
    }

    /// A frame to this NIC with one thing wrong.
    fn near_miss(&mut self, n: u64) -> Vec<u8> {
        let mut f = self.packet(0xca, &[0; 20]);
        let any = self.rng.bits();
        match n % 16 {
            0 => f[12..14].copy_from_slice(&[0x86, 0xdd]),
            1 => f[(any % 6) as usize] ^= 1 << (any >> 8 & 7),
            2 => match any % 4 {
                0 => f[14] = 0x46,
                1 => f[14] = 0x65,
                2 => f[20] |= 0x20,
                _ => f[23] = 6,
            },
            3 => f[24] ^= 1 << (any & 7),
            4 => f[33] ^= 1 << (any & 7),
            5 => f[37] ^= 1 << (any & 7),
            6 => f[42] = 0xc9,
            7 => f.push(0),
            8 => {
                f = sealed(f);
                f[39] ^= 1; // after its FCS
                return f;
            }
            9 => f.truncate((any % 54) as usize),
            10 => f[26..30].copy_from_slice(&[10, 9, 8, 7]),
            // A number that nobody has, half of them with room for an ICRC, which is wrong.
            11 if any.is_multiple_of(2) => {}
            11 => f = self.packet(0xca, &[0; 24]),
            12 => f = self.packet(0xd1, &[0; 4]),
            13 => {
                f = self.packet(0xca, &[0; 4]);
                f[15] = 12 << 2; // trimmed
            }
            14 => return frame::pause(1, &[16, 0, 0, 0, 0, 0, 0, 0]),
            _ => {
                // The sender's number of a QP of its own, and a PSN that is far out of its window.
                let slot = self.frame.last_slot.to_be_bytes();
                f[47..50].copy_from_slice(&[0x7f, 0xff, slot[3]]);
                f[50] = 0x40;
                f[51..54].copy_from_slice(&[0x40, 0, 0]);
            }
        }
        let whole = n % 16 != 3 && f.len() > 34;
        if whole {
            f[24..26].fill(0);
            let sum = !ip_sum(&f[14..34]);
            f[24..26].copy_from_slice(&sum.to_be_bytes());
        }
        sealed(f)
    }

    /// A packet from the peer for a number that no QP has, its FCS and IPv4 checksum left out.
    fn packet(&mut self, opcode: u8, rest: &[u8]) -> Vec<u8> {
        let a = self.frame;
        let number = [0xff, 0xff, self.rng.bits() as u8];
        let udp = (8 + 12 + rest.len()) as u16;
        let mut f = Vec::new();
        f.extend(&a.mac.to_be_bytes()[2..]);
        f.extend([2, 0, 0, 0, 0, 9, 8, 0, 0x45, 0x10]);
        f.extend((20 + udp).to_be_bytes());
        f.extend([0, 0, 0x40, 0, 64, IP_UDP, 0, 0]);
        f.extend(a.peer.to_be_bytes());
        f.extend(a.own.to_be_bytes());
        f.extend([1, 2]);
        f.extend(UDP_PORT.to_be_bytes());
        f.extend(udp.to_be_bytes());
        f.extend([0, 0, opcode, 0, 0xff, 0xff, 0]);
        f.extend(number);
        f.extend([0x80, 0, 0, 0]);
        f.extend(rest);
        f
    }
}

/// How the next read is answered.
fn spoil(kind: FaultKind) -> Option<Spoil> {
    match kind {
        FaultKind::UnsupportedRequest => Some(Spoil::Status(1)),
        FaultKind::CompleterAbort => Some(Spoil::Status(4)),
        FaultKind::PoisonedCompletion => Some(Spoil::Poisoned),
        FaultKind::ShortCompletion => Some(Spoil::Short),
        FaultKind::LongCompletion => Some(Spoil::Long),
        FaultKind::WrongCount => Some(Spoil::Count),
        FaultKind::RepeatedCompletion => Some(Spoil::Twice),
        FaultKind::LateCompletion => Some(Spoil::Late(LATE)),
        FaultKind::LostCompletion => Some(Spoil::Lost),
        _ => None,
    }
}
