//! Randomized Timers: classes hold *slots*, in each of which a job is in service, or a dummy that only keeps the servers for
//! the class.
//!
//! At each instant, in this order, and in each step the class of the largest need first, with equal needs the one that is
//! first in the system:
//! 1. Slots end, those of jobs that have completed and those of dummies that are over.
//! 2. A job that waits takes over a dummy of its class, the one that began first.
//! 3. Each slot that has ended is refilled with probability `1 - exp(-w)`, otherwise released. It is refilled with the head of line
//!    of its class or, if the class has no waiting job, with a dummy, which lasts an exponential time of the class's mean size.
//! 4. The clocks of the classes, Poisson processes, tick: if one more job of the class fits together with all jobs and dummies, its head
//!    of line starts or, if the class has no waiting job, a dummy.
//!
//! With `q` jobs of the class waiting and `m` of the class with the most waiting jobs, `w = max(f(q), 1e-4 f(m))`,
//! `f(x) = log(1 + x)^0.7`. The clocks start at the first event.

use std::collections::VecDeque;

use super::shared::RandomNumbers;
use super::{Choice, Parameters, Policy, PolicyVisitor, View};
use crate::error::Error;
use crate::station::Station;

/// Exponent of the logarithm, and share of the longest queue, in the weight of a class.
const POWER: f64 = 0.7;
const SHARE: f64 = 1e-4;

#[derive(Clone)]
struct TimerClass {
    need: u32,
    /// Mean size, seconds.
    mean: f64,
    /// Slots with a job in service at the last look, and slots that have ended without a decision.
    running: u32,
    ended: u32,
    /// Ends of the dummies, in the order in which they began, and the earliest of them.
    dummies: VecDeque<f64>,
    soonest: f64,
    /// When the clock ticks next.
    tick: f64,
}

impl TimerClass {
    fn look(&mut self) {
        self.soonest = self.dummies.iter().copied().fold(f64::INFINITY, f64::min);
    }

    /// Step 1.
    fn end(&mut self, running: u32, now: f64) {
        self.ended += self.running - running;
        self.running = running;
        if self.soonest <= now {
            let before = self.dummies.len();
            self.dummies.retain(|&end| end > now);
            self.ended += (before - self.dummies.len()) as u32;
            self.look();
        }
    }

    fn keep(&mut self, now: f64, random_numbers: &mut RandomNumbers) {
        let end = (now + self.mean * random_numbers.exponential()).max(now.next_up());
        self.dummies.push_back(end);
        self.soonest = self.soonest.min(end);
    }
}

pub(super) fn build<V: PolicyVisitor>(parameters: &Parameters<'_>, visitor: V) -> Result<V::Output, Error> {
    Ok(visitor.visit(RandomizedTimers::new(parameters)?))
}

/// Randomized Timers.
#[derive(Clone)]
struct RandomizedTimers {
    /// Ticks per second of a clock.
    rate: f64,
    classes: Vec<TimerClass>,
    /// Classes, the largest need first.
    order: Vec<u32>,
    random_numbers: RandomNumbers,
    started: bool,
}

impl RandomizedTimers {
    fn new(parameters: &Parameters<'_>) -> Result<Self, Error> {
        let system = parameters.system();
        let (rate, means): (f64, Vec<f64>) = (parameters.get("rate")?, parameters.get("means")?);
        if !(rate > 0.0 && means.iter().all(|&mean| mean > 0.0)) || means.len() != system.classes.len() {
            let allowed = "a positive rate, and a positive mean size for each class";
            return Err(Error::argument("rate and means", (rate, means), allowed));
        }
        let timer = |(class, &given): (usize, &usize)| TimerClass {
            need: system.classes[class].need,
            mean: means[given],
            running: 0,
            ended: 0,
            dummies: VecDeque::new(),
            soonest: f64::INFINITY,
            tick: f64::INFINITY,
        };
        let classes: Vec<TimerClass> = system.given.iter().enumerate().map(timer).collect();
        let order = system.largest_need_first();
        Ok(Self { rate, classes, order, random_numbers: RandomNumbers::new(parameters)?, started: false })
    }

    /// Whether a slot that has ended is refilled.
    fn refills(&mut self, station: &Station, class: u32) -> bool {
        let most = self.order.iter().map(|&class| station.waiting(class)).max().unwrap_or(0);
        let f = |jobs: u32| f64::from(jobs).ln_1p().powf(POWER);
        let weight = f(station.waiting(class)).max(SHARE * f(most));
        self.random_numbers.uniform() < -(-weight).exp_m1()
    }

    /// Servers that neither a job, nor a dummy, nor a slot that has ended keeps.
    fn open(&self, station: &Station) -> u32 {
        let kept = |timer: &TimerClass| (timer.dummies.len() as u32 + timer.ended) * timer.need;
        station.free() - self.classes.iter().map(kept).sum::<u32>()
    }
}

impl Policy for RandomizedTimers {
    const TIMERS: bool = true;
    const RANDOM: bool = true;

    fn seed(&mut self, seed: (u64, u32)) {
        self.random_numbers.seed(seed);
    }

    fn next(&mut self, view: View<'_>) -> Choice {
        let station = view.station;
        let now = station.now();
        if !self.started {
            self.started = true;
            for &class in &self.order {
                self.classes[class as usize].tick = now + self.random_numbers.exponential() / self.rate;
            }
        }
        for (class, timer) in (0..).zip(&mut self.classes) {
            timer.end(station.running(class), now);
        }
        for at in 0..self.order.len() {
            let class = self.order[at];
            let timer = &mut self.classes[class as usize];
            if station.waiting(class) > 0 && timer.dummies.pop_front().is_some() {
                timer.look();
                timer.running += 1;
                return Choice::Head(class);
            }
        }
        for at in 0..self.order.len() {
            let class = self.order[at];
            while self.classes[class as usize].ended > 0 {
                self.classes[class as usize].ended -= 1;
                if !self.refills(station, class) {
                    continue;
                }
                let timer = &mut self.classes[class as usize];
                if station.waiting(class) > 0 {
                    timer.running += 1;
                    return Choice::Head(class);
                }
                timer.keep(now, &mut self.random_numbers);
            }
        }
        for at in 0..self.order.len() {
            let class = self.order[at];
            while self.classes[class as usize].tick <= now {
                let open = self.open(station);
                let timer = &mut self.classes[class as usize];
                timer.tick = now + self.random_numbers.exponential() / self.rate;
                if timer.need > open {
                    continue;
                }
                if station.waiting(class) > 0 {
                    timer.running += 1;
                    return Choice::Head(class);
                }
                timer.keep(now, &mut self.random_numbers);
            }
        }
        Choice::Wait
    }

    fn wake_at(&mut self, _: View<'_>) -> f64 {
        self.classes.iter().fold(f64::INFINITY, |wake, timer| wake.min(timer.tick).min(timer.soonest))
    }
}
