//! The chain: how many jobs of each class wait and run. No jobs, no queues, no policy interface.

use rand::{RngExt, SeedableRng};
use rand_distr::Exp1;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::system::System;

/// Most servers first.
pub const MSF: u8 = 0;
/// MSF with quickswap, lights on demand.
pub const MSFQ: u8 = 1;
/// Adaptive Quickswap.
pub const ADAPTIVE: u8 = 2;

/// The rate of completions is summed afresh after this many events so that rounding does not pile up.
const EVENTS_PER_SUM: u64 = 1 << 16;

/// Length of the tables of classes. An index taken modulo this length needs no check of its bounds.
const TABLE: usize = 64;

/// A class, on one line of the cache.
#[derive(Clone, Copy, Default)]
struct Class {
    waiting: u64,
    running: u64,
    completed: u64,
    service_rate: f64,
    need: u32,
    /// Its place in ascending order of need: its bit in the words below.
    bit: u32,
}

/// The state of the chain and what is measured.
pub struct Chain {
    classes: [Class; TABLE],
    /// Of each class; from the last one on infinite, so a choice ends there.
    arrival_rates: [f64; TABLE],
    /// Running jobs times service rate of each class; beyond the classes infinite.
    completion_rates: [f64; TABLE],
    class_of_bit: [u8; TABLE],
    /// The bits of the classes that fit, for each number of free servers.
    fits: Vec<u64>,
    waiting_bits: u64,
    running_bits: u64,
    free: u32,
    count: usize,
    threshold: u64,
    arrival_rate: f64,
    completion_rate: f64,
    draining: bool,
    in_system: f64,
    clock: f64,
    area: f64,
    random: Xoshiro256PlusPlus,
}

impl Chain {
    /// An empty system.
    pub fn new(system: &System, threshold: u64, seed: u64) -> Self {
        let count = system.classes.len();
        let mut by_need: Vec<usize> = (0..count).collect();
        by_need.sort_by_key(|&c| system.classes[c].need);
        let mut chain = Self {
            classes: [Class::default(); TABLE],
            arrival_rates: [f64::INFINITY; TABLE],
            completion_rates: [f64::INFINITY; TABLE],
            class_of_bit: [0; TABLE],
            fits: vec![0; system.servers as usize + 1],
            waiting_bits: 0,
            running_bits: 0,
            free: system.servers,
            count,
            threshold,
            arrival_rate: system.classes.iter().map(|class| class.rate).sum(),
            completion_rate: 0.0,
            draining: false,
            in_system: 0.0,
            clock: 0.0,
            area: 0.0,
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
        };
        for (bit, &c) in by_need.iter().enumerate() {
            let class = &system.classes[c];
            chain.classes[c] =
                Class { need: class.need, bit: bit as u32, service_rate: 1.0 / class.mean, ..Class::default() };
            chain.arrival_rates[c] = if c + 1 < count { class.rate } else { f64::INFINITY };
            chain.completion_rates[c] = 0.0;
            chain.class_of_bit[bit] = c as u8;
            chain.fits[class.need as usize..].iter_mut().for_each(|word| *word |= 1 << bit);
        }
        chain
    }

    /// Time average of the number of jobs in the system.
    pub fn mean_in_system(&self) -> f64 {
        self.area / self.clock
    }

    /// Jobs completed, for the classes as the file gives them.
    pub fn completed_in_order_given(&self, system: &System) -> Vec<u64> {
        let mut completed = vec![0; self.count];
        for (class, given) in self.classes.iter().zip(&system.classes) {
            completed[given.position] = class.completed;
        }
        completed
    }

    /// Simulates this many events (arrivals and completions).
    pub fn run<const POLICY: u8>(&mut self, events: u64) {
        let mut left = events;
        while left > 0 {
            let chunk = left.min(EVENTS_PER_SUM);
            self.completion_rate = self.completion_rates[..self.count].iter().sum();
            for _ in 0..chunk {
                self.step::<POLICY>();
            }
            left -= chunk;
        }
    }

    #[inline(always)]
    fn step<const POLICY: u8>(&mut self) {
        let total = self.arrival_rate + self.completion_rate;
        let wait: f64 = self.random.sample(Exp1);
        let wait = wait / total;
        self.clock += wait;
        self.area += wait * self.in_system;
        let at = self.random.random::<f64>() * total;
        if at < self.arrival_rate {
            let c = choose(&self.arrival_rates, at);
            self.in_system += 1.0;
            self.arrive::<POLICY>(c);
        } else {
            let mut c = choose(&self.completion_rates, at - self.arrival_rate);
            if c == self.count {
                c = self.last_running();
            }
            self.complete(c);
            self.in_system -= 1.0;
            self.departed::<POLICY>(c);
        }
    }

    /// Where rounding carries the choice beyond the last class.
    #[cold]
    fn last_running(&self) -> usize {
        (0..self.count).rev().find(|&c| self.classes[c].running > 0).expect("a job runs")
    }

    #[inline(always)]
    fn start(&mut self, c: usize) {
        let class = &mut self.classes[c];
        class.running += 1;
        self.free -= class.need;
        self.running_bits |= 1 << class.bit;
        self.completion_rate += class.service_rate;
        self.completion_rates[c] = class.running as f64 * class.service_rate;
    }

    #[inline(always)]
    fn start_waiting(&mut self, c: usize) {
        let class = &mut self.classes[c];
        class.waiting -= 1;
        self.waiting_bits &= !(u64::from(class.waiting == 0) << class.bit);
        self.start(c);
    }

    #[inline(always)]
    fn wait(&mut self, c: usize) {
        let class = &mut self.classes[c];
        class.waiting += 1;
        self.waiting_bits |= 1 << class.bit;
    }

    #[inline(always)]
    fn complete(&mut self, c: usize) {
        let class = &mut self.classes[c];
        class.completed += 1;
        class.running -= 1;
        self.free += class.need;
        self.running_bits &= !(u64::from(class.running == 0) << class.bit);
        self.completion_rate -= class.service_rate;
        self.completion_rates[c] = class.running as f64 * class.service_rate;
    }

    #[inline(always)]
    fn arrive<const POLICY: u8>(&mut self, c: usize) {
        match POLICY {
            MSFQ => self.arrive_msfq(c),
            // No waiting job fits, so the job starts if it fits; in a drain the target is still too large.
            _ if !self.draining && self.classes[c].need <= self.free => self.start(c),
            _ => self.wait(c),
        }
        if POLICY == ADAPTIVE {
            self.trigger();
        }
    }

    #[inline(always)]
    fn departed<const POLICY: u8>(&mut self, c: usize) {
        match POLICY {
            MSFQ => self.departed_msfq(c),
            ADAPTIVE => {
                if self.draining {
                    let target = self.largest(self.waiting_bits);
                    if self.classes[target].need > self.free {
                        return;
                    }
                    self.draining = false;
                }
                self.fill();
                self.trigger();
            }
            _ => self.fill(),
        }
    }

    /// The class of the largest need among the bits of a word, at least one.
    #[inline(always)]
    fn largest(&self, bits: u64) -> usize {
        self.class_of_bit[bits.ilog2() as usize % TABLE] as usize % TABLE
    }

    /// Starts the largest that fits, again and again.
    #[inline(always)]
    fn fill(&mut self) {
        loop {
            let candidates = self.waiting_bits & self.fits[self.free as usize];
            if candidates == 0 {
                return;
            }
            self.start_waiting(self.largest(candidates));
        }
    }

    /// Adaptive Quickswap drains if some class waits and no class in service has a waiting job.
    #[inline(always)]
    fn trigger(&mut self) {
        self.draining |= self.waiting_bits != 0 && self.waiting_bits & self.running_bits == 0;
    }

    /// While a heavy runs or a drain is on, no job is admitted.
    #[inline(always)]
    fn arrive_msfq(&mut self, c: usize) {
        let light = self.classes[c].bit == 0;
        if light && self.free > 0 && !self.draining {
            self.start(c);
        } else {
            self.wait(c);
        }
        self.swap_msfq();
    }

    #[inline(always)]
    fn departed_msfq(&mut self, c: usize) {
        let (light, heavy) = (self.largest(0b01), self.largest(0b10));
        if c == light {
            if !self.draining && self.classes[light].waiting > 0 {
                self.start_waiting(light);
            }
            self.swap_msfq();
        } else if self.classes[heavy].waiting > 0 {
            self.start_waiting(heavy);
        } else {
            for _ in 0..self.classes[light].waiting.min(u64::from(self.free)) {
                self.start_waiting(light);
            }
        }
    }

    /// Begins a drain, and ends it, if it is time.
    #[inline(always)]
    fn swap_msfq(&mut self) {
        let (light, heavy) = (self.largest(0b01), self.largest(0b10));
        if self.classes[heavy].running > 0 || self.classes[heavy].waiting == 0 {
            return;
        }
        self.draining |= self.classes[light].waiting + self.classes[light].running <= self.threshold;
        if self.draining && self.classes[light].running == 0 {
            self.draining = false;
            self.start_waiting(heavy);
        }
    }
}

/// The first class whose rates sum up beyond `at`; a rate further on is infinite.
#[inline(always)]
fn choose(rates: &[f64; TABLE], mut at: f64) -> usize {
    let mut c = 0;
    while at >= rates[c] {
        at -= rates[c];
        c = (c + 1) % TABLE;
    }
    c
}
