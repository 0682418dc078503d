//! The waiting jobs by whether they are due.

use std::collections::BTreeSet;

use crate::book::{Job, Slot};
use crate::error::Error;
use crate::policy::Parameters;

/// A job is due from the time on at which it has waited for the longer of a number of seconds and a multiple of its
/// estimated size.
#[derive(Clone, Debug)]
pub struct DueJobs {
    /// Seconds; infinite if no job is ever due.
    least: f64,
    /// Multiple of the estimated size.
    factor: f64,
    /// Times at which jobs become due (bits of seconds, which are in the order of their values), numbers and slots.
    later: BTreeSet<(u64, u64, Slot)>,
    /// Numbers and slots of the due jobs.
    due: BTreeSet<(u64, Slot)>,
}

impl DueJobs {
    /// None if every job is due on its arrival.
    pub fn new(patience: &Parameters<'_>) -> Result<Option<Self>, Error> {
        let (least, factor): (Option<f64>, f64) = (patience.get("least")?, patience.get("factor")?);
        let least = least.unwrap_or(f64::INFINITY);
        if !(least >= 0.0 && factor >= 0.0 && factor.is_finite()) {
            return Err(Error::argument("least and factor", (least, factor), "not negative"));
        }
        let due = Self { least, factor, later: BTreeSet::new(), due: BTreeSet::new() };
        Ok((least > 0.0 || factor > 0.0).then_some(due))
    }

    /// A job arrives.
    #[inline]
    pub fn insert(&mut self, job: &Job, slot: Slot) {
        let time = self.time(job);
        if time < f64::INFINITY {
            self.later.insert((time.to_bits(), job.number, slot));
        }
    }

    /// A job starts.
    #[inline]
    pub fn remove(&mut self, job: &Job, slot: Slot) {
        if !self.due.remove(&(job.number, slot)) {
            self.later.remove(&(self.time(job).to_bits(), job.number, slot));
        }
    }

    /// The oldest job that is due now.
    #[inline]
    pub fn oldest(&mut self, now: f64) -> Option<Slot> {
        while let Some(&entry) = self.later.first().filter(|entry| f64::from_bits(entry.0) <= now) {
            self.later.remove(&entry);
            self.due.insert((entry.1, entry.2));
        }
        self.due.first().map(|&(_, slot)| slot)
    }

    /// When the next job becomes due, if one is due already; otherwise infinite.
    #[inline]
    pub fn next_time(&self) -> f64 {
        let next = self.later.first().filter(|_| !self.due.is_empty());
        next.map_or(f64::INFINITY, |entry| f64::from_bits(entry.0))
    }

    #[inline]
    fn time(&self, job: &Job) -> f64 {
        job.arrival + self.least.max(self.factor * job.expected)
    }
}
