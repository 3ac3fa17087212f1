//! The buffers of a NIC (section 14): pools, disciplines, PFC and the receiver penalty, from the
//! scenario's attributes to the numbers that the registers take.
//!
//! Fractions are exact decimals. A byte count is compared with a product of fractions: "fits" and
//! "at or below" by the product rounded down, "at or above" by the product rounded up.

use rtl_model::header::TSETH_BYTES;
use rtl_model::host_interface::{BANKS, CLASSES, index};
use serde::{Deserialize, Serialize};
use toml::Spanned;

use crate::scenario::{Buffer, Nic, Profile, ScenarioError, share};
use crate::settings::{Check, INGRESS_SPARE_WORDS, pick};
use crate::units::Decimal;

/// The largest control frame: a SACK (SACK-1).
pub(crate) const SACK_WIRE: u64 = 94;

/// No data packet charges more: 8,192 B of payload (SEG-1), and the most that is around them.
const LARGEST: u64 = 8_192 + 114;

/// Bytes of a prefetch buffer unless given (BUF-5).
pub const PREFETCH: u64 = 262_144;

/// What a profile sets (section 0).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overheads {
    /// Bytes of headers before a payload (PKT-1).
    pub data_header: u64,
    /// Bytes of headers and FCS around a payload.
    pub wire: u64,
    /// Nominal bytes around a payload (SEG-3).
    pub nominal: u64,
    /// Bytes of a frame that the ingress pool does not charge.
    pub charge_less: u64,
    /// Zero bytes after AETH.
    pub ack_extra: u64,
    /// ACKs and SACKs wait for the PCIe backlog (BUF-7).
    pub ack_hold: bool,
    /// `MaxCongestionWindow` unless given (CC-1).
    pub window: u64,
}

impl Overheads {
    /// With a time stamp in each data packet (RTT-1).
    #[must_use]
    pub fn stamped(self) -> Self {
        let more = u64::from(TSETH_BYTES);
        let (data_header, wire) = (self.data_header + more, self.wire + more);
        Self { data_header, wire, nominal: self.nominal + more, ..self }
    }
}

impl Profile {
    /// What it sets.
    pub fn overheads(self) -> Overheads {
        let mrc = Overheads {
            data_header: 74,
            wire: 78,
            nominal: 60,
            charge_less: 0,
            ack_extra: 0,
            ack_hold: false,
            window: 108,
        };
        match self {
            Self::Mrc => mrc,
            Self::Uet => Overheads {
                data_header: mrc.data_header + 28,
                wire: mrc.wire + 28,
                nominal: mrc.nominal + 28,
                charge_less: 18,
                ack_extra: 16,
                ack_hold: true,
                window: 107,
            },
        }
    }
}

/// Everything about a NIC's two buffers, by class.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Buffers {
    /// Egress pools, bytes.
    pub egress: [u64; CLASSES],
    /// Ingress pools, bytes.
    pub ingress: [u64; CLASSES],
    /// Bytes of the prefetch buffer, where there is one (BUF-5).
    pub prefetch: Option<u64>,
    /// Egress discipline, as in the register.
    pub sched: u64,
    /// Packets in a turn (ARB-2).
    pub weights: [u64; CLASSES],
    /// Occupancy from which a pause goes (PFC-1).
    pub xoff: [u64; CLASSES],
    /// Occupancy up to which an XON goes (PFC-3).
    pub xon: [u64; CLASSES],
    /// Time that a pause asks for, in 512 bit times.
    pub quanta: [u64; CLASSES],
    /// Classes that send pauses.
    pub pfc_enable: u64,
    /// Occupancy of the data class from which the penalty starts, and from which it is whole (BUF-6).
    pub penalty: (u64, u64),
}

impl Buffers {
    /// Their register writes.
    pub fn registers(&self) -> Vec<(u16, u64)> {
        let banks = [self.egress, self.ingress, self.xoff, self.xon, self.quanta];
        let of_bank = |(bank, values): (&rtl_model::host_interface::Bank, [u64; CLASSES])| {
            (bank.first..).zip(values).collect::<Vec<_>>()
        };
        let mut writes: Vec<_> = BANKS.iter().zip(banks).flat_map(of_bank).collect();
        let weights = self.weights.iter().rev().fold(0, |all, weight| all << 8 | weight);
        writes.push((index::WEIGHTS, weights));
        writes.push((index::PENALTY, self.penalty.0 | self.penalty.1 << 32));
        writes.extend(self.prefetch.map(|size| (index::PREFETCH, size | 1 << 32)));
        writes
    }
}

/// A share of a buffer, not rounded: `digits ÷ 10^places` bytes.
#[derive(Clone, Copy)]
struct Exact {
    digits: u128,
    places: u32,
}

impl Exact {
    fn new(bytes: u64) -> Self {
        Self { digits: u128::from(bytes), places: 0 }
    }

    /// This times a decimal, where 128 bits hold it.
    fn times(self, by: Decimal) -> Option<Self> {
        let mut out = Self {
            digits: self.digits.checked_mul(u128::from(by.digits))?,
            places: self.places + by.places,
        };
        while out.places > 0 && out.digits.is_multiple_of(10) {
            out = Self { digits: out.digits / 10, places: out.places - 1 };
        }
        Some(out)
    }

    fn floor(self) -> u128 {
        self.digits / 10_u128.pow(self.places)
    }

    fn ceil(self) -> u128 {
        self.digits.div_ceil(10_u128.pow(self.places))
    }
}

/// An attribute that a class may leave out, and the rule behind it.
#[derive(Clone, Copy)]
struct Key(&'static str, &'static str);

impl Check<'_> {
    /// All of it, checked. A full packet and a SACK, the largest control frame, have these bytes;
    /// the ingress pools charge `charge_less` fewer for each.
    pub(crate) fn buffers(
        &self,
        at: &Spanned<Nic>,
        d: &Nic,
        [full, sack]: [u64; 2],
        charge_less: u64,
    ) -> Result<Buffers, ScenarioError> {
        let n = at.get_ref();
        let (out, d_out) = (&n.egress_buffer_manager, &d.egress_buffer_manager);
        let (inn, d_in) = (&n.ingress_buffer_manager, &d.ingress_buffer_manager);
        self.no_pfc_in_egress(out)?;
        self.no_pfc_in_egress(d_out)?;
        let memory = u64::from(self.sizes.ingress_words) * 64;
        let egress = self.pools(out, d_out, 256_000)?;
        let ingress = self.pools(inn, d_in, memory.min(4_000_000) / 10 * 10)?;
        let xoff = pick!(inn, d_in, pfc_static_xoff_threshold);
        let xoff = self.fractions(Key("PfcStaticXoffThreshold", "PFC-1"), xoff, "0.8")?;
        let xon = pick!(inn, d_in, pfc_xon_resume_threshold);
        let xon = self.fractions(Key("PfcXonResumeThreshold", "PFC-3"), xon, "0.4")?;
        let [low, high] = self.penalty(n, d)?;
        let bytes = |pools: [Exact; CLASSES]| pools.map(|pool| pool.floor() as u64);
        let part = |pool: Exact, by: Decimal| {
            pool.times(by).filter(|p| p.ceil() <= u128::from(u32::MAX)).ok_or_else(|| {
                let what = "a threshold has too many digits, or is more than 2^32 - 1 B";
                self.source.error(0..0, "IngressBufferManager", what, Some("PFC-1"))
            })
        };
        let mut buffers = Buffers {
            egress: bytes(egress),
            ingress: bytes(ingress),
            prefetch: self.prefetch(n, d, full)?,
            sched: pick!(out, d_out, queue_scheduling_type)
                .map_or(0, |kind| *kind.get_ref() as u64),
            weights: self.weights(pick!(out, d_out, wrr_queue_weights), &bytes(egress))?,
            xoff: [0; CLASSES],
            xon: [0; CLASSES],
            quanta: self.numbers(
                Key("QuantaValue", "PFC-1"),
                pick!(inn, d_in, quanta_value),
                [65_535; CLASSES],
                65_535,
            )?,
            pfc_enable: 0,
            penalty: (part(ingress[0], low)?.ceil() as u64, part(ingress[0], high)?.ceil() as u64),
        };
        for class in 0..CLASSES {
            buffers.xoff[class] = part(ingress[class], xoff[class])?.ceil() as u64;
            buffers.xon[class] = part(ingress[class], xon[class])?.floor() as u64;
        }
        buffers.pfc_enable = self.pfc(pick!(inn, d_in, pfc_enable_vector), &buffers)?;
        self.reachable(pick!(inn, d_in, pfc_static_xoff_threshold), &buffers, sack)?;
        self.fits(at, &buffers, [full, sack])?;
        self.admits(at, &buffers, [full - charge_less, sack - charge_less])?;
        Ok(buffers)
    }

    /// Configurations that would stop for ever, or that the memories cannot hold (BUF-2).
    fn fits(
        &self,
        at: &Spanned<Nic>,
        b: &Buffers,
        [full, sack]: [u64; 2],
    ) -> Result<(), ScenarioError> {
        let memory = u64::from(self.sizes.ingress_words) * 64;
        let (out, inn) = ("EgressBufferManager", "IngressBufferManager");
        let refused = if b.egress[0] < full {
            Some((out, format!("data pool of {} B < {full} B", b.egress[0])))
        } else if b.egress[1] < sack {
            Some((out, format!("control pool of {} B < {sack} B, a SACK", b.egress[1])))
        } else if b.ingress[0] > memory {
            let room = memory - INGRESS_SPARE_WORDS * 64;
            Some((inn, format!("data pool of {} B > {room} B of memory", b.ingress[0])))
        } else {
            None
        };
        refused.map_or(Ok(()), |(key, what)| Err(self.error(at, key, what, "BUF-2")))
    }

    /// Ingress pools that would drop every full packet, or every SACK (RX-2).
    fn admits(
        &self,
        at: &Spanned<Nic>,
        b: &Buffers,
        [full, sack]: [u64; 2],
    ) -> Result<(), ScenarioError> {
        let pools = [("data", full, "a full packet"), ("control", sack, "a SACK")];
        let short = pools.into_iter().zip(b.ingress).find(|((_, needs, _), pool)| pool < needs);
        short.map_or(Ok(()), |((name, needs, what), pool)| {
            let what = format!("{name} pool of {pool} B < {needs} B, {what}: it takes none");
            Err(self.error(at, "IngressBufferManager", what, "RX-2"))
        })
    }

    /// BUF-5: the prefetch buffer, with room for a full packet.
    fn prefetch(&self, n: &Nic, d: &Nic, full: u64) -> Result<Option<u64>, ScenarioError> {
        let key = "PrefetchBufferSize";
        let on = pick!(n, d, prefetch_buffer_enable).copied().unwrap_or(false);
        if let Some(size) = n.prefetch_buffer_size.as_ref().filter(|_| !on) {
            let what = "changes nothing without PrefetchBufferEnable";
            return Err(self.error(size, key, what, "BUF-5"));
        }
        let size = pick!(n, d, prefetch_buffer_size);
        let bytes = self.size(key, size, PREFETCH, 1..=1 << 30, "BUF-5")?;
        if on && bytes < full {
            let span = size.map_or(0..0, Spanned::span);
            let what = format!("{bytes} B < {full} B, a full packet: nothing would be fetched");
            return Err(self.source.error(span, key, what, Some("BUF-5")));
        }
        Ok(on.then_some(bytes))
    }

    fn no_pfc_in_egress(&self, buffer: &Buffer) -> Result<(), ScenarioError> {
        let spans = [
            (
                "PfcStaticXoffThreshold",
                buffer.pfc_static_xoff_threshold.as_ref().map(Spanned::span),
            ),
            ("PfcXonResumeThreshold", buffer.pfc_xon_resume_threshold.as_ref().map(Spanned::span)),
            ("PFCEnableVector", buffer.pfc_enable_vector.as_ref().map(Spanned::span)),
            ("QuantaValue", buffer.quanta_value.as_ref().map(Spanned::span)),
        ];
        let first = spans.into_iter().find_map(|(key, span)| Some((key, span?)));
        first.map_or(Ok(()), |(key, span)| {
            let what = "pauses are sent by the ingress buffer's pools";
            Err(self.source.error(span, key, what, Some("PFC-1")))
        })
    }

    /// The pools of all classes (BUF-1).
    fn pools(
        &self,
        nic: &Buffer,
        defaults: &Buffer,
        total: u64,
    ) -> Result<[Exact; CLASSES], ScenarioError> {
        let size = pick!(nic, defaults, total_buffer_size);
        let total = self.size("TotalBufferSize", size, total, 1..=1 << 30, "BUF-1")?;
        let key = "PoolAllocationVector";
        let vector = pick!(nic, defaults, pool_allocation_vector);
        let tenths = |digits| Decimal { digits, places: 1 };
        let shares = match vector {
            None => vec![tenths(9), tenths(1)],
            Some(v) => {
                let shares = v.get_ref().iter().map(share).collect::<Result<_, _>>();
                shares.map_err(|e| self.error(v, key, e, "BUF-1"))?
            }
        };
        let wrong = |what: &str| {
            let span = vector.map_or(0..0, Spanned::span);
            Err(self.source.error(span, key, what, Some("BUF-1")))
        };
        let used = shares.iter().take_while(|s| s.digits > 0).count();
        if shares.len() > CLASSES || used < 2 || shares[used..].iter().any(|s| s.digits > 0) {
            return wrong("give at most 8 shares: at least classes 0 and 1, no 0 between them");
        }
        if shares.iter().any(|s| u128::from(s.digits) > 10_u128.pow(s.places)) {
            return wrong("a share is more than 1: the pool would be larger than the buffer");
        }
        let mut pools = [Exact::new(0); CLASSES];
        for (pool, share) in pools.iter_mut().zip(shares) {
            let exact = Exact::new(total).times(share);
            match exact.filter(|p| p.floor() <= u128::from(u32::MAX)) {
                Some(exact) => *pool = exact,
                None => return wrong("a share has too many digits, or is more than 2^32 - 1 B"),
            }
        }
        Ok(pools)
    }

    /// One decimal a class; those left out have the default.
    fn fractions(
        &self,
        key: Key,
        vector: Option<&Spanned<Vec<toml::Value>>>,
        default: &str,
    ) -> Result<[Decimal; CLASSES], ScenarioError> {
        let default = Decimal::parse(default).expect("a decimal");
        let mut out = [default; CLASSES];
        let Some(vector) = vector else { return Ok(out) };
        if vector.get_ref().len() > CLASSES {
            return Err(self.error(vector, key.0, "there are 8 classes", key.1));
        }
        for (out, value) in out.iter_mut().zip(vector.get_ref()) {
            *out = share(value).map_err(|e| self.error(vector, key.0, e, key.1))?;
        }
        Ok(out)
    }

    /// One whole number a class, up to `most`; those left out have the default.
    fn numbers(
        &self,
        key: Key,
        vector: Option<&Spanned<Vec<u64>>>,
        mut out: [u64; CLASSES],
        most: u64,
    ) -> Result<[u64; CLASSES], ScenarioError> {
        let Some(vector) = vector else { return Ok(out) };
        if vector.get_ref().len() > CLASSES {
            return Err(self.error(vector, key.0, "there are 8 classes", key.1));
        }
        for (out, value) in out.iter_mut().zip(vector.get_ref()) {
            if *value > most {
                let what = format!("{value} is not from 0 to {most}");
                return Err(self.error(vector, key.0, what, key.1));
            }
            *out = *value;
        }
        Ok(out)
    }

    /// At least 1 for every class with an egress pool (ARB-2).
    fn weights(
        &self,
        vector: Option<&Spanned<Vec<u64>>>,
        egress: &[u64; CLASSES],
    ) -> Result<[u64; CLASSES], ScenarioError> {
        let key = Key("WRRQueueWeights", "ARB-2");
        let weights = self.numbers(key, vector, [1, 5, 0, 0, 0, 0, 0, 0], 255)?;
        let starved = (0..2).chain((2..CLASSES).filter(|c| vector.is_some() && egress[*c] > 0));
        for class in starved {
            if weights[class] == 0 {
                let span = vector.map_or(0..0, Spanned::span);
                let what = format!("class {class} has a pool and needs a weight of at least 1");
                return Err(self.source.error(span, key.0, what, Some(key.1)));
            }
        }
        Ok(weights)
    }

    /// The classes that send pauses (PFC-1).
    fn pfc(
        &self,
        vector: Option<&Spanned<Vec<u64>>>,
        buffers: &Buffers,
    ) -> Result<u64, ScenarioError> {
        let key = Key("PFCEnableVector", "PFC-1");
        let enabled = self.numbers(key, vector, [0; CLASSES], 1)?;
        let span = vector.map_or(0..0, Spanned::span);
        for (class, _) in enabled.iter().enumerate().filter(|(_, on)| **on == 1) {
            if buffers.ingress[class] == 0 {
                let what = format!("class {class} has no ingress pool");
                return Err(self.source.error(span, key.0, what, Some(key.1)));
            }
            if buffers.quanta[class] == 0 {
                let what = format!("is 0 for class {class}, which sends pauses");
                return Err(self.source.error(span, "QuantaValue", what, Some(key.1)));
            }
        }
        Ok(enabled.iter().rev().fold(0, |mask, on| mask << 1 | on))
    }

    /// A threshold that an enabled class can reach. One above its pool is reached by a packet that
    /// does not fit, and no packet is larger than `LARGEST`, no control frame than a SACK (PFC-1).
    fn reachable(
        &self,
        vector: Option<&Spanned<Vec<toml::Value>>>,
        b: &Buffers,
        sack: u64,
    ) -> Result<(), ScenarioError> {
        let most = |class: usize| b.ingress[class] + if class == 1 { sack } else { LARGEST };
        let enabled = |class: &usize| b.pfc_enable >> class & 1 == 1;
        let beyond = (0..CLASSES).filter(enabled).find(|class| b.xoff[*class] > most(*class));
        beyond.map_or(Ok(()), |class| {
            let span = vector.map_or(0..0, Spanned::span);
            let (xoff, pool) = (b.xoff[class], b.ingress[class]);
            let what = format!("{xoff} B of class {class}, a pool of {pool} B: it never pauses");
            Err(self.source.error(span, "PfcStaticXoffThreshold", what, Some("PFC-1")))
        })
    }

    /// Shares of the data pool from which the penalty starts, and from which it is whole (BUF-6).
    fn penalty(&self, n: &Nic, d: &Nic) -> Result<[Decimal; 2], ScenarioError> {
        let keys = ["ReceiverCongestionLowThreshold", "ReceiverCongestionHighThreshold"];
        let given = [pick!(n, d, receiver_low), pick!(n, d, receiver_high)];
        let low = self.percent(keys[0], given[0], 25)?;
        let high = self.percent(keys[1], given[1], 75)?;
        let scaled = |d: Decimal, other: Decimal| u128::from(d.digits) * 10_u128.pow(other.places);
        if scaled(low, high) < scaled(high, low) {
            return Ok([low, high]);
        }
        let at = usize::from(given[1].is_some());
        let what = "the low threshold is not below the high one";
        let span = given[at].map_or(0..0, Spanned::span);
        Err(self.source.error(span, keys[at], what, Some("BUF-6")))
    }

    /// A percentage as a fraction.
    fn percent(
        &self,
        key: &str,
        value: Option<&Spanned<toml::Value>>,
        default: u64,
    ) -> Result<Decimal, ScenarioError> {
        let Some(value) = value else { return Ok(Decimal { digits: default, places: 2 }) };
        let percent = share(value.get_ref()).map_err(|e| self.error(value, key, e, "BUF-6"))?;
        if u128::from(percent.digits) > 100 * 10_u128.pow(percent.places) {
            return Err(self.error(value, key, "is more than 100 percent", "BUF-6"));
        }
        Ok(Decimal { places: percent.places + 2, ..percent })
    }
}
