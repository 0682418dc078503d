//! A policy step by step, without a clock of random events: a job arrives, a job completes, what starts?
//!
//! This is the same policy code that the loops run; the exact chain of a small system and a live scheduler use it.

use crate::book::{Book, Slot};
use crate::error::Error;
use crate::policy::{Choice, Costs, Policy, PolicyVisitor, Preemptive, View};
use crate::station::Station;
use crate::system::System;

/// The state of a system under a policy, without job numbers and times. Equal states have futures with the same
/// distribution.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State {
    /// Jobs waiting per class.
    pub waiting: Vec<u32>,
    /// Jobs in service per class.
    pub running: Vec<u32>,
    /// Classes of the waiting jobs in order of arrival; only if the policy uses that order.
    pub order: Option<Vec<u32>>,
    /// The policy's own state.
    pub policy: Vec<i64>,
}

/// A job of a real system: its class, its start or, if it waits, its arrival, and its estimated size, in seconds.
pub type RealJob = (u32, f64, f64);

/// A system under a policy, moved by hand.
pub trait Steps: Send + Sync {
    /// Time passes, seconds; it does not go back.
    fn wait_until(&mut self, now: f64) -> Result<(), Error>;
    /// Jobs arrive in one instant; returns their numbers, and those of the jobs that start.
    fn arrive(&mut self, classes: &[u32], estimates: &[f64]) -> Result<(Vec<u64>, Vec<u64>), Error>;
    /// Jobs in service complete in one instant; returns the numbers of the jobs that start.
    fn complete(&mut self, jobs: &[u64]) -> Result<Vec<u64>, Error>;
    /// All jobs are replaced by those of a real system, in service in order of start and waiting in order of arrival, and
    /// the policy has the given state. Returns their numbers.
    fn resume(&mut self, jobs: [&[RealJob]; 2], policy: &[i64]) -> Result<Vec<u64>, Error>;
    /// The job of a class in service that started first.
    fn first_running(&self, class: u32) -> Option<u64>;
    /// The waiting job for which the policy keeps servers free.
    fn reserved(&mut self) -> Option<u64>;
    /// The policy is asked once more; returns the numbers of the jobs that start.
    fn ask(&mut self) -> Result<Vec<u64>, Error>;
    /// The time of the policy's timer, seconds.
    fn wake_at(&mut self) -> f64;
    /// The state.
    fn state(&self) -> State;
    /// Restores a state; the jobs there get new numbers.
    fn restore(&mut self, state: &State) -> Result<(), Error>;
    /// The counts.
    fn station(&self) -> &Station;
    /// Numbers, classes of the jobs waiting (in order of arrival), and of those in service (in order of start).
    fn jobs(&self) -> [Vec<(u64, u32)>; 2];
}

/// A nonpreemptive policy and its system.
#[derive(Clone)]
pub struct Stepper<P> {
    system: System,
    policy: P,
    fresh: P,
    station: Station,
    book: Book,
    numbers: std::collections::HashMap<u64, Slot>,
    next: u64,
}

impl<P: Policy> Stepper<P> {
    /// An empty system at time 0.
    pub fn new(system: &System, policy: P) -> Self {
        Self {
            station: Station::new(system, true),
            // the chains of all jobs are kept whatever the policy uses: the caller may request them
            book: Book::new(system.classes.len(), true),
            system: system.clone(),
            fresh: policy.clone(),
            policy,
            numbers: std::collections::HashMap::new(),
            next: 0,
        }
    }

    fn view(&self) -> View<'_> {
        View { station: &self.station, book: &self.book }
    }

    /// The order of arrival belongs to the state: the policy uses it, or some classes share a need.
    fn remembers_order(&self) -> bool {
        self.policy.remembers_order() || self.station.level_needs().len() < self.station.classes()
    }

    fn enter(&mut self, class: u32, estimate: f64) -> u64 {
        let number = self.next;
        self.next += 1;
        let slot = self.book.enter(class, class as usize, number, self.station.now(), f64::NAN, estimate);
        self.numbers.insert(number, slot);
        self.station.arrive(class, number);
        if P::HOOKS {
            self.policy.arrived(View { station: &self.station, book: &self.book }, class, slot);
        }
        number
    }

    fn begin(&mut self, slot: Slot) -> u64 {
        let (class, number) = (self.book.job(slot).class, self.book.job(slot).number);
        self.book.begin(class as usize, slot);
        self.book.job_mut(slot).start = self.station.now();
        let book = &self.book;
        self.station.start(class, || book.lane(class as usize).first().map(|next| book.job(next).number));
        number
    }

    /// Replaces all jobs by others, in service in order of start and waiting in order of arrival.
    fn replace(&mut self, [running, waiting]: [&[RealJob]; 2], policy: &[i64]) -> Result<(), Error> {
        let mut new = Self::new(&self.system, self.fresh.clone());
        new.next = self.next;
        for &(class, start, estimate) in running {
            new.station.set_now(start);
            let number = new.enter(class, estimate);
            let slot = new.numbers[&number];
            new.begin(slot);
        }
        for &(class, arrival, estimate) in waiting {
            new.station.set_now(arrival);
            new.enter(class, estimate);
        }
        new.station.set_now(self.station.now());
        let mut restored = self.fresh.clone();
        restored.restore(policy, new.view())?;
        new.policy = restored;
        *self = new;
        Ok(())
    }

    fn check_room(&self, used: u64, running: impl std::fmt::Debug) -> Result<(), Error> {
        if used <= u64::from(self.system.servers) {
            return Ok(());
        }
        let allowed = format!("jobs that need at most {} servers, not {used}", self.system.servers);
        Err(Error::argument("running", running, allowed))
    }

    fn check_class(&self, class: u32) -> Result<(), Error> {
        let classes = self.station.classes();
        if (class as usize) < classes {
            return Ok(());
        }
        Err(Error::argument("class", class, format!("from 0 to {}", classes - 1)))
    }
}

impl<P: Policy> Steps for Stepper<P> {
    fn wait_until(&mut self, now: f64) -> Result<(), Error> {
        if !now.is_finite() || now < self.station.now() {
            let here = self.station.now();
            return Err(Error::argument("time", now, format!("finite and at least {here}")));
        }
        self.station.set_now(now);
        Ok(())
    }

    fn arrive(&mut self, classes: &[u32], estimates: &[f64]) -> Result<(Vec<u64>, Vec<u64>), Error> {
        classes.iter().try_for_each(|&class| self.check_class(class))?;
        let numbers = classes.iter().zip(estimates).map(|(&class, &estimate)| self.enter(class, estimate)).collect();
        Ok((numbers, self.ask()?))
    }

    fn complete(&mut self, jobs: &[u64]) -> Result<Vec<u64>, Error> {
        let mut slots = Vec::with_capacity(jobs.len());
        for (i, job) in jobs.iter().enumerate() {
            match self.numbers.get(job) {
                Some(&slot) if !self.book.job(slot).start.is_nan() && !jobs[..i].contains(job) => slots.push(slot),
                _ => return Err(Error::argument("job", job, "a job in service, given once")),
            }
        }
        for (&slot, job) in slots.iter().zip(jobs) {
            let class = self.book.job(slot).class;
            if P::ENDS {
                self.policy.ended(View { station: &self.station, book: &self.book }, class, slot);
            }
            self.station.complete(class);
            self.book.leave(slot);
            self.numbers.remove(job);
        }
        self.ask()
    }

    fn resume(&mut self, jobs: [&[RealJob]; 2], policy: &[i64]) -> Result<Vec<u64>, Error> {
        for &(class, time, estimate) in jobs.into_iter().flatten() {
            self.check_class(class)?;
            let now = self.station.now();
            if !(0.0..=now).contains(&time) {
                return Err(Error::argument("time of a job", time, format!("from 0 to {now}")));
            }
            if estimate.is_nan() || estimate < 0.0 {
                return Err(Error::argument("estimate of a job", estimate, "at least 0"));
            }
        }
        let used = jobs[0].iter().map(|job| u64::from(self.station.need(job.0))).sum();
        self.check_room(used, jobs[0])?;
        let first = self.next;
        self.replace(jobs, policy)?;
        Ok((first..self.next).collect())
    }

    fn reserved(&mut self) -> Option<u64> {
        let slot = self.policy.reserved(View { station: &self.station, book: &self.book })?;
        Some(self.book.job(slot).number)
    }

    fn first_running(&self, class: u32) -> Option<u64> {
        self.book.walk(self.book.running()).find(|(_, job)| job.class == class).map(|(_, job)| job.number)
    }

    fn ask(&mut self) -> Result<Vec<u64>, Error> {
        let mut started = Vec::new();
        loop {
            let choice = self.policy.next(View { station: &self.station, book: &self.book });
            let slot = match choice {
                Choice::Wait => return Ok(started),
                Choice::Head(class) => self.book.lane(class as usize).first(),
                Choice::Job(slot) => Some(slot),
                Choice::Fault => None,
            };
            let Some(slot) = slot else { return Err(Error::Answer(choice)) };
            let class = self.book.job(slot).class;
            if !self.station.can_start(class) {
                return Err(Error::Answer(choice));
            }
            if P::HOOKS {
                self.policy.starting(View { station: &self.station, book: &self.book }, class, slot);
            }
            started.push(self.begin(slot));
        }
    }

    fn wake_at(&mut self) -> f64 {
        self.policy.wake_at(View { station: &self.station, book: &self.book })
    }

    fn state(&self) -> State {
        let classes = 0..self.station.classes() as u32;
        let order =
            self.remembers_order().then(|| self.book.walk(self.book.order()).map(|(_, job)| job.class).collect());
        State {
            waiting: classes.clone().map(|c| self.station.waiting(c)).collect(),
            running: classes.map(|c| self.station.running(c)).collect(),
            order,
            policy: self.policy.save(),
        }
    }

    fn restore(&mut self, state: &State) -> Result<(), Error> {
        let classes = self.station.classes();
        if state.waiting.len() != classes || state.running.len() != classes {
            let given = (&state.waiting, &state.running);
            return Err(Error::argument("waiting and running", given, format!("{classes} counts each")));
        }
        let used = state.running.iter().zip(&self.system.classes).map(|(&n, c)| u64::from(n) * u64::from(c.need)).sum();
        self.check_room(used, &state.running)?;
        let order = match &state.order {
            Some(order) => order.clone(),
            None if self.remembers_order() => {
                return Err(Error::argument("order", None::<()>, "given, since this policy uses the order of arrival"));
            }
            None => (0..).zip(&state.waiting).flat_map(|(class, &n)| std::iter::repeat_n(class, n as usize)).collect(),
        };
        let mut counts = vec![0; classes];
        for &class in &order {
            self.check_class(class)?;
            counts[class as usize] += 1;
        }
        if counts != state.waiting {
            return Err(Error::argument("order", order, "the classes of the waiting jobs in order of arrival"));
        }
        let now = self.station.now();
        let counts = (0u32..).zip(&state.running);
        let running: Vec<RealJob> =
            counts.flat_map(|(class, &jobs)| std::iter::repeat_n((class, now, f64::NAN), jobs as usize)).collect();
        let waiting: Vec<RealJob> = order.into_iter().map(|class| (class, now, f64::NAN)).collect();
        self.replace([&running, &waiting], &state.policy)
    }

    fn station(&self) -> &Station {
        &self.station
    }

    fn jobs(&self) -> [Vec<(u64, u32)>; 2] {
        [self.book.order(), self.book.running()]
            .map(|chain| self.book.walk(chain).map(|(_, j)| (j.number, j.class)).collect())
    }
}

/// Builds a stepper for the concrete policy type.
#[derive(Clone, Copy)]
pub struct StepperBuilder<'a>(pub &'a System);

impl PolicyVisitor for StepperBuilder<'_> {
    type Output = Result<Box<dyn Steps>, Error>;

    fn visit<P: Policy + 'static>(self, policy: P) -> Self::Output {
        if P::RANDOM {
            return Err(Error::Unsupported("step-by-step access requires a policy without random numbers"));
        }
        Ok(Box::new(Stepper::new(self.0, policy)))
    }

    fn visit_preemptive<P: Preemptive + 'static>(self, _: P, _: Option<Costs>) -> Self::Output {
        Err(Error::Unsupported("step-by-step access requires a nonpreemptive policy"))
    }
}
