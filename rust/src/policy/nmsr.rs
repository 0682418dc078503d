//! nMSR, the nonpreemptive Markovian service rate policy: a cycle of schedules, which are numbers of jobs of each class
//! that may be in service, and a timer that is independent of the jobs.
//!
//! A schedule begins as a change: a class starts jobs only while fewer are in service than the schedule has. The change
//! ends as soon as no class has more jobs in service than that; then the schedule's timer starts, which expires after an
//! exponential time, and the next schedule begins. If several jobs may start, the job with the largest need starts
//! first; of equal needs, the class that is first in the system.
//!
//! With backfilling, once the change is over, a job of any class may start beyond the schedule if it fits into the free
//! servers beside the jobs that wait and have a place in the schedule.

use super::shared::RandomNumbers;
use super::{Choice, Parameters, Policy, PolicyVisitor, View};
use crate::error::Error;
use crate::station::Station;

pub(super) fn build<V: PolicyVisitor>(parameters: &Parameters<'_>, visitor: V) -> Result<V::Output, Error> {
    Ok(visitor.visit(Nmsr::new(parameters)?))
}

/// nMSR.
#[derive(Clone)]
struct Nmsr {
    /// Jobs per class, and mean time, seconds.
    schedules: Vec<(Vec<u32>, f64)>,
    /// Classes, the largest need first.
    order: Vec<u32>,
    backfill: bool,
    random_numbers: RandomNumbers,
    place: usize,
    /// When the timer expires, seconds; none during a change.
    end: Option<f64>,
}

impl Nmsr {
    fn new(parameters: &Parameters<'_>) -> Result<Self, Error> {
        let system = parameters.system();
        let given: Vec<Vec<u32>> = parameters.get("schedules")?;
        let times: Vec<f64> = parameters.get("times")?;
        if given.is_empty() || given.len() != times.len() || !times.iter().all(|&time| time > 0.0) {
            return Err(Error::argument("times", times, "positive, and as many as schedules, at least one"));
        }
        let mut schedules = Vec::with_capacity(given.len());
        for (schedule, time) in given.into_iter().zip(times) {
            let counts: Option<Vec<u32>> = system.given.iter().map(|&class| schedule.get(class).copied()).collect();
            let Some(counts) = counts else {
                return Err(Error::argument("schedule", schedule, "one number for each class"));
            };
            let used: u64 = counts.iter().zip(&system.classes).map(|(&n, c)| u64::from(n) * u64::from(c.need)).sum();
            if used > u64::from(system.servers) {
                let allowed = format!("jobs that need at most {} servers, not {used}", system.servers);
                return Err(Error::argument("schedule", schedule, allowed));
            }
            schedules.push((counts, time));
        }
        let order = system.largest_need_first();
        let (backfill, random_numbers) = (parameters.get("backfill")?, RandomNumbers::new(parameters)?);
        Ok(Self { schedules, order, backfill, random_numbers, place: 0, end: None })
    }

    /// Moves on to the schedule of this moment.
    fn advance(&mut self, station: &Station) {
        let now = station.now();
        loop {
            match self.end {
                Some(end) if end > now => return,
                Some(_) => (self.place, self.end) = ((self.place + 1) % self.schedules.len(), None),
                None => {
                    let (schedule, time) = &self.schedules[self.place];
                    if (0..).zip(schedule).any(|(class, &jobs)| station.running(class) > jobs) {
                        return;
                    }
                    let alone = self.schedules.len() == 1;
                    self.end = Some(if alone { f64::INFINITY } else { now + time * self.random_numbers.exponential() });
                }
            }
        }
    }
}

impl Policy for Nmsr {
    const TIMERS: bool = true;
    const RANDOM: bool = true;

    fn seed(&mut self, seed: (u64, u32)) {
        self.random_numbers.seed(seed);
    }

    fn next(&mut self, view: View<'_>) -> Choice {
        let station = view.station;
        self.advance(station);
        if station.total_waiting() == 0 {
            return Choice::Wait;
        }
        let schedule = &self.schedules[self.place].0;
        let below = |class: u32| station.running(class) < schedule[class as usize];
        if let Some(&class) = self.order.iter().find(|&&class| below(class) && station.can_start(class)) {
            return Choice::Head(class);
        }
        if !self.backfill || self.end.is_none() {
            return Choice::Wait;
        }
        let due = |class: u32, jobs: u32| {
            let places = jobs.saturating_sub(station.running(class)).min(station.waiting(class));
            places * station.need(class)
        };
        let kept: u32 = (0..).zip(schedule).map(|(class, &jobs)| due(class, jobs)).sum();
        let left = station.free().saturating_sub(kept);
        let fits = |class: u32| station.waiting(class) > 0 && station.need(class) <= left;
        self.order.iter().find(|&&class| fits(class)).map_or(Choice::Wait, |&class| Choice::Head(class))
    }

    fn wake_at(&mut self, _: View<'_>) -> f64 {
        self.end.unwrap_or(f64::INFINITY)
    }
}
