//! The jobs in service where of each lane the oldest ones are: a count and the first job not served say it all.

use super::{Change, View};
use crate::book::{NOBODY, Slot};

#[derive(Clone, Copy)]
struct Front {
    served: u32,
    /// The oldest job of the lane that is not in service.
    cut: Slot,
}

/// The front of each lane.
#[derive(Clone)]
pub struct Fronts {
    lanes: Vec<Front>,
}

impl Fronts {
    /// Nobody is there.
    pub fn new(lanes: usize) -> Self {
        Self { lanes: vec![Front { served: 0, cut: NOBODY }; lanes] }
    }

    /// A job has arrived.
    #[inline]
    pub fn arrived(&mut self, lane: usize, slot: Slot) {
        let front = &mut self.lanes[lane];
        if front.cut == NOBODY {
            front.cut = slot;
        }
    }

    /// A job has completed: it was in service, so it lies before the cut.
    #[inline]
    pub fn completed(&mut self, lane: usize) {
        self.lanes[lane].served -= 1;
    }

    /// Serves the oldest `target` jobs of a lane, which holds as many.
    #[inline]
    pub fn serve(&mut self, view: View<'_>, lane: usize, target: u32, changes: &mut Vec<Change>) {
        let front = &mut self.lanes[lane];
        while front.served < target {
            changes.push(Change::Run(front.cut));
            front.cut = view.book.next_in_lane(front.cut).unwrap_or(NOBODY);
            front.served += 1;
        }
        while front.served > target {
            front.cut = match front.cut {
                NOBODY => view.book.lane(lane).last().unwrap_or(NOBODY),
                cut => view.book.previous_in_lane(cut).unwrap_or(NOBODY),
            };
            changes.push(Change::Pause(front.cut));
            front.served -= 1;
        }
    }
}
