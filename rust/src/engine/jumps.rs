//! The loop for exponential sizes and Poisson arrivals: the state is a Markov chain, so the next event is drawn by rate,
//! and the job that completes is any of its class in service, with equal probability. Exact in
//! distribution, including response times: which job of the class completes is independent of their ages.

use super::service::{Rates, Service};
use super::{EventLoop, LoopState, RunSettings, Stop};
use crate::book::{Book, NO_JOB};
use crate::counters::{Counters, Phases};
use crate::error::Error;
use crate::policy::{Choice, Policy, Sight, View};
use crate::random::{DistributionSpec, Process, Stream, exponential, streams, uniform};
use crate::station::Station;
use crate::system::System;

/// Servers from which jobs in service are fetched early.
const WIDE: u32 = 1 << 15;

/// What an event is drawn from: a time of mean 1, and a place in the total rate.
#[inline(always)]
fn draw(rng: &mut Stream) -> (f64, f64) {
    (exponential(rng), uniform(rng))
}

/// One replication.
#[derive(Clone)]
pub struct Jumps<P, S> {
    state: LoopState,
    policy: P,
    book: Book,
    rng: Stream,
    service: S,
    arrival_rate: f64,
    /// Expected work of a job of each class, server-seconds.
    work: Vec<f64>,
    /// What the next event is drawn from; see [`draw`].
    drawn: (f64, f64),
    /// The jobs in service may not fit into the cache, so the next one is fetched early.
    wide: bool,
    wake: f64,
    /// Arrival of the job of each class that started last (debug mode).
    last_start: Vec<f64>,
}

impl<P: Policy, S: Service> Jumps<P, S> {
    /// An empty system at time 0. Requires exponential sizes and Poisson arrivals.
    pub fn new(system: &System, mut policy: P, settings: RunSettings) -> Result<Self, Error> {
        let rates: Vec<Rates> = system
            .classes
            .iter()
            .map(|spec| match (&spec.size, &spec.arrivals) {
                (&DistributionSpec::Exponential { mean }, &Process::Poisson { rate }) => Ok((rate, mean)),
                _ => Err(Error::Unsupported(
                    "engine \"jumps\" requires exponential sizes and Poisson arrivals; use \"events\"",
                )),
            })
            .collect::<Result<_, _>>()?;
        let arrival_rate = rates.iter().map(|rates| rates.0).sum();
        let (seed, replication) = settings.seed;
        let [mut rng] = streams(seed, replication);
        let drawn = draw(&mut rng);
        let phases = policy.phases().is_some();
        let station = Station::new(system, policy.sight() >= Sight::Heads);
        let counters = Counters::new(rates.len(), settings.plan, phases, 1.0 / arrival_rate);
        Ok(Self {
            state: LoopState::new(station, counters, settings),
            policy,
            book: Book::new(0, false),
            rng,
            service: S::new(&rates),
            arrival_rate,
            work: system.classes.iter().zip(&rates).map(|(spec, rates)| f64::from(spec.need) * rates.1).collect(),
            drawn,
            wide: system.servers >= WIDE,
            wake: f64::INFINITY,
            last_start: vec![0.0; rates.len()],
        })
    }

    #[inline]
    fn arrive(&mut self, x: f64, now: f64) {
        let class = self.service.next_class(x, &mut self.rng);
        let work = self.work[class as usize];
        let short = P::ADMITS && !self.state.settings.debug;
        if short && self.policy.admits(&self.state.station, class) {
            self.service.admit(class, now);
            self.state.station.admit(class);
            self.state.counters.admit(class, now, work);
            return;
        }
        self.service.queue(class, now);
        self.state.station.arrive(class, now.to_bits());
        self.state.counters.arrive(class, now, work);
        if P::HOOKS {
            self.policy.arrived(View { station: &self.state.station, book: &self.book }, class, NO_JOB);
        }
    }

    /// The job at `x` of the total completion rate completes.
    #[inline]
    fn complete(&mut self, x: f64, now: f64) {
        let (class, (arrival, start)) = self.service.complete(x, &mut self.rng);
        if P::ENDS {
            self.policy.ended(View { station: &self.state.station, book: &self.book }, class, NO_JOB);
        }
        self.state.station.complete(class);
        self.state.counters.complete(
            class,
            now,
            [now - arrival, start - arrival, now - start],
            self.work[class as usize],
        );
    }

    /// Asks the policy until no more jobs start. False if an answer is not a waiting job that fits.
    #[inline]
    fn decide(&mut self, now: f64) -> bool {
        loop {
            match self.policy.next(View { station: &self.state.station, book: &self.book }) {
                Choice::Wait => return true,
                Choice::Head(class) if self.start(class, now) => {}
                _ => return false,
            }
        }
    }

    /// The head of line of a class starts, if there is one and it fits. Not inlined into the loop that calls it: that loop
    /// seldom runs more than twice, and would otherwise begin by loading everything that a start uses.
    #[inline(never)]
    fn start(&mut self, class: u32, now: f64) -> bool {
        if self.state.settings.debug {
            return self.start_checked(class, now);
        }
        self.begin(class, now).is_some()
    }

    /// The same, in the debug mode.
    #[cold]
    fn start_checked(&mut self, class: u32, now: f64) -> bool {
        let view = View { station: &self.state.station, book: &self.book };
        let permitted = self.policy.permits(view, class, NO_JOB);
        self.state.check_rule(class, permitted);
        let Some(arrival) = self.begin(class, now) else { return false };
        self.state.check_order(class, arrival, &mut self.last_start[class as usize]);
        true
    }

    /// The head of line of a class starts; returns its arrival.
    #[inline(always)]
    fn begin(&mut self, class: u32, now: f64) -> Option<f64> {
        if P::HOOKS && self.state.station.can_start(class) {
            self.policy.starting(View { station: &self.state.station, book: &self.book }, class, NO_JOB);
        }
        if !self.state.station.start(class, || self.service.second(class).map(f64::to_bits)) {
            return None;
        }
        self.state.counters.start(class, now);
        self.service.start(class, now)
    }
}

impl<P: Policy + 'static, S: Service> EventLoop for Jumps<P, S> {
    #[inline]
    fn state(&self) -> &LoopState {
        &self.state
    }

    #[inline]
    fn state_mut(&mut self) -> &mut LoopState {
        &mut self.state
    }

    /// One event, from the passing of time to the last decision.
    #[inline]
    fn step(&mut self) -> Option<Stop> {
        let total = self.arrival_rate + self.service.total();
        let (wait, place) = std::mem::replace(&mut self.drawn, draw(&mut self.rng));
        if self.wide {
            // the next event is drawn from other rates, but they change little
            self.service.fetch(self.drawn.1 * total - self.arrival_rate);
        }
        let mut now = self.state.station.now() + wait / total;
        let woken = P::TIMERS && self.wake <= now;
        if woken {
            now = self.wake;
            self.state.wake_ups += 1;
        }
        self.state.counters.clock(&self.state.station, now, false);
        self.state.station.set_now(now);
        if !woken {
            let x = place * total;
            // rounding may leave a positive completion rate when no job is in service
            if x < self.arrival_rate || self.state.station.free() == self.state.station.servers() {
                self.arrive(x, now);
            } else {
                self.complete(x - self.arrival_rate, now);
            }
        }
        if !self.decide(now) {
            return Some(Stop::Fault);
        }
        if P::TIMERS {
            self.wake = self.policy.wake_at(View { station: &self.state.station, book: &self.book });
            if self.wake <= now {
                return Some(Stop::Fault);
            }
        }
        None
    }

    #[cold]
    fn check(&mut self) {
        let present = self.service.present().count();
        self.state.balance(present, self.service.in_service());
    }

    fn close(&mut self) {
        self.state.counters.close(&self.state.station, self.policy.phases());
    }

    fn refresh(&mut self) {
        self.service.refresh();
    }

    fn phases(&mut self) -> Option<&mut Phases> {
        self.policy.phases()
    }

    fn ages(&self) -> Vec<f64> {
        let now = self.state.station.now();
        let mut ages = vec![0.0; self.state.station.classes()];
        for (class, arrival) in self.service.present() {
            ages[class as usize] += now - arrival;
        }
        ages
    }
}
