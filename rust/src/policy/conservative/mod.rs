//! Conservative backfilling: every waiting job has a reservation, and starts when it is due.
//!
//! The profile is the number of servers without a reservation at each future time: a job in service holds its servers
//! until its estimated end, a waiting one from its reservation on for its estimated size. In an instant with events, in this
//! order:
//!
//! 1. If a reservation lies in the past it was missed, since a job in service has outlived its estimate. Then, or if the
//!    estimate of a job in service has been raised, all reservations are cancelled: step 2 gives new ones, as to jobs that arrive now.
//! 2. Each waiting job with a reservation, in order of arrival, releases it and takes the earliest one for which its servers
//!    are free in the profile for its estimated size, never a later one; this repeats until no reservation changes. (None
//!    changes unless a job has completed before its estimated end.) Then each other job takes the earliest reservation.
//! 3. The oldest job starts whose reservation is now and that fits. One that does not fit waits for a job that has outlived
//!    its estimate, and which the profile takes to end now.
//!
//! A reservation that comes due between two instants with events is an instant of its own (a timer). Nothing has changed
//! then, so only step 3 is taken: a missed reservation stays missed until the next event. Most reservations are the
//! estimated end of a job in service, which ends then. But where one job has outlived its estimate and another one has not,
//! a job may fit at its reservation although nothing ends.
//!
//! A job with an estimated size of 0 reserves the shortest interval that a float can represent; its completion then counts
//! as an early end.

mod need_index;

use std::collections::BTreeSet;

use super::shared::{Profile, until};
use super::{Choice, Parameters, Policy, PolicyVisitor, Sight, View};
use crate::book::{Job, Slot};
use crate::error::Error;
use need_index::NeedIndex;

pub(super) fn build<V: PolicyVisitor>(parameters: &Parameters<'_>, visitor: V) -> Result<V::Output, Error> {
    Ok(visitor.visit(Conservative::new(parameters.system().servers)))
}

/// Of a job that is not a candidate.
const NO_INTERVAL: (f64, f64) = (f64::INFINITY, 0.0);

/// Conservative.
#[derive(Clone)]
struct Conservative {
    profile: Profile,
    /// Reservation of each waiting job, seconds, by slot.
    reserved: Vec<f64>,
    /// The same in order: time (bits of seconds, which are in the order of their values), number of the job, slot.
    reservations: BTreeSet<(u64, u64, Slot)>,
    /// Jobs that have no reservation yet, in order of arrival.
    unreserved: Vec<Slot>,
    /// The jobs that have one, by need.
    needs: NeedIndex,
    /// The jobs that may be earlier than their reservation, in order of arrival: number, slot.
    candidates: BTreeSet<(u64, Slot)>,
    /// From when and until when servers have become free for each of them, seconds, by slot.
    freed: Vec<(f64, f64)>,
    /// Jobs have arrived or completed since the last decision.
    changed: bool,
    /// Estimates have been raised since the last decision.
    corrected: bool,
}

impl Conservative {
    fn new(servers: u32) -> Self {
        Self {
            profile: Profile::new(servers),
            needs: NeedIndex::new(servers),
            reserved: Vec::new(),
            reservations: BTreeSet::new(),
            unreserved: Vec::new(),
            candidates: BTreeSet::new(),
            freed: Vec::new(),
            changed: false,
            corrected: false,
        }
    }

    /// Gives a job that has no reservation the earliest one.
    fn reserve(&mut self, slot: Slot, job: &Job, need: u32, now: f64) {
        let time =
            self.profile.earliest(now, need, job.expected, f64::INFINITY, f64::INFINITY).unwrap_or(f64::INFINITY);
        self.profile.reserve(time, until(time, job.expected), need);
        self.reservations.insert((time.to_bits(), job.number, slot));
        self.needs.insert(need, job.number, slot);
        self.reserved[slot as usize] = time;
    }

    /// Servers have become free from one time to another, seconds: records the jobs that may now start earlier.
    ///
    /// Each job has its earliest reservation as long as no server becomes free. An earlier interval of service must
    /// therefore contain a time at which enough servers are free now and were not before.
    fn note_freed(&mut self, from: f64, to: f64, need: u32) {
        let Some(latest) = self.reservations.last().map(|&(time, ..)| f64::from_bits(time)) else { return };
        let Self { profile, needs, reserved, freed, candidates, .. } = self;
        profile.risen(
            from,
            to.min(latest),
            need,
            |low, high| needs.any(low, high),
            |low, high, begin, end| {
                for (number, slot) in needs.between(low, high) {
                    if reserved[slot as usize] > begin {
                        let (first, last) = &mut freed[slot as usize];
                        if *last == 0.0 {
                            candidates.insert((number, slot));
                        }
                        (*first, *last) = (first.min(begin), last.max(end));
                    }
                }
            },
        );
    }

    /// Takes each job in order of arrival out of the profile, and puts it in again as early as it can be; again and again,
    /// until no reservation changes. Only the candidates are examined.
    fn compress(&mut self, view: View<'_>) {
        let now = view.station.now();
        let mut next = 0;
        while let Some(&(number, slot)) = self.candidates.range((next, 0)..).next().or_else(|| self.candidates.first())
        {
            self.candidates.remove(&(number, slot));
            let job = view.book.job(slot);
            self.move_earlier(slot, job, view.station.need(job.class), now);
            next = number + 1;
        }
    }

    /// Gives a job an earlier reservation, if there is one.
    fn move_earlier(&mut self, slot: Slot, job: &Job, need: u32, now: f64) {
        let old = self.reserved[slot as usize];
        let (first, last) = std::mem::replace(&mut self.freed[slot as usize], NO_INTERVAL);
        // an interval that ends before the first freed time is no gain; the margin covers rounding
        let from = now.max(first - job.expected - 4.0 * f64::EPSILON * first);
        // from its reservation on its own servers are free, once it has given them back
        let Some(time) = self.profile.earliest(from, need, job.expected, old, last) else { return };
        let (end, before) = (until(time, job.expected), until(old, job.expected));
        self.profile.reserve(time, end.min(old), need);
        self.profile.release(end.max(old), before, need);
        self.reservations.remove(&(old.to_bits(), job.number, slot));
        self.reservations.insert((time.to_bits(), job.number, slot));
        self.reserved[slot as usize] = time;
        self.note_freed(end.max(old), before, need);
    }

    /// Cancels all reservations: those of the waiting jobs are released, or the profile is made anew if fewer jobs are in
    /// service.
    #[cold]
    fn reset(&mut self, view: View<'_>) {
        let now = view.station.now();
        let reservations = std::mem::take(&mut self.reservations);
        if reservations.len() < view.book.len() - view.station.total_waiting() as usize {
            for (time, _, slot) in reservations {
                let (time, job) = (f64::from_bits(time), view.book.job(slot));
                self.profile.release(time, until(time, job.expected), view.station.need(job.class));
            }
        } else {
            self.profile.clear(now);
            for (_, job) in view.book.walk(view.book.running()) {
                self.profile.reserve(now, until(job.start, job.expected), view.station.need(job.class));
            }
        }
        self.unreserved.clear();
        self.unreserved.extend(view.book.walk(view.book.order()).map(|(slot, _)| slot));
        self.needs.clear();
        while let Some((_, slot)) = self.candidates.pop_first() {
            self.freed[slot as usize] = NO_INTERVAL;
        }
    }
}

impl Policy for Conservative {
    const HOOKS: bool = true;
    const ENDS: bool = true;
    const TIMERS: bool = true;

    fn sight(&self) -> Sight {
        Sight::Jobs
    }

    #[inline]
    fn next(&mut self, view: View<'_>) -> Choice {
        let (free, now) = (view.station.free(), view.station.now());
        let missed = || self.reservations.first().is_some_and(|&(time, ..)| f64::from_bits(time) < now);
        if self.corrected || self.changed && missed() {
            self.reset(view);
        }
        (self.changed, self.corrected) = (false, false);
        self.compress(view);
        self.profile.forget(now);
        for place in 0..self.unreserved.len() {
            let slot = self.unreserved[place];
            let job = view.book.job(slot);
            self.reserve(slot, job, view.station.need(job.class), now);
        }
        self.unreserved.clear();
        let due =
            self.reservations.range((now.to_bits(), 0, 0)..).take_while(|&&(time, ..)| f64::from_bits(time) <= now);
        let mut fitting = due.filter(|&&(.., slot)| view.station.need(view.book.job(slot).class) <= free);
        fitting.next().map_or(Choice::Wait, |&(.., slot)| Choice::Job(slot))
    }

    #[inline]
    fn arrived(&mut self, _: View<'_>, _: u32, slot: Slot) {
        if self.reserved.len() <= slot as usize {
            self.reserved.resize(slot as usize + 1, f64::NAN);
            self.freed.resize(slot as usize + 1, NO_INTERVAL);
        }
        self.reserved[slot as usize] = f64::NAN;
        self.unreserved.push(slot);
        self.changed = true;
    }

    #[inline]
    fn starting(&mut self, view: View<'_>, class: u32, slot: Slot) {
        let number = view.book.job(slot).number;
        self.reservations.remove(&(self.reserved[slot as usize].to_bits(), number, slot));
        self.needs.remove(view.station.need(class), number, slot);
    }

    #[inline]
    fn ended(&mut self, view: View<'_>, class: u32, slot: Slot) {
        let (job, now) = (view.book.job(slot), view.station.now());
        let end = until(job.start, job.expected);
        if end > now {
            let need = view.station.need(class);
            self.profile.release(now, end, need);
            self.note_freed(now, end, need);
        }
        self.changed = true;
    }

    fn corrected(&mut self, view: View<'_>, class: u32, slot: Slot, old: f64) {
        let (job, now) = (view.book.job(slot), view.station.now());
        let from = until(job.start, old).max(now);
        self.profile.reserve(from, until(job.start, job.expected), view.station.need(class));
        self.corrected = true;
    }

    /// The next reservation.
    #[inline]
    fn wake_at(&mut self, view: View<'_>) -> f64 {
        let later = (view.station.now().to_bits() + 1, 0, 0);
        self.reservations.range(later..).next().map_or(f64::INFINITY, |&(time, ..)| f64::from_bits(time))
    }

    fn restore(&mut self, _: &[i64], _: View<'_>) -> Result<(), Error> {
        Err(Error::Unsupported("policy conservative uses estimated sizes, which a state does not contain"))
    }
}
