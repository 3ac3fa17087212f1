//! `mrc-monitor`: a row for each packet that a NIC sends or gets.

use std::collections::BTreeMap;
use std::path::Path;

use rtl_model::fcs;

use super::origin::Origins;
use super::table::{Cell, Column, Format, Table};
use crate::event::Event;
use crate::record::RecordError;
use crate::switch::frame::{self, Kind, Seen};

/// Codepoints by their default numbers (PKT-3).
const ROLES: [(u8, &str); 6] = [
    (0, "no trim"),
    (4, "trimmable"),
    (8, "trimmable retransmission"),
    (46, "control"),
    (12, "trimmed"),
    (16, "trimmed on the last hop"),
];

/// The record of every NIC.
pub struct Monitor {
    table: Table,
    /// How often a packet has been sent: NIC, message, PSN.
    sent: BTreeMap<(usize, u32, u32), u64>,
    /// Packets that wait to leave, by NIC.
    origins: Vec<Origins>,
}

impl Monitor {
    /// An empty record.
    ///
    /// # Errors
    /// When a file cannot be made.
    pub fn new(folder: &Path, format: Format) -> Result<Self, RecordError> {
        let columns = [
            Column::count("time_ns", "end of serialisation, or arrival"),
            Column::text("nic", "NIC"),
            Column::text("direction", "tx or rx"),
            Column::text(
                "packet_type",
                "data, retransmission, trimmed, ACK, SACK, NACK, probe, pause, other",
            ),
            Column::count("qpn", "BTH's QP"),
            Column::count("bth_psn", "BTH's PSN"),
            Column::count("ar_bit", "ACK-request flag"),
            Column::text("dscp", "role of the codepoint"),
            Column::count("entropy", "UDP source port"),
            Column::count("message", "of a data packet, in the order of the posts"),
            Column::count("bytes", "Ethernet header and FCS included"),
            Column::count("tx_count", "of a data packet sent: transmissions, this one included"),
            Column::text(
                "rtx_origin",
                "of a retransmission sent: sack_gap, nack_ and its code, timeout, completion",
            ),
            Column::count("sack_psn", "of a SACK received: the PSN that drew it"),
            Column::text("sack_list", "of a SACK received: the PSNs that its bitmap lists"),
            Column::text("nack_code", "of a NACK received"),
        ];
        let row = "each packet that a NIC with EnableMonitor sends, or that arrives there whole";
        let table = Table::new(folder, "mrc-monitor", row, &columns, format)?;
        Ok(Self { table, sent: BTreeMap::new(), origins: Vec::new() })
    }

    /// Takes an event of a NIC that is monitored.
    pub fn event(&mut self, time_ns: u64, nic: (usize, &str), event: &Event) {
        if self.origins.len() <= nic.0 {
            self.origins.resize_with(nic.0 + 1, Origins::default);
        }
        match event {
            Event::Made(made) => self.origins[nic.0].made(*made),
            Event::Queued { qp, psn, cause } => self.origins[nic.0].queued(*qp, *psn, *cause),
            Event::Sent { bytes, .. } => self.sent(time_ns, nic, bytes),
            Event::Arrived { bytes, .. } => self.arrived(time_ns, nic.1, bytes),
            _ => {}
        }
    }

    /// A frame that has gone: its kind and numbers are those of the blocks that have made it.
    fn sent(&mut self, time_ns: u64, nic: (usize, &str), bytes: &[u8]) {
        let seen = Seen::of(bytes);
        let (made, cause) = self.origins[nic.0].leaves(seen.kind).unzip();
        let count = made.zip(seen.message).map(|(made, message)| {
            let count = self.sent.entry((nic.0, message, made.psn)).or_default();
            *count += 1;
            *count
        });
        let kind = made.map_or(seen.kind, |made| made.kind).name();
        let numbers = made.map_or([Cell::Empty, Cell::Empty, Cell::Empty], |made| {
            [made.qpn.into(), made.psn.into(), made.ack_request.into()]
        });
        let last = [count.into(), cause.flatten().into(), Cell::Empty, Cell::Empty, Cell::Empty];
        self.row((time_ns, nic.1, "tx"), (kind, numbers), bytes, last);
    }

    /// A frame that has arrived, by its bytes; one with a bad FCS has no row.
    fn arrived(&mut self, time_ns: u64, nic: &str, bytes: &[u8]) {
        if fcs::after(fcs::INIT, bytes) != fcs::RESIDUE {
            return;
        }
        let seen = Seen::of(bytes);
        let trimmed = seen.kind.is_data() && frame::queue(bytes) == 1;
        let kind = if trimmed { "trimmed" } else { seen.kind.name() };
        let numbers = if transport(bytes) {
            [number(bytes, 47, 3).into(), seen.psn.into(), (number(bytes, 50, 1) >> 7).into()]
        } else {
            [Cell::Empty, Cell::Empty, Cell::Empty]
        };
        let (mut drew, mut listed, mut code) = (Cell::Empty, Cell::Empty, Cell::Empty);
        match seen.kind {
            Kind::Sack if bytes.len() >= 90 => {
                let (psn, psns) = sack(bytes);
                // An answer to a probe has its id there.
                drew = if bytes[55] & 2 == 0 { psn.into() } else { Cell::Empty };
                listed = psns.iter().map(u32::to_string).collect::<Vec<_>>().join(" ").into();
            }
            Kind::Nack if bytes.len() >= 74 => code = nack(bytes).into(),
            _ => {}
        }
        let last = [Cell::Empty, Cell::Empty, drew, listed, code];
        self.row((time_ns, nic, "rx"), (kind, numbers), bytes, last);
    }

    fn row(
        &mut self,
        (time_ns, nic, direction): (u64, &str, &str),
        (kind, numbers): (&str, [Cell; 3]),
        bytes: &[u8],
        last: [Cell; 5],
    ) {
        let when = |cell: Cell| if transport(bytes) { cell } else { Cell::Empty };
        let message = Seen::of(bytes).message.filter(|_| kind != "trimmed");
        let mut cells = vec![time_ns.into(), nic.into(), direction.into(), kind.into()];
        cells.extend(numbers);
        cells.extend([
            when(role(frame::dscp(bytes)).into()),
            when(number(bytes, 34, 2).into()),
            message.into(),
            Cell::Count(bytes.len() as u64),
        ]);
        cells.extend(last);
        self.table.row(&cells);
    }

    /// Writes what is left.
    ///
    /// # Errors
    /// When a write has failed.
    pub fn finish(self) -> Result<(), RecordError> {
        self.table.finish()
    }
}

/// True of a frame with a BTH.
fn transport(bytes: &[u8]) -> bool {
    !matches!(Kind::of(bytes), Kind::Pause | Kind::Other) && bytes.len() >= 58
}

/// Big-endian; 0 past the end.
fn number(bytes: &[u8], at: usize, len: usize) -> u64 {
    let bytes = bytes.get(at..at + len).unwrap_or_default();
    bytes.iter().fold(0, |n, b| n << 8 | u64::from(*b))
}

fn role(dscp: u8) -> String {
    let known = ROLES.iter().find(|r| r.0 == dscp);
    known.map_or_else(|| dscp.to_string(), |r| r.1.to_owned())
}

/// The PSN that drew a SACK, and those that it lists (section 12).
fn sack(frame: &[u8]) -> (u32, Vec<u32>) {
    let cum = u32::from_be_bytes([0, frame[67], frame[68], frame[69]]);
    let signed = |at: usize| i32::from(i16::from_be_bytes([frame[at], frame[at + 1]]));
    let psn = |ahead: i32| cum.wrapping_add_signed(ahead) & 0xff_ffff;
    let bits = u64::from_be_bytes(frame[74..82].try_into().expect("eight bytes"));
    let base = signed(72);
    let listed = (0..64).filter(|n| bits >> n & 1 == 1).map(|n| psn(base + n));
    (psn(signed(56)), listed.collect())
}

/// The code of a NACK (NAK-1).
fn nack(frame: &[u8]) -> String {
    match frame[56] {
        1 => "TRIMMED".into(),
        2 => "TRIMMED_LASTHOP".into(),
        0x0b => "PSN_OOR_WINDOW".into(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rtl_model::header::{Base, CcState, Header, Seth};
    use rtl_model::types::Psn;

    /// Section 12: bit i, least significant first, is PSN cum + offset + i, modulo 2^24.
    #[test]
    fn a_sack_is_read_as_it_is_built() {
        let seth = Seth {
            cum: Psn(0xff_fffe),
            psn_offset: 5,
            sack_offset: 2,
            bitmap: 1 | 1 << 63,
            ..Seth::default()
        };
        let mut header = Header::default();
        let base = Base { opcode: 0xdc, len: 94, ..Base::default() };
        header.put(&base.bytes()).put(&seth.bytes()).put(&CcState::default().bytes());
        assert_eq!(sack(header.bytes()), (3, vec![0, 63]));
    }
}
