//! The loop for preemptive policies. An interrupted job keeps its progress, and an interruption costs nothing.

use super::events::Schedule;
use super::{Arrival, EventLoop, LoopState, RunSettings, Source, Stop};
use crate::book::{Book, Slot};
use crate::calendar::Calendar;
use crate::counters::{Counters, Phases};
use crate::policy::{Change, Preemptive, View};
use crate::station::Station;
use crate::system::System;

/// One replication.
#[derive(Clone)]
pub struct PreemptiveEvents<P> {
    state: LoopState,
    policy: P,
    /// Lanes are levels of need, or classes; jobs stay in the queues until they complete.
    book: Book,
    source: Source,
    calendar: Calendar,
    running: usize,
    changes: Vec<Change>,
    schedule: Option<Schedule>,
}

/// Stamp of a job that is not in service.
const STOPPED: u32 = 0;

impl<P: Preemptive> PreemptiveEvents<P> {
    /// An empty system at time 0; the schedule of the first `kept` jobs is kept.
    pub fn new(system: &System, policy: P, source: Source, settings: RunSettings, kept: Option<usize>) -> Self {
        let station = Station::new(system, false);
        let first = source.next_time();
        let counters = Counters::new(system.classes.len(), settings.plan, false, first);
        Self {
            book: Book::new(if P::LANES_OF_CLASSES { station.classes() } else { station.level_needs().len() }, true),
            state: LoopState::new(station, counters, settings),
            policy,
            source,
            calendar: Calendar::default(),
            running: 0,
            changes: Vec::new(),
            schedule: kept.map(Schedule::new),
        }
    }

    #[inline]
    fn lane(&self, class: u32) -> usize {
        if P::LANES_OF_CLASSES { class as usize } else { self.state.station.level(class) }
    }

    #[inline]
    fn arrive(&mut self, job: Arrival, now: f64) {
        let number = self.state.counters.arrived();
        let lane = self.lane(job.class);
        let slot = self.book.enter(job.class, lane, number, now, job.size, job.size);
        self.state.station.arrive(job.class, number);
        let work = f64::from(self.state.station.need(job.class)) * job.size;
        self.state.counters.arrive(job.class, now, work);
        self.policy.arrived(View { station: &self.state.station, book: &self.book }, slot);
    }

    #[inline]
    fn complete(&mut self, slot: Slot, now: f64) {
        let job = self.book.job(slot);
        let (class, response, size, number) = (job.class, now - job.arrival, job.size, job.number);
        self.policy.completed(View { station: &self.state.station, book: &self.book }, slot);
        self.state.station.complete(class);
        self.running -= 1;
        self.book.leave_queued(self.lane(class), slot);
        self.source.complete(number);
        if let Some(schedule) = &mut self.schedule {
            schedule.end[self.source.number(number) as usize] = now;
        }
        // rounding of the remaining sizes must not make it negative
        self.state.counters.complete(class, now, [response, (response - size).max(0.0), size], 0.0);
    }

    fn pause(&mut self, slot: Slot, now: f64) {
        let job = self.book.job_mut(slot);
        job.expected = (job.expected - (now - job.start)).max(0.0);
        job.stamp = STOPPED;
        let class = job.class;
        self.state.station.pause(class);
        self.state.counters.pause(class, now);
        self.running -= 1;
    }

    fn run(&mut self, slot: Slot, now: f64) {
        let job = self.book.job_mut(slot);
        job.start = now;
        job.stamp = self.calendar.push(now + job.expected, slot);
        let (class, number) = (job.class, job.number);
        self.state.station.start(class, || None);
        self.state.counters.start(class, now);
        self.running += 1;
        let job = self.source.number(number);
        if let Some(schedule) = &mut self.schedule
            && schedule.start[job as usize].is_nan()
        {
            schedule.start[job as usize] = now;
            schedule.order.push(job);
        }
    }

    /// Applies the decisions of the policy. False if that would use more servers than there are.
    #[inline]
    fn decide(&mut self, now: f64) -> bool {
        let mut changes = std::mem::take(&mut self.changes);
        self.policy.serve(View { station: &self.state.station, book: &self.book }, &mut changes);
        for change in &changes {
            if let Change::Pause(slot) = *change {
                self.pause(slot, now);
            }
        }
        let mut fits = true;
        for change in &changes {
            if let Change::Run(slot) = *change {
                fits &= self.state.station.can_start(self.book.job(slot).class);
                if fits {
                    self.run(slot, now);
                }
            }
        }
        changes.clear();
        self.changes = changes;
        if self.calendar.len() > 2 * self.running + 64 {
            let book = &self.book;
            self.calendar.retain(|slot, stamp| book.job(slot).stamp == stamp);
        }
        fits
    }

    /// Drops entries of jobs that have been stopped since.
    #[inline]
    fn next_completion(&mut self) -> f64 {
        while let Some((slot, stamp)) = self.calendar.peek() {
            if self.book.job(slot).stamp == stamp {
                break;
            }
            self.calendar.pop();
        }
        self.calendar.next_time()
    }
}

impl<P: Preemptive + 'static> EventLoop for PreemptiveEvents<P> {
    #[inline]
    fn state(&self) -> &LoopState {
        &self.state
    }

    #[inline]
    fn step(&mut self) -> Option<Stop> {
        let now = self.next_completion().min(self.source.next_time());
        if now == f64::INFINITY {
            return Some(if self.book.is_empty() { Stop::Empty } else { Stop::Stuck });
        }
        self.state.counters.clock(&self.state.station, now, true);
        self.state.station.set_now(now);
        while self.next_completion() <= now {
            let Some((slot, _)) = self.calendar.pop() else { break };
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
        if !self.decide(now) {
            return Some(Stop::Fault);
        }
        None
    }

    #[cold]
    fn check(&mut self) {
        self.state.balance(self.book.len(), self.running);
    }

    fn close(&mut self) {
        self.state.counters.close(&self.state.station, None);
    }

    fn phases(&mut self) -> Option<&mut Phases> {
        None
    }

    fn ages(&self) -> Vec<f64> {
        self.book.ages(self.state.station.classes(), self.state.station.now())
    }

    fn schedule(&mut self) -> Option<Schedule> {
        self.schedule.take()
    }
}
