//! EASY backfilling: the oldest waiting job starts as soon as it fits. If it does not, its *shadow* is the first time at
//! which it would, were all estimates exact, and *extra* is what would be free then beyond its need. The oldest job starts
//! that fits now and that either is estimated to end no later than the shadow or needs no more than the extra servers. A job
//! beyond its estimated end is taken to end now.

mod queue_tree;

use super::shared::EstimatedEnds;
use super::{Choice, Parameters, Policy, PolicyVisitor, Sight, View};
use crate::book::Slot;
use crate::error::Error;
use queue_tree::QueueTree;

pub(super) fn build<V: PolicyVisitor>(_: &Parameters<'_>, visitor: V) -> Result<V::Output, Error> {
    Ok(visitor.visit(Easy { ends: EstimatedEnds::default(), queue: QueueTree::default() }))
}

/// EASY.
#[derive(Clone)]
struct Easy {
    ends: EstimatedEnds,
    queue: QueueTree,
}

impl Policy for Easy {
    const HOOKS: bool = true;
    const ENDS: bool = true;

    fn sight(&self) -> Sight {
        Sight::Jobs
    }

    #[inline]
    fn next(&mut self, view: View<'_>) -> Choice {
        let (free, now) = (view.station.free(), view.station.now());
        let Some(head) = view.book.order().first() else { return Choice::Wait };
        let need = view.station.need(view.book.job(head).class);
        if need <= free {
            return Choice::Job(head);
        }
        if free == 0 {
            return Choice::Wait;
        }
        let (shadow, then) = self.ends.shadow(now, free, need);
        let extra = then.saturating_sub(u64::from(need));
        // the head itself does not fit
        self.queue
            .first(|job| job.need <= free && (now + job.expected <= shadow || u64::from(job.need) <= extra))
            .map_or(Choice::Wait, Choice::Job)
    }

    #[inline]
    fn arrived(&mut self, view: View<'_>, class: u32, slot: Slot) {
        self.queue.push(slot, view.station.need(class), view.book.job(slot).expected);
    }

    #[inline]
    fn starting(&mut self, view: View<'_>, class: u32, slot: Slot) {
        self.queue.remove(slot);
        self.ends.insert(view.station.now() + view.book.job(slot).expected, slot, view.station.need(class));
    }

    #[inline]
    fn ended(&mut self, view: View<'_>, class: u32, slot: Slot) {
        let job = view.book.job(slot);
        self.ends.remove(job.start + job.expected, slot, view.station.need(class));
    }

    fn restore(&mut self, _: &[i64], _: View<'_>) -> Result<(), Error> {
        Err(Error::Unsupported("policy easy uses estimated sizes, which a state does not contain"))
    }
}
