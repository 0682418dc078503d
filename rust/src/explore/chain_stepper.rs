//! One transition at a time: read a state, apply an event, let the policy start jobs, write the new state.

use super::ExplorationSettings;
use crate::book::{Book, NO_JOB, Slot};
use crate::error::Error;
use crate::policy::{Choice, Policy, Sight, View};
use crate::station::Station;
use crate::system::System;

/// Class of a waiting job that has started.
const STARTED: u32 = u32::MAX;

/// A system under a policy that is set to a state and moved by one event.
#[derive(Clone)]
pub(super) struct ChainStepper<P> {
    policy: P,
    station: Station,
    /// The individual jobs, if the policy uses them.
    book: Option<Book>,
    no_jobs: Book,
    /// Classes of the waiting jobs, oldest first; their place is their number.
    order: Vec<u32>,
    /// The order is kept; otherwise the key of a head of line is the number of its class, which affects no decision.
    listed: bool,
    /// The order belongs to the state.
    ordered: bool,
    /// The order belongs to the state only within levels of equal need.
    by_level: bool,
    forgets: bool,
    window: Option<u64>,
    /// Jobs behind the window.
    behind: u32,
    waiting: Vec<u32>,
    running: Vec<u32>,
    keys: Vec<u64>,
}

impl<P: Policy> ChainStepper<P> {
    pub(super) fn new(system: &System, policy: P, settings: &ExplorationSettings) -> Self {
        let classes = system.classes.len();
        let station = Station::new(system, true);
        let shared = station.level_needs().len() < classes;
        let remembers = policy.remembers_order();
        let jobs = policy.sight() == Sight::Jobs;
        let ordered = remembers || shared || settings.every_order;
        Self {
            book: jobs.then(|| Book::new(classes, true)),
            no_jobs: Book::new(classes, true),
            order: Vec::new(),
            listed: ordered || jobs,
            ordered,
            by_level: !remembers && !settings.every_order,
            forgets: !settings.every_order,
            window: if settings.every_order { None } else { policy.window() },
            behind: 0,
            waiting: vec![0; classes],
            running: vec![0; classes],
            keys: vec![0; classes],
            station,
            policy,
        }
    }

    pub(super) fn has_window(&self) -> bool {
        self.window.is_some()
    }

    /// Jobs of a class that are present; those behind the window for the number after the last class.
    pub(super) fn present(&self, class: usize) -> u32 {
        if class < self.waiting.len() { self.station.present(class as u32) } else { self.behind }
    }

    /// A job that arrives now is behind the window.
    pub(super) fn is_full(&self) -> bool {
        self.window.is_some_and(|window| self.behind > 0 || self.station.total_waiting() >= window)
    }

    pub(super) fn arrive_behind(&mut self) {
        self.behind += 1;
    }

    /// A job arrives, its class known.
    pub(super) fn enter(&mut self, class: u32) {
        let key = if self.listed { self.order.len() as u64 } else { class.into() };
        let slot = match &mut self.book {
            Some(book) => book.enter(class, class as usize, key, self.station.now(), f64::NAN, f64::NAN),
            None => NO_JOB,
        };
        if self.listed {
            self.order.push(class);
        }
        self.station.arrive(class, key);
        if P::HOOKS {
            let book = self.book.as_ref().unwrap_or(&self.no_jobs);
            self.policy.arrived(View { station: &self.station, book }, class, slot);
        }
    }

    /// A job behind the window can enter it.
    pub(super) fn may_reveal(&self) -> bool {
        self.behind > 0 && self.window.is_some_and(|window| self.station.total_waiting() < window)
    }

    /// The oldest job behind the window enters it, with this class.
    pub(super) fn reveal(&mut self, class: u32) {
        self.behind -= 1;
        self.enter(class);
    }

    pub(super) fn complete(&mut self, class: u32) {
        let book = self.book.as_ref().unwrap_or(&self.no_jobs);
        let slot = book.walk(book.running()).find(|(_, job)| job.class == class).map(|(slot, _)| slot);
        if P::ENDS {
            self.policy.ended(View { station: &self.station, book }, class, slot.unwrap_or(NO_JOB));
        }
        self.station.complete(class);
        if let Some((book, slot)) = self.book.as_mut().zip(slot) {
            book.leave(slot);
        }
    }

    /// Asks the policy once, and starts the job it chooses; false if it chooses none.
    pub(super) fn start_one(&mut self) -> Result<bool, Error> {
        let book = self.book.as_ref().unwrap_or(&self.no_jobs);
        let choice = self.policy.next(View { station: &self.station, book });
        let fault = Err(Error::Answer(choice));
        let (class, slot) = match choice {
            Choice::Wait => return Ok(false),
            Choice::Head(class) => (class, book.lane(class as usize).first().unwrap_or(NO_JOB)),
            Choice::Job(slot) if self.book.is_some() => (book.job(slot).class, slot),
            _ => return fault,
        };
        if !self.station.can_start(class) {
            return fault;
        }
        if P::HOOKS {
            self.policy.starting(View { station: &self.station, book }, class, slot);
        }
        self.start(class, slot);
        Ok(true)
    }

    fn start(&mut self, class: u32, slot: Slot) {
        let started = match &mut self.book {
            Some(book) => {
                let number = book.job(slot).number;
                book.begin(class as usize, slot);
                Some(number as usize)
            }
            None => self.order.iter().position(|&each| each == class),
        };
        if let Some(place) = started.and_then(|at| self.order.get_mut(at)) {
            *place = STARTED;
        }
        let (order, listed) = (&self.order, self.listed);
        self.station.start(class, || match listed {
            true => order.iter().position(|&each| each == class).map(|at| at as u64),
            false => Some(class.into()),
        });
    }

    /// The state of a policy with a timer is not described by counts.
    pub(super) fn check_asleep(&mut self) -> Result<(), Error> {
        if P::TIMERS {
            let book = self.book.as_ref().unwrap_or(&self.no_jobs);
            if self.policy.wake_at(View { station: &self.station, book }) < f64::INFINITY {
                return Err(Error::Unsupported("asks to be woken at certain times"));
            }
        }
        Ok(())
    }

    /// Writes the state as words (see [`super::StateTable`]).
    pub(super) fn write(&mut self, words: &mut Vec<u32>) {
        let classes = self.waiting.len() as u32;
        words.clear();
        words.extend((0..classes).map(|class| self.station.running(class)));
        words.extend((0..classes).map(|class| self.station.waiting(class)));
        words.push(self.behind);
        let own = self.policy.save();
        words.push(own.len() as u32);
        words.extend(own.iter().flat_map(|&value| [value as u32, (value >> 32) as u32]));
        if !self.ordered {
            return;
        }
        self.order.retain(|&class| class != STARTED);
        if self.by_level {
            let station = &self.station;
            self.order.sort_by_key(|&class| station.level(class)); // stable
        } else if self.forgets {
            self.policy.forget_order(&self.station, &mut self.order);
        }
        words.extend_from_slice(&self.order);
    }

    /// Reads a state that was written.
    pub(super) fn read(&mut self, words: &[u32]) -> Result<(), Error> {
        let classes = self.waiting.len();
        let (running, rest) = words.split_at(classes);
        let (waiting, rest) = rest.split_at(classes);
        let (behind, length) = (rest[0], rest[1] as usize);
        let (own, order) = rest[2..].split_at(2 * length);
        self.running.copy_from_slice(running);
        self.waiting.copy_from_slice(waiting);
        self.behind = behind;
        self.order.clear();
        if self.ordered {
            self.order.extend_from_slice(order);
        } else if self.listed {
            for (class, &number) in (0..).zip(waiting) {
                self.order.extend(std::iter::repeat_n(class, number as usize));
            }
        }
        for (class, key) in (0..).zip(&mut self.keys) {
            *key = match self.listed {
                true => self.order.iter().position(|&each| each == class).unwrap_or(0) as u64,
                false => class.into(),
            };
        }
        self.station.replace(waiting, running, &self.keys);
        if self.book.is_some() {
            self.book = Some(self.enter_all());
        }
        let own: Vec<i64> = own.chunks_exact(2).map(|w| i64::from(w[0]) | (i64::from(w[1]) << 32)).collect();
        let book = self.book.as_ref().unwrap_or(&self.no_jobs);
        self.policy.restore(&own, View { station: &self.station, book })
    }

    /// The book of all jobs.
    fn enter_all(&self) -> Book {
        let mut book = Book::new(self.waiting.len(), true);
        for (class, &number) in (0..).zip(&self.running) {
            for _ in 0..number {
                let slot = book.enter(class, class as usize, 0, 0.0, f64::NAN, f64::NAN);
                book.begin(class as usize, slot);
            }
        }
        for (number, &class) in (0..).zip(&self.order) {
            book.enter(class, class as usize, number, 0.0, f64::NAN, f64::NAN);
        }
        book
    }
}
