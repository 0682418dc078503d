//! The loop for any sizes, any arrivals and any policy: completions to come stand in a calendar.

use super::{Orders, Run, Signals, Source, Step, Stop, run_until};
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
}

impl Schedule {
    /// Room for so many jobs.
    pub fn new(jobs: usize) -> Self {
        Self { start: vec![f64::NAN; jobs], end: vec![f64::NAN; jobs], order: Vec::with_capacity(jobs) }
    }
}

/// One replication.
#[derive(Clone)]
pub struct Events<P> {
    station: Station,
    policy: P,
    book: Book,
    source: Source,
    calendar: Calendar,
    counters: Counters,
    wake: f64,
    wakings: u64,
    orders: Orders,
    last_start: Vec<u64>,
    schedule: Option<Schedule>,
    failure: Option<String>,
}

impl<P: Policy> Events<P> {
    /// An empty system at time 0; the schedule of the first `kept` jobs is kept.
    pub fn new(system: &System, mut policy: P, source: Source, orders: Orders, kept: Option<usize>) -> Self {
        let classes = system.classes.len();
        let sight = policy.sight();
        let phases = policy.phases().is_some();
        Self {
            station: Station::new(system, sight >= Sight::Heads),
            policy,
            book: Book::new(classes, sight == Sight::Jobs),
            counters: Counters::new(classes, orders.plan, phases, source.next_time().max(f64::MIN_POSITIVE)),
            source,
            calendar: Calendar::default(),
            wake: f64::INFINITY,
            wakings: 0,
            orders,
            last_start: vec![0; classes],
            schedule: kept.map(Schedule::new),
            failure: None,
        }
    }

    #[inline]
    fn arrive(&mut self, now: f64) {
        let number = self.counters.arrived();
        let job = self.source.take();
        let slot = self.book.queue(job.class, number, now, job.size, job.estimate);
        self.station.arrive(job.class, number);
        self.counters.arrive(job.class, now);
        if P::HOOKS {
            self.policy.arrived(View { station: &self.station, book: &self.book }, job.class, slot);
        }
    }

    /// True when the completion ends a block.
    #[inline]
    fn complete(&mut self, slot: Slot, now: f64) -> bool {
        let job = self.book.job(slot);
        let (class, arrival, start, size, number) = (job.class, job.arrival, job.start, job.size, job.number);
        self.station.complete(class);
        self.book.leave(slot);
        if let Some(schedule) = &mut self.schedule {
            schedule.end[number as usize] = now;
        }
        self.counters.complete(class, now, now - arrival, start - arrival, size)
    }

    #[inline]
    fn decide(&mut self, now: f64) -> bool {
        loop {
            let choice = self.policy.next(View { station: &self.station, book: &self.book });
            let (class, slot) = match choice {
                Choice::Wait => return true,
                Choice::Head(class) if self.station.can_start(class) => (class, self.book.head(class)),
                Choice::Job(slot) if self.station.can_start(self.book.job(slot).class) => {
                    (self.book.job(slot).class, slot)
                }
                _ => return false,
            };
            self.start(class, slot, now, matches!(choice, Choice::Head(_)));
        }
    }

    #[inline]
    fn start(&mut self, class: u32, slot: Slot, now: f64, in_order: bool) {
        if P::HOOKS {
            self.policy.starting(View { station: &self.station, book: &self.book }, class, slot);
        }
        let slot = self.book.serve(class, slot);
        let job = self.book.job_mut(slot);
        job.start = now;
        self.calendar.push(now + job.size, slot);
        let number = job.number;
        let book = &self.book;
        self.station.start(class, || book.head_number(class));
        self.counters.start(class, now);
        if let Some(schedule) = &mut self.schedule {
            schedule.start[number as usize] = now;
            schedule.order.push(number);
        }
        if self.orders.debug && in_order {
            if number < self.last_start[class as usize] {
                self.failure = Some(format!("class {class} was not served in order of arrival at time {now}"));
            }
            self.last_start[class as usize] = number;
        }
    }

    #[cold]
    fn check(&mut self) -> bool {
        let used = self.station.recount();
        let present = self.book.len() as u64;
        if used + u64::from(self.station.free()) != u64::from(self.station.servers()) {
            self.failure = Some(format!("{used} servers in use and {} free", self.station.free()));
        } else if present != self.counters.present() {
            self.failure = Some(format!("{present} jobs present, {} counted", self.counters.present()));
        } else if present != self.station.total_waiting() + self.calendar.len() as u64 {
            self.failure = Some("jobs waiting and in service are not those present".into());
        }
        self.failure.is_none()
    }
}

impl<P: Policy + 'static> Run for Events<P> {
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
        self.book.ages(self.station.classes(), self.station.now())
    }

    fn schedule(&mut self) -> Option<Schedule> {
        self.schedule.take()
    }

    fn failure(&self) -> Option<String> {
        self.failure.clone()
    }
}

impl<P: Policy + 'static> Step for Events<P> {
    /// One instant: all its completions, then all its arrivals, then the decisions.
    #[inline]
    fn step(&mut self) -> Option<Stop> {
        let mut now = self.source.next_time().min(self.calendar.next_time());
        if P::TIMERS && self.wake < now {
            now = self.wake;
            self.wakings += 1;
        }
        if now == f64::INFINITY {
            return Some(if self.book.is_empty() { Stop::Empty } else { Stop::Stuck });
        }
        self.counters.clock(&self.station, now);
        self.station.set_now(now);
        let mut ends_block = false;
        while self.calendar.next_time() <= now {
            let Some((slot, _)) = self.calendar.pop() else { break };
            ends_block |= self.complete(slot, now);
        }
        while self.source.next_time() <= now {
            self.arrive(now);
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
