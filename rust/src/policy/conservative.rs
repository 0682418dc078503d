//! Conservative backfilling: every waiting job has a reservation, and starts when it comes.
//!
//! The profile says how many servers nobody has been promised, at each time to come: a job in service holds its servers
//! until its estimated end, a waiting one from its reservation on for its estimated size. In an instant with events, in this
//! order:
//!
//! 1. If a reservation lies in the past it was missed, since a job in service has outlived its estimate. Then all
//!    reservations are void: step 2 gives new ones, as to jobs that arrive now.
//! 2. Each waiting job that has a reservation, in order of arrival, gives it back and takes the earliest one that finds its
//!    servers free in the profile for its estimated size, which is never a later one; and again, until none is earlier than
//!    before. (Nothing comes of it unless a job has ended before its estimate.) Then the other jobs get the earliest one.
//! 3. The oldest job starts whose reservation is now and that fits. One that does not fit waits for a job that has outlived
//!    its estimate, and which the profile takes to end now.
//!
//! A job estimated to take no time is promised the shortest that there is; that it is gone at once then counts as an early
//! end. No timer is needed: the next reservation to come is the estimated end of a job in service, since it would else be
//! earlier; so that job ends, or it still holds the servers.

use std::collections::BTreeSet;

use super::estimates::{Profile, until};
use super::{Choice, Parameters, Policy, Sight, View};
use crate::book::{Job, NOBODY, Slot};

/// Conservative.
#[derive(Clone)]
pub struct Conservative {
    profile: Profile,
    /// Reservation of each waiting job, seconds, by slot.
    reserved: Vec<f64>,
    /// The same in order: time (bits of seconds, which are in the order of their values), number of the job, slot.
    agenda: BTreeSet<(u64, u64, Slot)>,
    /// Jobs that have no reservation yet, in order of arrival.
    fresh: Vec<Slot>,
    /// From when on nothing has been freed since the last decision, seconds: jobs have ended before their estimates.
    changed: f64,
}

impl Conservative {
    pub(super) fn build(parameters: &Parameters<'_>) -> Result<Self, String> {
        Ok(Self {
            profile: Profile::new(parameters.system().servers),
            reserved: Vec::new(),
            agenda: BTreeSet::new(),
            fresh: Vec::new(),
            changed: 0.0,
        })
    }

    /// Gives a job that has no reservation the earliest one.
    fn place(&mut self, slot: Slot, job: &Job, need: u32, now: f64) {
        let time =
            self.profile.earliest(now, need, job.expected, f64::INFINITY, f64::INFINITY).unwrap_or(f64::INFINITY);
        self.profile.take(time, until(time, job.expected), need);
        self.agenda.insert((time.to_bits(), job.number, slot));
        self.reserved[slot as usize] = time;
    }

    /// Takes each job in order of arrival out of the profile, and puts it in again as early as it can be; again and again,
    /// until all have been looked at since the last of them was moved.
    fn compress(&mut self, view: View<'_>) {
        let now = view.station.now();
        let mut last = NOBODY;
        loop {
            let mut moved = false;
            for (slot, job) in view.book.walk(view.book.order()) {
                if self.hasten(slot, job, view.station.need(job.class), now) {
                    (last, moved) = (slot, true);
                } else if slot == last {
                    return;
                }
            }
            if !moved {
                return;
            }
        }
    }

    /// Gives a job an earlier reservation, if it can be had.
    #[inline]
    fn hasten(&mut self, slot: Slot, job: &Job, need: u32, now: f64) -> bool {
        let old = self.reserved[slot as usize];
        if old <= now || old.is_nan() {
            return false;
        }
        // from its reservation on its own servers are free, once it has given them back; and what has been as it was is in vain
        let Some(time) = self.profile.earliest(now, need, job.expected, old, self.changed) else { return false };
        self.profile.give(old, until(old, job.expected), need);
        self.profile.take(time, until(time, job.expected), need);
        self.changed = self.changed.max(until(old, job.expected));
        self.agenda.remove(&(old.to_bits(), job.number, slot));
        self.agenda.insert((time.to_bits(), job.number, slot));
        self.reserved[slot as usize] = time;
        true
    }

    /// Forgets all reservations.
    #[cold]
    fn start_afresh(&mut self, view: View<'_>) {
        let now = view.station.now();
        self.agenda.clear();
        self.profile.clear(now);
        for (_, job) in view.book.walk(view.book.running()) {
            self.profile.take(now, until(job.start, job.expected), view.station.need(job.class));
        }
        self.fresh.clear();
        self.fresh.extend(view.book.walk(view.book.order()).map(|(slot, _)| slot));
        self.changed = 0.0;
    }
}

impl Policy for Conservative {
    const HOOKS: bool = true;
    const ENDS: bool = true;

    fn sight(&self) -> Sight {
        Sight::Jobs
    }

    #[inline]
    fn next(&mut self, view: View<'_>) -> Choice {
        let (free, now) = (view.station.free(), view.station.now());
        if self.agenda.first().is_some_and(|&(time, ..)| f64::from_bits(time) < now) {
            self.start_afresh(view);
        }
        if self.changed > 0.0 {
            self.compress(view);
            self.changed = 0.0;
        }
        self.profile.forget(now);
        for place in 0..self.fresh.len() {
            let slot = self.fresh[place];
            let job = view.book.job(slot);
            self.place(slot, job, view.station.need(job.class), now);
        }
        self.fresh.clear();
        let due = self.agenda.iter().take_while(|&&(time, ..)| f64::from_bits(time) <= now);
        let mut fitting = due.filter(|&&(.., slot)| view.station.need(view.book.job(slot).class) <= free);
        fitting.next().map_or(Choice::Wait, |&(.., slot)| Choice::Job(slot))
    }

    #[inline]
    fn arrived(&mut self, _: View<'_>, _: u32, slot: Slot) {
        if self.reserved.len() <= slot as usize {
            self.reserved.resize(slot as usize + 1, f64::NAN);
        }
        self.reserved[slot as usize] = f64::NAN;
        self.fresh.push(slot);
    }

    #[inline]
    fn starting(&mut self, view: View<'_>, _: u32, slot: Slot) {
        self.agenda.remove(&(self.reserved[slot as usize].to_bits(), view.book.job(slot).number, slot));
    }

    #[inline]
    fn ended(&mut self, view: View<'_>, class: u32, slot: Slot) {
        let (job, now) = (view.book.job(slot), view.station.now());
        let end = until(job.start, job.expected);
        if end > now {
            self.profile.give(now, end, view.station.need(class));
            self.changed = self.changed.max(end);
        }
    }

    fn restore(&mut self, _: &[i64], _: View<'_>) -> Result<(), String> {
        Err("policy conservative looks at estimated sizes, which a state does not hold".into())
    }
}
