//! What came into the pools less what left them (BUF-1, BUF-3, BUF-4, BUF-5).

use rtl_model::host_interface::{CLASSES, level};
use rtl_model::image::Wide;
use rtl_model::nic::{Nic, blocks};
use rtl_model::types::Drop;
use serde::{Deserialize, Serialize};

use super::Checked;

/// What the pools of a side hold, by class.
type Held = [u32; CLASSES];

/// Ingress, egress and prefetch buffer of a NIC.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct Pools {
    ingress: Held,
    egress: Held,
    /// Class and charge of an arrival whose verdict comes with the next clock.
    judged: Option<(usize, u32)>,
    /// Sizes of the egress pools in the clock before.
    size: Wide<4>,
    prefetched: i64,
    /// Size of the prefetch buffer in the clock before.
    prefetch_size: i64,
}

impl Pools {
    /// A clock; pools that sleep are not looked at.
    pub fn look(&mut self, nic: &Nic) -> Checked {
        if nic.awake(blocks::INGRESS) {
            self.ingress(nic)?;
        }
        if nic.awake(blocks::EGRESS) {
            self.egress(nic)?;
        }
        if nic.awake(blocks::PREFETCH) { self.prefetch(nic) } else { Ok(()) }
    }

    /// BUF-1, BUF-4: every charge against every release.
    fn ingress(&mut self, nic: &Nic) -> Checked {
        let (i, o) = (&nic.i.ingress_pool, &nic.o.ingress_pool);
        if let Some((class, charge)) = self.judged.take().filter(|_| !o.drop_valid) {
            self.ingress[class] += charge;
            let (held, size) = (self.ingress[class], level(&i.cfg_ingress_pool, class));
            if held > size {
                return Err(format!("{held} B in RX_TC{class}_BUFFER of {size} B"));
            }
        }
        let (now, book) = (&nic.b.ingress_pool.occ, &self.ingress);
        if book != now {
            return Err(format!("ingress pools hold {now:?}, by the book {book:?}"));
        }
        if i.in_valid && i.in_drop == Drop::None {
            self.judged = Some((usize::from(i.in_cls), i.r#in.charge.into()));
        }
        for (valid, class, bytes) in [
            (i.rel_valid, i.rel_cls, i.rel_bytes),
            (i.rel2_valid, i.rel2_cls, i.rel2_bytes),
            (i.relt_valid, i.relt_cls, i.relt_bytes),
            (i.relc_valid, i.relc_cls, i.relc_bytes),
        ] {
            if valid {
                less(&mut self.ingress[usize::from(class)], bytes.into())?;
            }
        }
        Ok(())
    }

    /// BUF-3: every reservation against every release.
    fn egress(&mut self, nic: &Nic) -> Checked {
        let (i, o) = (&nic.i.egress_arbiter, &nic.o.egress_arbiter);
        if o.end_valid && usize::from(o.end_cls) < CLASSES {
            less(&mut self.egress[usize::from(o.end_cls)], o.end_len.into())?;
        }
        let (now, book) = (&nic.b.egress_arbiter.occ, &self.egress);
        if book != now {
            return Err(format!("egress pools hold {now:?}, by the book {book:?}"));
        }
        // Free bytes are a clock behind a pool that the host changes.
        if std::mem::replace(&mut self.size, i.cfg_egress_pool) == i.cfg_egress_pool {
            let free = [o.egress_free, o.ctl_free];
            for (class, (held, free)) in self.egress.iter().zip(free).enumerate() {
                let size = level(&self.size, class);
                if held + free != size {
                    return Err(format!(
                        "{held} B in TX_TC{class}_BUFFER of {size} B, {free} B free"
                    ));
                }
            }
        }
        self.egress[0] += if i.resv_valid { u32::from(i.resv_bytes) } else { 0 };
        self.egress[1] += if i.cresv_valid { u32::from(i.cresv_bytes) } else { 0 };
        if i.unresv_valid {
            less(&mut self.egress[0], i.unresv_bytes.into())?;
        }
        Ok(())
    }

    /// BUF-5: what is fetched is held until it is committed or has come to nothing.
    fn prefetch(&mut self, nic: &Nic) -> Checked {
        let (i, o) = (&nic.i.prefetch_pool, &nic.o.prefetch_pool);
        let (held, size) = (i64::from(o.occ), i64::from(i.cfg_prefetch));
        let same = std::mem::replace(&mut self.prefetch_size, size) == size;
        let book = self.prefetched;
        if book != held || same && held + i64::from(o.free) != size {
            return Err(format!("{o:?} of {size} B prefetched, by the book {book}"));
        }
        let of = |valid: bool, bytes: u16| if valid { i64::from(bytes) } else { 0 };
        self.prefetched += of(i.take_valid, i.bytes);
        self.prefetched -= of(i.commit_valid, i.bytes) + of(i.drop_valid, i.drop_bytes);
        Ok(())
    }
}

/// A release takes no more than is held.
fn less(held: &mut u32, bytes: u32) -> Checked {
    let left = held.checked_sub(bytes);
    *held = left.ok_or_else(|| format!("{bytes} B are released of {held} B held"))?;
    Ok(())
}

/// Nothing is left in any pool.
pub fn rest(nic: &Nic) -> Checked {
    for (occ, side) in [(&nic.o.ingress_pool.occ, "RX"), (&nic.o.egress_arbiter.occ, "TX")] {
        if let Some(class) = (0..CLASSES).find(|c| level(occ, *c) > 0) {
            return Err(format!("{} B left in {side}_TC{class}_BUFFER", level(occ, class)));
        }
    }
    match nic.o.prefetch_pool.occ {
        0 => Ok(()),
        left => Err(format!("{left} B left in the prefetch buffer")),
    }
}
