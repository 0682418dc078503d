//! The loop for exponential sizes and Poisson arrivals: the state is a Markov chain, so the next event is drawn by rate,
//! and the job that completes is any of its class in service, with equal probability. Exact in law, the distribution of
//! response times included: which job of the class completes is independent of their ages.

use super::service::{Rates, Service};
use super::{Orders, Run, Signals, Step, Stop, run_until};
use crate::book::{Book, NOBODY};
use crate::counters::{Counters, Phases};
use crate::policy::{Choice, Policy, Sight, View};
use crate::random::{Law, Process, Stream, exponential, streams, uniform};
use crate::station::Station;
use crate::system::System;

/// One replication.
#[derive(Clone)]
pub struct Jumps<P, S> {
    station: Station,
    policy: P,
    book: Book,
    rng: Stream,
    service: S,
    arrival_rate: f64,
    counters: Counters,
    wake: f64,
    wakings: u64,
    orders: Orders,
    /// Arrival of the job of each class that started last (debug mode).
    last_start: Vec<f64>,
    failure: Option<String>,
}

impl<P: Policy, S: Service> Jumps<P, S> {
    /// An empty system at time 0. Refused unless all sizes are exponential and all arrivals Poisson.
    pub fn new(system: &System, mut policy: P, orders: Orders) -> Result<Self, String> {
        let rates: Vec<Rates> = system
            .classes
            .iter()
            .map(|spec| match (&spec.size, &spec.arrivals) {
                (&Law::Exponential { mean }, &Process::Poisson { rate }) => Ok((rate, mean)),
                _ => {
                    Err("the loop \"jumps\" is for exponential sizes and Poisson arrivals; use \"events\"".to_string())
                }
            })
            .collect::<Result<_, _>>()?;
        let arrival_rate = rates.iter().map(|rates| rates.0).sum();
        let (seed, replication) = orders.seed;
        let [rng] = streams(seed, replication);
        let phases = policy.phases().is_some();
        Ok(Self {
            station: Station::new(system, policy.sight() >= Sight::Heads),
            policy,
            book: Book::new(0, false),
            rng,
            service: S::new(&rates),
            arrival_rate,
            counters: Counters::new(rates.len(), orders.plan, phases, 1.0 / arrival_rate),
            wake: f64::INFINITY,
            wakings: 0,
            orders,
            last_start: vec![0.0; rates.len()],
            failure: None,
        })
    }

    #[inline]
    fn arrive(&mut self, x: f64, now: f64) {
        let class = self.service.arrive(x, now, &mut self.rng);
        self.station.arrive(class, now.to_bits());
        self.counters.arrive(class, now);
        if P::HOOKS {
            self.policy.arrived(View { station: &self.station, book: &self.book }, class, NOBODY);
        }
    }

    /// The job at `x` of the total completion rate completes. True when this ends a block.
    #[inline]
    fn complete(&mut self, x: f64, now: f64) -> bool {
        let (class, (arrival, start)) = self.service.complete(x, &mut self.rng);
        self.station.complete(class);
        self.counters.complete(class, now, now - arrival, start - arrival, now - start)
    }

    /// Asks the policy until nobody starts any more. False if an answer cannot be carried out.
    #[inline]
    fn decide(&mut self, now: f64) -> bool {
        loop {
            match self.policy.next(View { station: &self.station, book: &self.book }) {
                Choice::Wait => return true,
                Choice::Head(class) if self.start(class, now) => {}
                _ => return false,
            }
        }
    }

    /// The head of line of a class starts, if there is one and it fits. Kept out of the loop that asks for it: that loop
    /// seldom goes round more than twice, and would otherwise begin by loading all that a start needs.
    #[inline(never)]
    fn start(&mut self, class: u32, now: f64) -> bool {
        if P::HOOKS && self.station.can_start(class) {
            self.policy.starting(View { station: &self.station, book: &self.book }, class, NOBODY);
        }
        if !self.station.start(class, || self.service.second(class).map(f64::to_bits)) {
            return false;
        }
        self.counters.start(class, now);
        let arrival = self.service.start(class, now);
        if self.orders.debug {
            self.check_order(class, arrival, now);
        }
        true
    }

    #[cold]
    fn check_order(&mut self, class: u32, arrival: Option<f64>, now: f64) {
        let last = &mut self.last_start[class as usize];
        if arrival.is_none_or(|arrival| arrival < *last) {
            self.failure = Some(format!("class {class} was not served in order of arrival at time {now}"));
        }
        *last = arrival.unwrap_or(*last);
    }

    #[cold]
    fn check(&mut self) -> bool {
        let used = self.station.recount();
        let present = self.service.present().count() as u64;
        if used + u64::from(self.station.free()) != u64::from(self.station.servers()) {
            self.failure = Some(format!("{used} servers in use and {} free", self.station.free()));
        } else if present != self.counters.present() {
            self.failure = Some(format!("{present} jobs present, {} counted", self.counters.present()));
        }
        self.failure.is_none()
    }
}

impl<P: Policy + 'static, S: Service> Run for Jumps<P, S> {
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
        let mut ages = vec![0.0; self.station.classes()];
        for (class, arrival) in self.service.present() {
            ages[class as usize] += now - arrival;
        }
        ages
    }

    fn failure(&self) -> Option<String> {
        self.failure.clone()
    }
}

impl<P: Policy + 'static, S: Service> Step for Jumps<P, S> {
    fn chunk(&mut self) {
        self.service.refresh();
    }

    /// One event, from the passing of time to the last decision.
    #[inline]
    fn step(&mut self) -> Option<Stop> {
        let total = self.arrival_rate + self.service.total();
        let (wait, place) = (exponential(&mut self.rng), uniform(&mut self.rng));
        let mut now = self.station.now() + wait / total;
        let woken = P::TIMERS && self.wake <= now;
        if woken {
            now = self.wake;
            self.wakings += 1;
        }
        self.counters.clock(&self.station, now);
        self.station.set_now(now);
        let mut ends_block = false;
        if !woken {
            let x = place * total;
            // rounding may leave a rate of completions where nobody is in service
            if x < self.arrival_rate || self.station.free() == self.station.servers() {
                self.arrive(x, now);
            } else {
                ends_block = self.complete(x - self.arrival_rate, now);
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
