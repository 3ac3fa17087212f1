//! Control registers: holds what the host configures and drives it to the blocks as levels.
//!
//! Twin of `hdl/csr.sv`. Latency 1 clock from a write to its level, throughput 1 write a clock.
//! `docs/host-interface.md` lists the registers, their limits and reset values.
//!
//! Borders: no such index, a bit that no field has, mss 0, 1, 8,192 and 8,193, range 0, a rate of
//! 0, a `cq_base` off its boundary, the first destination that the build lacks: refused whole, one
//! `bad_write` event. A range above PSNS is stored as PSNS.

use derive::Image;
use serde::{Deserialize, Serialize};

use crate::block::Block;
use crate::host_interface::{BANKS, PEER_MASK, REGISTERS, Register, bank_of, index};
use crate::image::{BadBits, Field, Item, Reader, Wide, Writer};
use crate::sizes::Sizes;
use crate::types::Psn;

/// Input ports, without the `_i`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Image)]
pub struct Inputs {
    /// From `doorbell`.
    pub wr_valid: bool,
    /// Offset in the register page ÷ 8.
    #[bits(9)]
    pub wr_index: u16,
    /// The value.
    pub wr_data: u64,
}

/// Output ports, without the `_o`. The levels are those of `docs/host-interface.md`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Image)]
#[allow(missing_docs)]
pub struct Outputs {
    /// The write of the clock before was refused.
    pub bad_write: bool,
    #[bits(14)]
    pub cfg_mss: u16,
    #[bits(11)]
    pub cfg_range: u16,
    pub cfg_initial_psn: Psn,
    #[bits(20)]
    pub cfg_wire_rate: u32,
    #[bits(20)]
    pub cfg_pcie_rate: u32,
    pub cfg_own_ip: u32,
    #[bits(48)]
    pub cfg_own_mac: u64,
    #[bits(48)]
    pub cfg_hop_mac: u64,
    pub cfg_cq_base: u64,
    #[bits(5)]
    pub cfg_cq_log2: u8,
    pub cfg_init_window: u32,
    #[bits(14)]
    pub cfg_unit: u16,
    pub cfg_groups: bool,
    pub cfg_trimming: bool,
    pub cfg_distinct_rtx: bool,
    pub cfg_cqe_on_link: bool,
    #[bits(2)]
    pub cfg_sched: u8,
    #[bits(2)]
    pub cfg_ecn: u8,
    #[bits(6)]
    pub cfg_dscp0: u8,
    #[bits(6)]
    pub cfg_dscp1: u8,
    #[bits(6)]
    pub cfg_dscp2: u8,
    #[bits(6)]
    pub cfg_dscp3: u8,
    #[bits(6)]
    pub cfg_dscp4: u8,
    #[bits(6)]
    pub cfg_dscp5: u8,
    pub cfg_tx_hdr_buf: u32,
    pub cfg_tx_data_buf: u32,
    #[bits(7)]
    pub cfg_data_hdr: u8,
    #[bits(7)]
    pub cfg_wire_overhead: u8,
    #[bits(7)]
    pub cfg_nominal_overhead: u8,
    #[bits(5)]
    pub cfg_charge_less: u8,
    #[bits(5)]
    pub cfg_ack_extra: u8,
    pub cfg_weights: u64,
    pub cfg_rid: u16,
    pub cfg_ttl: u8,
    #[bits(11)]
    pub cfg_loss: u16,
    pub cfg_rx_hdr_buf: u32,
    pub cfg_rx_data_buf: u32,
    pub cfg_far_hdr_buf: u32,
    pub cfg_far_data_buf: u32,
    pub cfg_pcie_overhead: u8,
    #[bits(10)]
    pub cfg_read_request: u16,
    #[bits(2)]
    pub cfg_max_payload: u8,
    pub cfg_icrc: bool,
    pub cfg_stamps: bool,
    /// `InitialAckTimeout` in microseconds, 41 binary places.
    pub cfg_timeout: u64,
    /// `LinearRetryCount`.
    #[bits(3)]
    pub cfg_linear: u8,
    /// `ExponentialRetryCount`.
    #[bits(5)]
    pub cfg_expo: u8,
    /// `FixedRexmitTimeEnable`.
    pub cfg_fixed: bool,
    pub cfg_peer_valid: u64,
    pub cfg_peer_ip: Wide<32>,
    pub cfg_egress_pool: Wide<4>,
    pub cfg_ingress_pool: Wide<4>,
    pub cfg_xoff: Wide<4>,
    pub cfg_xon: Wide<4>,
    pub cfg_quanta: Wide<2>,
    pub cfg_pfc_enable: u8,
    #[bits(24)]
    pub cfg_pfc_delay: u32,
    pub cfg_penalty_low: u32,
    pub cfg_penalty_high: u32,
    pub cfg_ack_hold: bool,
    pub cfg_prefetch: u32,
    pub cfg_prefetch_on: bool,
}

/// Registers: the fields of `regs_t` in the RTL, in the same order.
#[derive(Clone, Debug, PartialEq, Eq, Image, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Regs {
    /// The last write was refused.
    pub bad_write: bool,
    #[bits(14)]
    pub mss: u16,
    #[bits(11)]
    pub range: u16,
    pub initial_psn: Psn,
    #[bits(20)]
    pub wire_rate: u32,
    #[bits(20)]
    pub pcie_rate: u32,
    pub own_ip: u32,
    #[bits(48)]
    pub own_mac: u64,
    #[bits(48)]
    pub hop_mac: u64,
    pub cq_base: u64,
    #[bits(5)]
    pub cq_log2: u8,
    pub init_window: u32,
    #[bits(14)]
    pub unit: u16,
    /// ecn, sched, `cqe_on_link`, `distinct_rtx`, trimming, groups.
    pub flags: u8,
    #[bits(46)]
    pub dscp: u64,
    pub tx_hdr_buf: u32,
    pub tx_data_buf: u32,
    #[bits(37)]
    pub overheads: u64,
    pub rid: u16,
    pub ttl: u8,
    pub weights: u64,
    #[bits(11)]
    pub loss: u16,
    pub rx_hdr_buf: u32,
    pub rx_data_buf: u32,
    pub far_hdr_buf: u32,
    pub far_data_buf: u32,
    #[bits(26)]
    pub pcie_costs: u32,
    #[bits(2)]
    pub max_payload: u8,
    pub icrc: bool,
    pub stamps: bool,
    /// `InitialAckTimeout`.
    pub ack_timeout: u64,
    /// fixed, expo, linear.
    #[bits(17)]
    pub retry: u32,
    pub peer_valid: u64,
    pub peer_ip: Wide<32>,
    /// Of eight classes, class 0 lowest.
    pub egress_pool: Wide<4>,
    pub ingress_pool: Wide<4>,
    pub xoff: Wide<4>,
    pub xon: Wide<4>,
    pub quanta: Wide<2>,
    /// delay, enable.
    pub pfc: u32,
    /// high, low.
    pub penalty: u64,
    pub ack_hold: bool,
    /// on, bytes.
    #[bits(33)]
    pub prefetch: u64,
    /// What the build can hold.
    pub build: Build,
}

/// What the build can hold: no register, and no bits of the image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Build {
    psns: u16,
    dests: u16,
}

impl Item for Build {
    fn layout(&self, _: &str, _: u32, _: &mut Vec<Field>) {}
    fn write(&self, _: &mut Writer<'_>) {}
    fn read(&mut self, _: u32, _: &mut Reader<'_>) -> Result<(), BadBits> {
        Ok(())
    }
}

impl Block for Regs {
    type Inputs = Inputs;
    type Outputs = Outputs;

    fn reset(sizes: &Sizes) -> Self {
        let of = |at: u16| register(at).expect("a register").reset();
        Self {
            bad_write: false,
            mss: of(index::MSS) as u16,
            range: (of(index::RANGE) as u16).min(sizes.psns as u16),
            initial_psn: Psn::new(of(index::INITIAL_PSN) as u32),
            wire_rate: of(index::WIRE_RATE) as u32,
            pcie_rate: of(index::PCIE_RATE) as u32,
            own_ip: of(index::OWN_IP) as u32,
            own_mac: of(index::OWN_MAC),
            hop_mac: of(index::HOP_MAC),
            cq_base: of(index::CQ_BASE),
            cq_log2: of(index::CQ_LOG2) as u8,
            init_window: of(index::INIT_WINDOW) as u32,
            unit: of(index::UNIT) as u16,
            flags: of(index::FLAGS) as u8,
            dscp: of(index::DSCP),
            tx_hdr_buf: of(index::TX_HDR_BUF) as u32,
            tx_data_buf: of(index::TX_DATA_BUF) as u32,
            overheads: of(index::OVERHEADS),
            rid: of(index::RID) as u16,
            ttl: of(index::TTL) as u8,
            weights: of(index::WEIGHTS),
            loss: of(index::LOSS) as u16,
            rx_hdr_buf: of(index::RX_HDR_BUF) as u32,
            rx_data_buf: of(index::RX_DATA_BUF) as u32,
            far_hdr_buf: of(index::FAR_HDR_BUF) as u32,
            far_data_buf: of(index::FAR_DATA_BUF) as u32,
            pcie_costs: of(index::PCIE_COSTS) as u32,
            max_payload: of(index::MAX_PAYLOAD) as u8,
            icrc: of(index::TRAILER) != 0,
            stamps: of(index::STAMPS) != 0,
            ack_timeout: of(index::ACK_TIMEOUT),
            retry: of(index::RETRY) as u32,
            peer_valid: 0,
            peer_ip: Wide::ZERO,
            egress_pool: BANKS[0].level(),
            ingress_pool: BANKS[1].level(),
            xoff: BANKS[2].level(),
            xon: BANKS[3].level(),
            quanta: BANKS[4].level(),
            pfc: of(index::PFC) as u32,
            penalty: of(index::PENALTY),
            ack_hold: of(index::ACK_HOLD) != 0,
            prefetch: of(index::PREFETCH),
            build: Build { psns: sizes.psns as u16, dests: sizes.dests as u16 },
        }
    }

    fn drive(&self, o: &mut Outputs) {
        o.bad_write = self.bad_write;
        o.cfg_mss = self.mss;
        o.cfg_range = self.range;
        o.cfg_initial_psn = self.initial_psn;
        o.cfg_wire_rate = self.wire_rate;
        o.cfg_pcie_rate = self.pcie_rate;
        o.cfg_own_ip = self.own_ip;
        o.cfg_own_mac = self.own_mac;
        o.cfg_hop_mac = self.hop_mac;
        o.cfg_cq_base = self.cq_base;
        o.cfg_cq_log2 = self.cq_log2;
        o.cfg_init_window = self.init_window;
        o.cfg_unit = self.unit;
        o.cfg_groups = self.flags & 1 != 0;
        o.cfg_trimming = self.flags & 2 != 0;
        o.cfg_distinct_rtx = self.flags & 4 != 0;
        o.cfg_cqe_on_link = self.flags & 8 != 0;
        o.cfg_sched = self.flags >> 4 & 3;
        o.cfg_ecn = self.flags >> 6;
        let dscp = |n: u32| (self.dscp >> (8 * n)) as u8 & 0x3f;
        o.cfg_dscp0 = dscp(0);
        o.cfg_dscp1 = dscp(1);
        o.cfg_dscp2 = dscp(2);
        o.cfg_dscp3 = dscp(3);
        o.cfg_dscp4 = dscp(4);
        o.cfg_dscp5 = dscp(5);
        o.cfg_tx_hdr_buf = self.tx_hdr_buf;
        o.cfg_tx_data_buf = self.tx_data_buf;
        let [data_hdr, wire, nominal, charge_less, ack_extra, ..] = self.overheads.to_le_bytes();
        o.cfg_data_hdr = data_hdr;
        o.cfg_wire_overhead = wire;
        o.cfg_nominal_overhead = nominal;
        o.cfg_charge_less = charge_less;
        o.cfg_ack_extra = ack_extra;
        o.cfg_weights = self.weights;
        o.cfg_rid = self.rid;
        o.cfg_ttl = self.ttl;
        o.cfg_loss = self.loss;
        o.cfg_rx_hdr_buf = self.rx_hdr_buf;
        o.cfg_rx_data_buf = self.rx_data_buf;
        o.cfg_far_hdr_buf = self.far_hdr_buf;
        o.cfg_far_data_buf = self.far_data_buf;
        o.cfg_pcie_overhead = self.pcie_costs as u8;
        o.cfg_read_request = (self.pcie_costs >> 16) as u16;
        o.cfg_max_payload = self.max_payload;
        o.cfg_icrc = self.icrc;
        o.cfg_stamps = self.stamps;
        o.cfg_timeout = self.ack_timeout;
        o.cfg_linear = self.retry as u8 & 7;
        o.cfg_expo = (self.retry >> 8) as u8 & 31;
        o.cfg_fixed = self.retry >> 16 == 1;
        o.cfg_peer_valid = self.peer_valid;
        o.cfg_peer_ip = self.peer_ip;
        o.cfg_egress_pool = self.egress_pool;
        o.cfg_ingress_pool = self.ingress_pool;
        o.cfg_xoff = self.xoff;
        o.cfg_xon = self.xon;
        o.cfg_quanta = self.quanta;
        o.cfg_pfc_enable = self.pfc as u8;
        o.cfg_pfc_delay = self.pfc >> 8;
        o.cfg_penalty_low = self.penalty as u32;
        o.cfg_penalty_high = (self.penalty >> 32) as u32;
        o.cfg_ack_hold = self.ack_hold;
        o.cfg_prefetch = self.prefetch as u32;
        o.cfg_prefetch_on = self.prefetch >> 32 != 0;
    }

    fn clock(&mut self, i: &Inputs, _o: &Outputs) {
        self.bad_write = i.wr_valid && !self.takes(i.wr_index, i.wr_data);
        if i.wr_valid && !self.bad_write {
            self.store(i.wr_index, i.wr_data);
        }
    }

    fn idle(&self, i: &Inputs) -> bool {
        !i.wr_valid && !self.bad_write
    }
}

/// The register at an index, the destinations' left out.
fn register(at: u16) -> Option<&'static Register> {
    REGISTERS.binary_search_by_key(&at, |r| r.index).ok().map(|n| &REGISTERS[n])
}

/// Sets the `n`-th of the entries of `width` bits, 16 or 32, that a level is made of.
fn put(level: &mut [u64], width: usize, n: usize, value: u64) {
    let (word, shift) = (width * n / 64, width * n % 64);
    let mask = (1 << width) - 1;
    level[word] = level[word] & !(mask << shift) | (value & mask) << shift;
}

impl Regs {
    fn takes(&self, at: u16, value: u64) -> bool {
        if (index::PEER..index::PEER + self.build.dests).contains(&at) {
            value & !PEER_MASK == 0
        } else if let Some((bank, _)) = bank_of(at) {
            bank.takes(value)
        } else {
            register(at).is_some_and(|r| r.takes(value))
        }
    }

    fn store(&mut self, at: u16, value: u64) {
        if let Some((bank, class)) = bank_of(at) {
            return self.store_class(bank.first, class, value);
        }
        match at {
            index::MSS => self.mss = value as u16,
            index::RANGE => self.range = (value as u16).min(self.build.psns),
            index::INITIAL_PSN => self.initial_psn = Psn::new(value as u32),
            index::WIRE_RATE => self.wire_rate = value as u32,
            index::PCIE_RATE => self.pcie_rate = value as u32,
            index::OWN_IP => self.own_ip = value as u32,
            index::OWN_MAC => self.own_mac = value,
            index::HOP_MAC => self.hop_mac = value,
            index::CQ_BASE => self.cq_base = value,
            index::CQ_LOG2 => self.cq_log2 = value as u8,
            index::INIT_WINDOW => self.init_window = value as u32,
            index::UNIT => self.unit = value as u16,
            index::FLAGS => self.flags = value as u8,
            index::DSCP => self.dscp = value,
            index::TX_HDR_BUF => self.tx_hdr_buf = value as u32,
            index::TX_DATA_BUF => self.tx_data_buf = value as u32,
            index::OVERHEADS => self.overheads = value,
            index::RID => self.rid = value as u16,
            index::TTL => self.ttl = value as u8,
            index::WEIGHTS => self.weights = value,
            index::PFC => self.pfc = value as u32,
            index::PENALTY => self.penalty = value,
            index::ACK_HOLD => self.ack_hold = value != 0,
            index::PREFETCH => self.prefetch = value,
            index::LOSS => self.loss = value as u16,
            index::RX_HDR_BUF => self.rx_hdr_buf = value as u32,
            index::RX_DATA_BUF => self.rx_data_buf = value as u32,
            index::FAR_HDR_BUF => self.far_hdr_buf = value as u32,
            index::FAR_DATA_BUF => self.far_data_buf = value as u32,
            index::PCIE_COSTS => self.pcie_costs = value as u32,
            index::MAX_PAYLOAD => self.max_payload = value as u8,
            index::TRAILER => self.icrc = value != 0,
            index::STAMPS => self.stamps = value != 0,
            index::ACK_TIMEOUT => self.ack_timeout = value,
            index::RETRY => self.retry = value as u32,
            _ => self.store_peer(u32::from(at - index::PEER), value),
        }
    }

    fn store_class(&mut self, bank: u16, class: usize, value: u64) {
        let level: &mut [u64] = match bank {
            index::EGRESS_POOL => &mut self.egress_pool.0,
            index::INGRESS_POOL => &mut self.ingress_pool.0,
            index::XOFF => &mut self.xoff.0,
            index::XON => &mut self.xon.0,
            _ => &mut self.quanta.0,
        };
        put(level, if bank == index::QUANTA { 16 } else { 32 }, class, value);
    }

    fn store_peer(&mut self, dest: u32, value: u64) {
        put(&mut self.peer_ip.0, 32, dest as usize, value);
        self.peer_valid = self.peer_valid & !(1 << dest) | (value >> 32) << dest;
    }
}
