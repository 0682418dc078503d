//! The loop for any sizes, any arrivals and any policy: a calendar contains the future completions.

use super::{Arrival, EventLoop, LoopState, Predictions, RunSettings, Source, Stop};
use crate::book::{Book, Slot};
use crate::calendar::Calendar;
use crate::counters::{Counters, Phases};
use crate::policy::{Choice, Policy, Sight, View};
use crate::station::Station;
use crate::system::System;

/// Start and end of each job of a trace, and the jobs in order of their start.
#[derive(Clone, Debug, Default)]
pub struct Schedule {
    /// Start of service, seconds.
    pub start: Vec<f64>,
    /// Completion, seconds.
    pub end: Vec<f64>,
    /// Job numbers.
    pub order: Vec<u64>,
    /// Jobs whose estimate was predicted.
    pub predicted: u64,
}

impl Schedule {
    /// A schedule of this many jobs.
    pub fn new(jobs: usize) -> Self {
        Self { start: vec![f64::NAN; jobs], end: vec![f64::NAN; jobs], order: Vec::with_capacity(jobs), predicted: 0 }
    }
}

/// One replication.
#[derive(Clone)]
pub struct Events<P> {
    state: LoopState,
    policy: P,
    book: Book,
    source: Source,
    calendar: Calendar,
    wake: f64,
    last_start: Vec<u64>,
    schedule: Option<Schedule>,
    predictions: Option<Predictions>,
}

impl<P: Policy> Events<P> {
    /// An empty system at time 0; the schedule of the first `kept` jobs is kept. Predictions take the place of estimates.
    pub fn new(
        system: &System,
        mut policy: P,
        source: Source,
        settings: RunSettings,
        kept: Option<usize>,
        predictions: Option<Predictions>,
    ) -> Self {
        let classes = system.classes.len();
        let sight = policy.sight();
        let phases = policy.phases().is_some();
        let station = Station::new(system, sight >= Sight::Heads);
        let first = source.next_time();
        let counters = Counters::new(classes, settings.plan, phases, first);
        Self {
            state: LoopState::new(station, counters, settings),
            policy,
            book: Book::new(classes, sight == Sight::Jobs),
            source,
            calendar: Calendar::default(),
            wake: f64::INFINITY,
            last_start: vec![0; classes],
            schedule: kept.map(Schedule::new),
            predictions,
        }
    }

    #[inline]
    fn arrive(&mut self, job: Arrival, now: f64) {
        let number = self.state.counters.arrived();
        let predicted = self.predictions.as_mut().and_then(|known| known.estimate(self.source.number(number)));
        let slot = self.book.queue(job.class, number, now, job.size, predicted.unwrap_or(job.estimate));
        self.state.station.arrive(job.class, number);
        let work = f64::from(self.state.station.need(job.class)) * job.size;
        self.state.counters.arrive(job.class, now, work);
        if P::HOOKS {
            self.policy.place(self.source.number(number));
            self.policy.arrived(View { station: &self.state.station, book: &self.book }, job.class, slot);
        }
    }

    #[inline]
    fn complete(&mut self, slot: Slot, now: f64) {
        let job = self.book.job(slot);
        let (class, arrival, start, size, number) = (job.class, job.arrival, job.start, job.size, job.number);
        if P::ENDS {
            self.policy.ended(View { station: &self.state.station, book: &self.book }, class, slot);
        }
        if let Some(predictions) = &mut self.predictions {
            predictions.completed(slot, self.source.number(number), job.start + job.expected, size);
        }
        self.state.station.complete(class);
        self.book.leave(slot);
        self.source.complete(number);
        if let Some(schedule) = &mut self.schedule {
            schedule.end[self.source.number(number) as usize] = now;
        }
        self.state.counters.complete(class, now, [now - arrival, start - arrival, size], 0.0);
    }

    /// Raises the estimates that jobs in service have outlived.
    #[inline]
    fn correct(&mut self, now: f64) {
        let Some(predictions) = &mut self.predictions else { return };
        while let Some(slot) = predictions.outlived(now) {
            let job = self.book.job_mut(slot);
            let (class, old) = (job.class, job.expected);
            let Some(raised) = predictions.raised(self.source.number(job.number), old) else { continue };
            job.expected = raised;
            predictions.started(slot, job.start + raised);
            self.policy.corrected(View { station: &self.state.station, book: &self.book }, class, slot, old);
        }
    }

    #[inline]
    fn decide(&mut self, now: f64) -> bool {
        loop {
            let choice = self.policy.next(View { station: &self.state.station, book: &self.book });
            let (class, slot) = match choice {
                Choice::Wait => return true,
                Choice::Head(class) if self.state.station.can_start(class) => (class, self.book.head(class)),
                Choice::Job(slot) if self.state.station.can_start(self.book.job(slot).class) => {
                    (self.book.job(slot).class, slot)
                }
                _ => return false,
            };
            self.start(class, slot, now, matches!(choice, Choice::Head(_)));
        }
    }

    #[inline]
    fn start(&mut self, class: u32, slot: Slot, now: f64, in_order: bool) {
        if self.state.settings.debug {
            let permitted = self.policy.permits(View { station: &self.state.station, book: &self.book }, class, slot);
            self.state.check_rule(class, permitted);
        }
        if P::HOOKS {
            self.policy.starting(View { station: &self.state.station, book: &self.book }, class, slot);
        }
        let slot = self.book.serve(class, slot);
        let job = self.book.job_mut(slot);
        job.start = now;
        self.calendar.push(now + job.size, slot);
        if let Some(predictions) = &mut self.predictions {
            predictions.started(slot, now + job.expected);
        }
        let number = job.number;
        let book = &self.book;
        self.state.station.start(class, || book.head_number(class));
        self.state.counters.start(class, now);
        if let Some(schedule) = &mut self.schedule {
            let job = self.source.number(number);
            schedule.start[job as usize] = now;
            schedule.order.push(job);
        }
        if self.state.settings.debug && in_order {
            self.state.check_order(class, number, &mut self.last_start[class as usize]);
        }
    }
}

impl<P: Policy + 'static> EventLoop for Events<P> {
    #[inline]
    fn state(&self) -> &LoopState {
        &self.state
    }

    #[inline]
    fn state_mut(&mut self) -> &mut LoopState {
        &mut self.state
    }

    /// One instant: all its completions, then all its arrivals, then the decisions.
    #[inline]
    fn step(&mut self) -> Option<Stop> {
        let mut now = self.source.next_time().min(self.calendar.next_time());
        if P::TIMERS && self.wake < now {
            if now == f64::INFINITY && self.book.is_empty() {
                return Some(Stop::Empty);
            }
            now = self.wake;
            self.state.wake_ups += 1;
        }
        if now == f64::INFINITY {
            return Some(if self.book.is_empty() { Stop::Empty } else { Stop::Stuck });
        }
        self.state.counters.clock(&self.state.station, now, true);
        self.state.station.set_now(now);
        while self.calendar.next_time() <= now {
            let Some((slot, _)) = self.calendar.pop(|slot| self.book.fetch(slot)) else { break };
            self.complete(slot, now);
        }
        while let Some(job) = self.source.release() {
            self.arrive(job, now);
        }
        while self.source.next_time() <= now {
            if let Some(job) = self.source.take() {
                self.arrive(job, now);
            }
        }
        self.correct(now);
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
        self.state.balance(self.book.len(), self.calendar.len());
    }

    fn close(&mut self) {
        self.state.counters.close(&self.state.station, self.policy.phases());
    }

    fn phases(&mut self) -> Option<&mut Phases> {
        self.policy.phases()
    }

    fn ages(&self) -> Vec<f64> {
        self.book.ages(self.state.station.classes(), self.state.station.now())
    }

    fn schedule(&mut self) -> Option<Schedule> {
        let predicted = self.predictions.as_ref().map_or(0, Predictions::made);
        self.schedule.take().map(|schedule| Schedule { predicted, ..schedule })
    }
}
