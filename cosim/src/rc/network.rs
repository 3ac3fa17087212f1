//! One direction of the network: keeps order, delays, and loses what it is told to.

use std::collections::VecDeque;

use rtl_model::rng::Rng;

/// A packet with its payload.
#[derive(Clone, Debug)]
pub struct Packet<T> {
    /// Its headers.
    pub header: T,
    /// Its payload.
    pub payload: Vec<u8>,
}

/// One direction. Packets arrive in the order in which they left.
#[derive(Clone, Debug)]
pub struct Channel<T> {
    /// From leaving to arriving, in clocks.
    delay: u64,
    /// Percent that are lost.
    loss: u64,
    /// Those that are lost whatever the percentage, counted from 1 as they leave.
    drops: Vec<u64>,
    left: u64,
    rng: Rng,
    under_way: VecDeque<(u64, Packet<T>)>,
}

impl<T> Channel<T> {
    /// Nothing under way.
    pub fn new(delay: u64, loss: u64, drops: &[u64], rng: Rng) -> Self {
        Self { delay, loss, drops: drops.to_vec(), left: 0, rng, under_way: VecDeque::new() }
    }

    /// A packet leaves; true when it is lost.
    pub fn put(&mut self, clock: u64, packet: Packet<T>) -> bool {
        self.left += 1;
        let lost = self.drops.contains(&self.left) || self.rng.percent(self.loss);
        if !lost {
            self.under_way.push_back((clock + self.delay, packet));
        }
        lost
    }

    /// Packets that have left, the lost ones too.
    pub fn left(&self) -> u64 {
        self.left
    }

    /// The packet that has arrived and waits to be taken.
    pub fn head(&self, clock: u64) -> Option<&Packet<T>> {
        self.under_way.front().filter(|(at, _)| *at <= clock).map(|(_, packet)| packet)
    }

    /// What is under way: the packet that comes next, when it arrives, and how many there are.
    pub fn under_way(&self) -> Option<(u64, &T, usize)> {
        self.under_way.front().map(|(at, packet)| (*at, &packet.header, self.under_way.len()))
    }

    /// It is taken.
    pub fn take(&mut self) -> Option<Packet<T>> {
        self.under_way.pop_front().map(|(_, packet)| packet)
    }

    /// Nothing is under way.
    pub fn quiet(&self) -> bool {
        self.under_way.is_empty()
    }
}
