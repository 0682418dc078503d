//! The jobs in service if each lane serves its oldest jobs: a count and the first job not served describe them.

use crate::book::{NO_JOB, Slot};
use crate::policy::{Change, View};

#[derive(Clone, Copy)]
struct ServedPrefix {
    served: u32,
    /// The oldest job of the lane that is not in service.
    cut: Slot,
}

/// The served prefix of each lane.
#[derive(Clone)]
pub struct ServedPrefixes {
    lanes: Vec<ServedPrefix>,
}

impl ServedPrefixes {
    /// No job is present.
    pub fn new(lanes: usize) -> Self {
        Self { lanes: vec![ServedPrefix { served: 0, cut: NO_JOB }; lanes] }
    }

    /// A job has arrived.
    #[inline]
    pub fn arrived(&mut self, lane: usize, slot: Slot) {
        let prefix = &mut self.lanes[lane];
        if prefix.cut == NO_JOB {
            prefix.cut = slot;
        }
    }

    /// A job has completed: it was in service, so it lies before the cut.
    #[inline]
    pub fn completed(&mut self, lane: usize) {
        self.lanes[lane].served -= 1;
    }

    /// Serves the oldest `target` jobs of a lane, which has at least that many.
    #[inline]
    pub fn serve(&mut self, view: View<'_>, lane: usize, target: u32, changes: &mut Vec<Change>) {
        let prefix = &mut self.lanes[lane];
        while prefix.served < target {
            changes.push(Change::Run(prefix.cut));
            prefix.cut = view.book.next_in_lane(prefix.cut).unwrap_or(NO_JOB);
            prefix.served += 1;
        }
        while prefix.served > target {
            prefix.cut = match prefix.cut {
                NO_JOB => view.book.lane(lane).last().unwrap_or(NO_JOB),
                cut => view.book.previous_in_lane(cut).unwrap_or(NO_JOB),
            };
            changes.push(Change::Pause(prefix.cut));
            prefix.served -= 1;
        }
    }
}
