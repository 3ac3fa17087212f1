//! Bytes in flight of each group, and its window (SEG-3, CC-1).

use rtl_model::nic::Nic;
use rtl_model::{ack_take, retransmit, tx_scheduler, window};
use serde::{Deserialize, Serialize};

use super::Checked;
use crate::settings::NicSettings;

/// Groups at most.
const GROUPS: usize = 256;

/// Nominal bytes.
#[derive(Clone, Serialize, Deserialize)]
pub struct Flight {
    /// Of the packets of each group that count.
    counted: Vec<u64>,
    /// What `window` has let in for a packet that does not count yet,
    entering: Option<(u8, u64)>,
    /// and when: it is a turn's end away.
    entered: u8,
    /// Of packets that count no more, until `window` hears of it.
    leaving: Vec<u64>,
    /// The same of all groups.
    all: u64,
    all_leaving: u64,
    /// `window` took this in the clock before.
    taken: Option<(u8, u64)>,
    /// `window` wrote the word of this group in the clock before.
    written: Option<u8>,
    /// The smallest and the largest window.
    windows: [u64; 2],
}

impl Flight {
    /// Nothing is in flight.
    pub fn new(settings: &NicSettings) -> Self {
        Self {
            counted: vec![0; GROUPS],
            entering: None,
            entered: 0,
            leaving: vec![0; GROUPS],
            all: 0,
            all_leaving: 0,
            taken: None,
            written: None,
            windows: [settings.unit().min(settings.window), settings.window],
        }
    }

    /// What `window` holds of a group.
    fn of(&self, group: u8) -> u64 {
        let at = usize::from(group);
        let entering = self.entering.filter(|e| e.0 == group).map_or(0, |e| e.1);
        self.counted[at] + self.leaving[at] + entering
    }

    /// `tx_scheduler` hears that the window is open for what it sends next.
    pub fn enter(&mut self, nic: &Nic) -> Checked {
        use tx_scheduler::State::{AskWindow, TurnWindow};
        let (turn, i) = (&nic.b.tx_scheduler, &nic.i.tx_scheduler);
        self.entered += u8::from(self.entering.is_some());
        if self.entered > 2 {
            let left = self.entering;
            return Err(format!("{left:?} of group and bytes in flight belong to no packet"));
        }
        let passes = i.try_rsp_valid && i.try_rsp_ok && turn.try_commit;
        if passes && matches!(turn.state, TurnWindow | AskWindow) {
            let bytes = u64::from(turn.try_bytes);
            self.entering = Some((turn.try_group, bytes));
            self.entered = 0;
            self.all += bytes;
        }
        Ok(())
    }

    /// A packet counts from here on.
    pub fn count(&mut self, group: u8, bytes: u64) -> Checked {
        let let_in = self.entering.take();
        self.entered = 0;
        self.counted[usize::from(group)] += bytes;
        if let_in == Some((group, bytes)) {
            return Ok(());
        }
        Err(format!("{bytes} B of group {group} go, {let_in:?} of group and bytes was let in"))
    }

    /// A packet counts no more.
    pub fn leave(&mut self, group: u8, bytes: u64) {
        self.counted[usize::from(group)] -= bytes;
        self.leaving[usize::from(group)] += bytes;
        self.all_leaving += bytes;
    }

    /// What `window` shows.
    pub fn compare(&mut self, nic: &Nic) -> Checked {
        let sum = u64::from(nic.b.window.flight_sum);
        if sum != self.all {
            return Err(format!("{sum} B in flight, by the book {}", self.all));
        }
        if let Some(group) = self.written.take() {
            self.word(nic, group)?;
        }
        if self.all_leaving > 0 && settled(nic) && self.taken.is_none() {
            return Err(format!("{} B left flight, `window` heard of none", self.all_leaving));
        }
        Ok(())
    }

    /// A word of `window`, written in the clock before.
    fn word(&self, nic: &Nic, group: u8) -> Checked {
        let word = nic.m.window_win.peek(usize::from(group));
        let book = self.of(group);
        if u64::from(word.flight) != book {
            let flight = word.flight;
            return Err(format!("{flight} B of group {group} in flight, by the book {book}"));
        }
        let [least, most] = self.windows;
        if (least..=most).contains(&word.cwnd.into()) {
            return Ok(());
        }
        Err(format!("window {} of group {group}, not {least} to {most}", word.cwnd))
    }

    /// What `window` takes in this clock.
    pub fn take(&mut self, nic: &Nic) -> Checked {
        if let Some((group, bytes)) = self.taken.take() {
            let leaving = &mut self.leaving[usize::from(group)];
            if *leaving < bytes {
                return Err(format!("{bytes} B of group {group} leave flight, not {leaving}"));
            }
            *leaving -= bytes;
            self.all_leaving -= bytes;
            self.all -= bytes;
        }
        let (i, o) = (&nic.i.window, &nic.o.window);
        if i.open_valid && o.open_ready && self.of(i.open_group) > 0 {
            let (group, left) = (i.open_group, self.of(i.open_group));
            return Err(format!("group {group} begins with {left} B in flight"));
        }
        for (taken, group, bytes) in [
            (i.sub_valid && o.sub_ready, i.sub_group, i.sub_bytes),
            (i.lose_valid && o.lose_ready, i.lose_group, i.lose_bytes),
            (i.toss_valid && o.toss_ready, i.toss_group, i.toss_bytes),
        ] {
            if taken {
                self.taken = Some((group, bytes.into()));
            }
        }
        if o.win_we {
            self.written = Some(nic.b.window.group);
        }
        Ok(())
    }
}

/// No block has news for `window` of bytes that leave flight.
fn settled(nic: &Nic) -> bool {
    let (take, again) = (&nic.b.ack_take, &nic.b.retransmit);
    let takes = take.state != ack_take::State::Idle || take.sub_valid || take.held;
    let loses = again.state != retransmit::State::Idle || again.loss_valid;
    let tosses = nic.b.qp_drain.flight_valid;
    !takes && !loses && !tosses && nic.b.window.state == window::State::Idle
}
