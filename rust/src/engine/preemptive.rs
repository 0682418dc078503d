//! The loop for preemptive policies. The policy selects jobs after every instant. If interruptions are free, these are the
//! jobs in service, and an interrupted job keeps its progress.
//!
//! If interruptions have costs, a job in service is *safe* until it has held its servers for the minimum time. Then, in this
//! order: jobs in service that are selected or safe run on; the other selected jobs start in descending order of need, of
//! equal needs the older first, as long as each fits; the jobs that are neither run on, unless those that start need their
//! servers. The youngest of them are interrupted first.

use super::events::Schedule;
use super::{Arrival, EventLoop, LoopState, RunSettings, Source, Stop};
use crate::book::{Book, STOPPED, Slot};
use crate::calendar::Calendar;
use crate::counters::{Counters, Phases};
use crate::policy::{Change, Costs, Preemptive, View};
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
    friction: Option<Friction>,
    /// When the policy selects again even without an event, seconds.
    wake: f64,
}

/// The jobs whose service differs from the selection of the policy, as interruptions have costs.
#[derive(Clone)]
struct Friction {
    costs: Costs,
    /// Until when each slot is safe, seconds.
    safe: Vec<f64>,
    /// Selected jobs that are not in service.
    held: Vec<Slot>,
    /// Jobs in service that are not selected.
    others: Vec<Slot>,
    /// When a job that is held may start next, seconds.
    wake: f64,
}

impl Friction {
    fn new(costs: Costs) -> Self {
        Self { costs, safe: Vec::new(), held: Vec::new(), others: Vec::new(), wake: f64::INFINITY }
    }

    fn starts(&mut self, slot: Slot, now: f64) {
        if self.safe.len() <= slot as usize {
            self.safe.resize(slot as usize + 1, 0.0);
        }
        self.safe[slot as usize] = now + self.costs.minimum;
    }

    /// Whether the job in service that completes is selected.
    fn completes(&mut self, slot: Slot) -> bool {
        !take(&mut self.others, slot)
    }

    /// Turns changes of the selection into changes of the jobs in service.
    fn decide(&mut self, station: &Station, book: &Book, changes: &mut Vec<Change>) {
        for change in changes.drain(..) {
            match change {
                Change::Run(slot) if !take(&mut self.others, slot) => self.held.push(slot),
                Change::Pause(slot) if !take(&mut self.held, slot) => self.others.push(slot),
                _ => {}
            }
        }
        self.wake = f64::INFINITY;
        if self.held.is_empty() {
            return;
        }
        let need = |slot| station.need(book.job(slot).class);
        let now = station.now();
        let safe = |slot: Slot| self.safe[slot as usize];
        self.held.sort_unstable_by_key(|&slot| (std::cmp::Reverse(need(slot)), book.job(slot).number));
        self.others.sort_unstable_by_key(|&slot| std::cmp::Reverse(book.job(slot).number));
        let loose: u32 = self.others.iter().filter(|&&slot| safe(slot) <= now).map(|&slot| need(slot)).sum();
        let mut room = station.free() + loose;
        self.held.retain(|&slot| {
            let starts = need(slot) <= room;
            if starts {
                room -= need(slot);
                changes.push(Change::Run(slot));
            }
            !starts
        });
        let mut taken = loose.saturating_sub(room); // of the servers of others
        self.others.retain(|&slot| {
            let stops = taken > 0 && safe(slot) <= now;
            if stops {
                taken = taken.saturating_sub(need(slot));
                changes.push(Change::Pause(slot));
            }
            !stops
        });
        let Some(&smallest) = self.held.last() else { return };
        let mut later: Vec<_> = self.others.iter().map(|&slot| (safe(slot), need(slot))).collect();
        later.retain(|&(time, _)| time > now);
        later.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        for (time, servers) in later {
            room += servers;
            if room >= need(smallest) {
                self.wake = time;
                break;
            }
        }
    }
}

/// Removes a job from a list. False if it is not there.
fn take(slots: &mut Vec<Slot>, slot: Slot) -> bool {
    let found = slots.iter().position(|&other| other == slot);
    found.map(|at| slots.swap_remove(at)).is_some()
}

impl<P: Preemptive> PreemptiveEvents<P> {
    /// An empty system at time 0; the schedule of the first `kept` jobs is kept.
    pub fn new(
        system: &System,
        policy: P,
        costs: Option<Costs>,
        source: Source,
        settings: RunSettings,
        kept: Option<usize>,
    ) -> Self {
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
            friction: costs.map(Friction::new),
            wake: f64::INFINITY,
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
        let selected = self.friction.as_mut().is_none_or(|friction| friction.completes(slot));
        self.policy.completed(View { station: &self.state.station, book: &self.book }, slot, selected);
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
        let restarts = self.friction.as_ref().is_some_and(|friction| friction.costs.restart);
        job.expected = if restarts { job.size } else { job.remaining(now) };
        job.stamp = STOPPED;
        let class = job.class;
        self.state.station.pause(class);
        self.state.counters.pause(class, now);
        self.running -= 1;
    }

    fn run(&mut self, slot: Slot, now: f64) {
        let job = self.book.job_mut(slot);
        let mut start = now;
        if let Some(friction) = &mut self.friction {
            let resumes = !job.start.is_nan();
            start += if resumes { friction.costs.overhead } else { 0.0 };
            friction.starts(slot, now);
        }
        job.start = start;
        job.stamp = self.calendar.push(start + job.expected, slot);
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
        if let Some(friction) = &mut self.friction {
            friction.decide(&self.state.station, &self.book, &mut changes);
        }
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
        self.wake = self.policy.wake_at(View { station: &self.state.station, book: &self.book });
        if let Some(friction) = &self.friction {
            self.wake = self.wake.min(friction.wake);
        }
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
            self.calendar.pop(|slot| self.book.fetch(slot));
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
    fn state_mut(&mut self) -> &mut LoopState {
        &mut self.state
    }

    #[inline]
    fn step(&mut self) -> Option<Stop> {
        let mut now = self.next_completion().min(self.source.next_time());
        if self.wake < now {
            now = self.wake;
            self.state.wake_ups += 1;
        }
        if now == f64::INFINITY {
            return Some(if self.book.is_empty() { Stop::Empty } else { Stop::Stuck });
        }
        self.state.counters.clock(&self.state.station, now, true);
        self.state.station.set_now(now);
        while self.next_completion() <= now {
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
