//! EASY backfilling, with patience.
//!
//! A waiting job is *due* once it has waited long enough; without patience every job is. At each instant:
//! 1. Due jobs that fit start in order of arrival, or in the order of the policy if its first job has the reservation. The
//!    first one that does not fit is the *target*.
//! 2. Without a target, each waiting job that fits starts, in the order of the policy.
//! 3. With a target, its *shadow* is the first time at which it would fit, were all estimates exact, and *extra* is what
//!    would be free then beyond its need. In the order of the policy, each waiting job starts that fits now and that either
//!    is estimated to end no later than the shadow or needs no more than the extra servers. A job beyond its estimated end
//!    is taken to end now.
//!
//! The policy also decides when a job becomes due. This changes nothing without a target, as no waiting job fits then.

mod due_jobs;
mod queue_tree;
mod ranked_queue;
mod urgency_queue;

use super::shared::EstimatedEnds;
use super::{Choice, Parameters, Policy, PolicyVisitor, Sight, View};
use crate::book::Slot;
use crate::error::Error;
use due_jobs::DueJobs;
use queue_tree::QueueTree;
use ranked_queue::{RankedQueue, area, largest, shortest};
use urgency_queue::{UrgencyQueue, expansion, wfp3};

pub(super) fn build<V: PolicyVisitor>(parameters: &Parameters<'_>, visitor: V) -> Result<V::Output, Error> {
    let Some(patience) = parameters.nested("patience")? else {
        let target = Target::Oldest;
        return Ok(visitor.visit(Easy { ends: EstimatedEnds::default(), queue: QueueTree::default(), target }));
    };
    let ends = EstimatedEnds::default();
    let target = match patience.choose("reservation", ["oldest", "first"])? {
        0 => DueJobs::new(&patience)?.map_or(Target::Oldest, Target::Due),
        _ => Target::First,
    };
    Ok(match patience.choose("order", ["oldest", "shortest", "area", "largest", "expansion", "wfp3"])? {
        0 => visitor.visit(Easy { ends, queue: QueueTree::default(), target }),
        1 => visitor.visit(Easy { ends, queue: RankedQueue::by(shortest), target }),
        2 => visitor.visit(Easy { ends, queue: RankedQueue::by(area), target }),
        3 => visitor.visit(Easy { ends, queue: RankedQueue::by(largest), target }),
        4 => visitor.visit(Easy { ends, queue: UrgencyQueue::by(expansion), target }),
        _ => visitor.visit(Easy { ends, queue: UrgencyQueue::by(wfp3), target }),
    })
}

/// Which waiting job has the reservation.
#[derive(Clone, Debug)]
enum Target {
    Oldest,
    /// The first in the order of the policy.
    First,
    /// The oldest that is due.
    Due(DueJobs),
}

impl Target {
    fn due(&mut self) -> Option<&mut DueJobs> {
        match self {
            Self::Due(due) => Some(due),
            _ => None,
        }
    }
}

/// What a search looks at: of a job its need (servers) and its estimated size (seconds), of some jobs the smallest of each;
/// the largest values if there are none.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Minimum {
    need: u32,
    expected: f64,
}

const NONE: Minimum = Minimum { need: u32::MAX, expected: f64::INFINITY };

impl Default for Minimum {
    fn default() -> Self {
        NONE
    }
}

impl Minimum {
    fn of(self, other: Self) -> Self {
        Self { need: self.need.min(other.need), expected: self.expected.min(other.expected) }
    }
}

/// A waiting job.
#[derive(Clone, Copy, Debug)]
struct WaitingJob {
    slot: Slot,
    /// Number in order of arrival.
    number: u64,
    /// In seconds.
    arrival: f64,
    size: Minimum,
}

impl WaitingJob {
    fn of(view: View<'_>, class: u32, slot: Slot) -> Self {
        let job = view.book.job(slot);
        let size = Minimum { need: view.station.need(class), expected: job.expected };
        Self { slot, number: job.number, arrival: job.arrival, size }
    }
}

/// The waiting jobs in an order.
trait Queue: Clone + Send + Sync {
    /// A job arrives.
    fn insert(&mut self, job: WaitingJob);
    /// A job starts.
    fn remove(&mut self, job: WaitingJob);
    /// The first job for which `small` is true. If true, it must be true of any smaller need or estimate as well.
    fn first(&self, now: f64, small: impl Fn(Minimum) -> bool) -> Option<Slot>;
}

/// EASY.
#[derive(Clone)]
struct Easy<Q> {
    ends: EstimatedEnds,
    queue: Q,
    target: Target,
}

impl<Q: Queue + 'static> Policy for Easy<Q> {
    const TIMERS: bool = true;
    const HOOKS: bool = true;
    const ENDS: bool = true;

    fn sight(&self) -> Sight {
        Sight::Jobs
    }

    #[inline]
    fn next(&mut self, view: View<'_>) -> Choice {
        let (free, now) = (view.station.free(), view.station.now());
        let Some(target) = self.reserved(view) else {
            return self.queue.first(now, |job| job.need <= free).map_or(Choice::Wait, Choice::Job);
        };
        let need = view.station.need(view.book.job(target).class);
        if need <= free {
            return Choice::Job(target);
        }
        if free == 0 {
            return Choice::Wait;
        }
        let (shadow, then) = self.ends.shadow(now, free, need);
        let extra = then.saturating_sub(u64::from(need));
        // the target itself does not fit
        self.queue
            .first(now, |job| job.need <= free && (now + job.expected <= shadow || u64::from(job.need) <= extra))
            .map_or(Choice::Wait, Choice::Job)
    }

    #[inline]
    fn arrived(&mut self, view: View<'_>, class: u32, slot: Slot) {
        self.queue.insert(WaitingJob::of(view, class, slot));
        if let Some(due) = self.target.due() {
            due.insert(view.book.job(slot), slot);
        }
    }

    #[inline]
    fn starting(&mut self, view: View<'_>, class: u32, slot: Slot) {
        self.queue.remove(WaitingJob::of(view, class, slot));
        let job = view.book.job(slot);
        if let Some(due) = self.target.due() {
            due.remove(job, slot);
        }
        self.ends.insert(view.station.now() + job.expected, slot, view.station.need(class));
    }

    #[inline]
    fn ended(&mut self, view: View<'_>, class: u32, slot: Slot) {
        let job = view.book.job(slot);
        self.ends.remove(job.start + job.expected, slot, view.station.need(class));
    }

    fn corrected(&mut self, view: View<'_>, class: u32, slot: Slot, old: f64) {
        self.ends.correct(view.book.job(slot), old, slot, view.station.need(class));
    }

    #[inline]
    fn wake_at(&mut self, view: View<'_>) -> f64 {
        let due = self.target.due().filter(|_| view.station.free() > 0);
        due.map_or(f64::INFINITY, |due| due.next_time())
    }

    #[inline]
    fn reserved(&mut self, view: View<'_>) -> Option<Slot> {
        let now = view.station.now();
        match &mut self.target {
            Target::Oldest => view.book.order().first(),
            Target::First => self.queue.first(now, |job| job.need < NONE.need),
            Target::Due(due) => due.oldest(now),
        }
    }

    fn restore(&mut self, _: &[i64], view: View<'_>) -> Result<(), Error> {
        if !view.book.estimated() {
            return Err(Error::Unsupported("policy easy uses estimated sizes, which a state does not contain"));
        }
        for (slot, job) in view.book.walk(view.book.order()) {
            self.arrived(view, job.class, slot);
        }
        self.ends.restore(view);
        Ok(())
    }
}
