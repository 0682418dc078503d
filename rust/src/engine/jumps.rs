//! The loop for exponential sizes and Poisson arrivals: the state is a Markov chain, so the next event is drawn by rate,
//! and the job that completes is any of its class in service, with equal probability. Exact in law, the distribution of
//! response times included: which job of the class completes is independent of their ages.

use std::collections::VecDeque;

use super::weights::Weights;
use super::{Orders, Run, Signals, Step, Stop, run_until};
use crate::book::{Book, NOBODY};
use crate::counters::{Counters, Phases};
use crate::policy::{Choice, Policy, Sight, View};
use crate::random::{Law, Process, Stream, exponential, streams, uniform};
use crate::station::Station;
use crate::system::System;

/// A job in service: arrival and start, seconds.
type Turn = (f64, f64);

/// Most classes whose rates are scanned; a tree beyond.
pub const SCAN: usize = 32;

/// The jobs of one class.
#[derive(Clone, Debug)]
struct Lane {
    /// Arrival times of those that wait, oldest first.
    queue: VecDeque<f64>,
    service: Vec<Turn>,
    /// Completions per second of one job in service, and mean size.
    rate: f64,
    mean: f64,
    /// In the order of the draw.
    place: u32,
    last_start: f64,
}

impl Lane {
    /// Completions per second of all jobs in service.
    #[inline]
    fn completion_rate(&self) -> f64 {
        f64::from(self.service.len() as u32) * self.rate
    }
}

/// How the class of the next event is drawn.
pub trait Draw: Clone + Send + Sync {
    /// For these arrival rates.
    fn new(arrivals: &[f64]) -> Self;
    /// The class that the next arrival, drawn at `x` of the total arrival rate, belongs to.
    fn arrival(&self, x: f64) -> u32;
    /// The class that the next completion, drawn at `x` of the total completion rate, belongs to, and how far in it is.
    fn completion(&self, x: f64) -> (u32, f64);
    /// Where a class stands in the order of the draw.
    fn place(&self, class: u32) -> u32;
    /// The completion rate of the class at a place has changed to `rate`, by `change`.
    fn set(&mut self, place: u32, rate: f64, change: f64);
    /// Total completion rate.
    fn total(&self) -> f64;
    /// Sums up afresh, which keeps rounding from piling up.
    fn refresh(&mut self);
}

/// For few classes: a scan with early exit, classes of many arrivals first.
#[derive(Clone, Debug)]
pub struct Scan {
    /// Class and arrival rate, by falling rate.
    order: Vec<(u32, f64)>,
    /// Completion rate at each place.
    completions: Vec<f64>,
    total: f64,
}

impl Draw for Scan {
    fn new(arrivals: &[f64]) -> Self {
        let mut order: Vec<(u32, f64)> = (0..).zip(arrivals.iter().copied()).collect();
        order.sort_by(|a, b| b.1.total_cmp(&a.1));
        Self { completions: vec![0.0; order.len()], order, total: 0.0 }
    }

    #[inline]
    fn arrival(&self, mut x: f64) -> u32 {
        for &(class, rate) in &self.order {
            if x < rate {
                return class;
            }
            x -= rate;
        }
        // past the end by rounding
        self.order[0].0
    }

    #[inline]
    fn completion(&self, mut x: f64) -> (u32, f64) {
        let mut last = 0;
        for (at, &rate) in self.completions.iter().enumerate() {
            if x < rate {
                return (self.order[at].0, x);
            }
            if rate > 0.0 {
                last = at;
            }
            x -= rate;
        }
        (self.order[last].0, 0.0)
    }

    fn place(&self, class: u32) -> u32 {
        (0..).zip(&self.order).find(|(_, (at, _))| *at == class).map_or(0, |(place, _)| place)
    }

    #[inline]
    fn set(&mut self, place: u32, rate: f64, change: f64) {
        self.completions[place as usize] = rate;
        self.total += change;
    }

    #[inline]
    fn total(&self) -> f64 {
        self.total
    }

    fn refresh(&mut self) {
        self.total = self.completions.iter().sum();
    }
}

/// For many classes: trees of sums.
#[derive(Clone, Debug)]
pub struct Tree {
    arrivals: Weights,
    completions: Weights,
}

impl Draw for Tree {
    fn new(arrivals: &[f64]) -> Self {
        let mut tree = Self { arrivals: Weights::new(arrivals.len()), completions: Weights::new(arrivals.len()) };
        arrivals.iter().enumerate().for_each(|(class, &rate)| tree.arrivals.set(class, rate));
        tree
    }

    #[inline]
    fn arrival(&self, x: f64) -> u32 {
        self.arrivals.find(x).0 as u32
    }

    #[inline]
    fn completion(&self, x: f64) -> (u32, f64) {
        let (class, rest) = self.completions.find(x);
        (class as u32, rest)
    }

    fn place(&self, class: u32) -> u32 {
        class
    }

    #[inline]
    fn set(&mut self, place: u32, rate: f64, _: f64) {
        self.completions.set(place as usize, rate);
    }

    #[inline]
    fn total(&self) -> f64 {
        self.completions.total()
    }

    fn refresh(&mut self) {}
}

/// One replication.
#[derive(Clone)]
pub struct Jumps<P, D> {
    station: Station,
    policy: P,
    book: Book,
    rng: Stream,
    draw: D,
    arrival_rate: f64,
    lanes: Vec<Lane>,
    counters: Counters,
    wake: f64,
    wakings: u64,
    orders: Orders,
    failure: Option<String>,
}

impl<P: Policy, D: Draw> Jumps<P, D> {
    /// An empty system at time 0. Refused unless all sizes are exponential and all arrivals Poisson.
    pub fn new(system: &System, mut policy: P, orders: Orders) -> Result<Self, String> {
        let rates: Vec<(f64, f64)> = system
            .classes
            .iter()
            .map(|spec| match (&spec.size, &spec.arrivals) {
                (&Law::Exponential { mean }, &Process::Poisson { rate }) => Ok((rate, mean)),
                _ => {
                    Err("the loop \"jumps\" is for exponential sizes and Poisson arrivals; use \"events\"".to_string())
                }
            })
            .collect::<Result<_, _>>()?;
        let arrivals: Vec<f64> = rates.iter().map(|&(rate, _)| rate).collect();
        let arrival_rate = arrivals.iter().sum();
        let draw = D::new(&arrivals);
        let lane = |(class, &(_, mean)): (u32, &(f64, f64))| Lane {
            queue: VecDeque::new(),
            service: Vec::new(),
            rate: 1.0 / mean,
            mean,
            place: draw.place(class),
            last_start: 0.0,
        };
        let lanes = (0..).zip(&rates).map(lane).collect();
        let (seed, replication) = orders.seed;
        let [rng] = streams(seed, replication);
        let phases = policy.phases().is_some();
        Ok(Self {
            station: Station::new(system, policy.sight() >= Sight::Heads),
            policy,
            book: Book::new(0, false),
            rng,
            draw,
            arrival_rate,
            lanes,
            counters: Counters::new(rates.len(), orders.plan, phases, 1.0 / arrival_rate),
            wake: f64::INFINITY,
            wakings: 0,
            orders,
            failure: None,
        })
    }

    #[inline]
    fn arrive(&mut self, class: u32, now: f64) {
        self.lanes[class as usize].queue.push_back(now);
        self.station.arrive(class, now.to_bits());
        self.counters.arrive(class);
        if P::HOOKS {
            self.policy.arrived(View { station: &self.station, book: &self.book }, class, NOBODY);
        }
    }

    /// The job at `x` of its class's completion rate completes. True when this ends a block.
    #[inline]
    fn complete(&mut self, class: u32, x: f64, now: f64) -> bool {
        let lane = &mut self.lanes[class as usize];
        let index = ((x * lane.mean) as u32 as usize).min(lane.service.len() - 1);
        let (arrival, start) = lane.service.swap_remove(index);
        self.draw.set(lane.place, lane.completion_rate(), -lane.rate);
        self.station.complete(class);
        self.counters.complete(class, now - arrival, start - arrival, now - start)
    }

    /// Asks the policy until nobody starts any more. False if an answer cannot be carried out.
    #[inline]
    fn decide(&mut self, now: f64) -> bool {
        loop {
            match self.policy.next(View { station: &self.station, book: &self.book }) {
                Choice::Wait => return true,
                Choice::Head(class) if self.station.can_start(class) => self.start(class, now),
                _ => return false,
            }
        }
    }

    /// The head of line of a class starts. Kept out of the loop that asks for it: that loop seldom goes round more than
    /// twice, and would otherwise begin by loading all that a start needs.
    #[inline(never)]
    fn start(&mut self, class: u32, now: f64) {
        if P::HOOKS {
            self.policy.starting(View { station: &self.station, book: &self.book }, class, NOBODY);
        }
        let lane = &mut self.lanes[class as usize];
        let Some(arrival) = lane.queue.pop_front() else { return };
        lane.service.push((arrival, now));
        self.draw.set(lane.place, lane.completion_rate(), lane.rate);
        self.station.start(class, || lane.queue.front().map(|next| next.to_bits()));
        self.counters.start(class);
        if self.orders.debug {
            if arrival < lane.last_start {
                self.failure = Some(format!("class {class} was not served in order of arrival at time {now}"));
            }
            lane.last_start = arrival;
        }
    }

    #[cold]
    fn check(&mut self) -> bool {
        let used = self.station.recount();
        let present: u64 = self.lanes.iter().map(|lane| (lane.queue.len() + lane.service.len()) as u64).sum();
        if used + u64::from(self.station.free()) != u64::from(self.station.servers()) {
            self.failure = Some(format!("{used} servers in use and {} free", self.station.free()));
        } else if present != self.counters.present() {
            self.failure = Some(format!("{present} jobs present, {} counted", self.counters.present()));
        }
        self.failure.is_none()
    }
}

impl<P: Policy + 'static, D: Draw> Run for Jumps<P, D> {
    fn advance(&mut self, completed: u64, signals: &Signals) -> Stop {
        let crowd = self.orders.crowd;
        run_until(self, completed, crowd, signals)
    }

    fn counters(&self) -> &Counters {
        &self.counters
    }

    fn station(&self) -> &Station {
        &self.station
    }

    fn phases(&mut self) -> Option<&mut Phases> {
        self.policy.phases()
    }

    fn wakings(&self) -> u64 {
        self.wakings
    }

    fn ages(&self) -> Vec<f64> {
        let now = self.station.now();
        let age = |lane: &Lane| {
            lane.queue.iter().map(|a| now - a).sum::<f64>() + lane.service.iter().map(|(a, _)| now - a).sum::<f64>()
        };
        self.lanes.iter().map(age).collect()
    }

    fn failure(&self) -> Option<String> {
        self.failure.clone()
    }
}

impl<P: Policy + 'static, D: Draw> Step for Jumps<P, D> {
    fn chunk(&mut self) {
        self.draw.refresh();
    }

    /// One event, from the passing of time to the last decision.
    #[inline]
    fn step(&mut self) -> Option<Stop> {
        let total = self.arrival_rate + self.draw.total();
        let mut now = self.station.now() + exponential(&mut self.rng) / total;
        let woken = P::TIMERS && self.wake <= now;
        if woken {
            now = self.wake;
            self.wakings += 1;
        }
        self.counters.clock(&self.station, now);
        self.station.set_now(now);
        let mut ends_block = false;
        if !woken {
            let x = uniform(&mut self.rng) * total;
            // rounding may leave a rate of completions where nobody is in service
            if x < self.arrival_rate || self.station.free() == self.station.servers() {
                self.arrive(self.draw.arrival(x), now);
            } else {
                let (class, rest) = self.draw.completion(x - self.arrival_rate);
                ends_block = self.complete(class, rest, now);
            }
        }
        if !self.decide(now) {
            return Some(Stop::Fault);
        }
        if P::TIMERS {
            self.wake = self.policy.wake_at(View { station: &self.station, book: &self.book });
            if self.wake <= now {
                return Some(Stop::Fault);
            }
        }
        if self.orders.debug && !self.check() {
            return Some(Stop::Broken);
        }
        if ends_block {
            self.counters.close(&self.station, self.policy.phases());
        }
        None
    }
}
