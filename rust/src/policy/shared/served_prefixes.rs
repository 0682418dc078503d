//! The selected jobs if those of each lane are its oldest: a count and the first job not selected describe them.

use crate::book::{NO_JOB, Slot};
use crate::policy::{Change, View};

#[derive(Clone, Copy)]
struct ServedPrefix {
    selected: u32,
    /// The oldest job of the lane that is not selected.
    cut: Slot,
}

/// The selected jobs of each lane.
#[derive(Clone)]
pub struct ServedPrefixes {
    lanes: Vec<ServedPrefix>,
}

impl ServedPrefixes {
    /// No job is present.
    pub fn new(lanes: usize) -> Self {
        Self { lanes: vec![ServedPrefix { selected: 0, cut: NO_JOB }; lanes] }
    }

    /// A job has arrived.
    #[inline]
    pub fn arrived(&mut self, lane: usize, slot: Slot) {
        let prefix = &mut self.lanes[lane];
        if prefix.cut == NO_JOB {
            prefix.cut = slot;
        }
    }

    /// A job has completed. If it was selected, it lies before the cut.
    #[inline]
    pub fn completed(&mut self, view: View<'_>, lane: usize, slot: Slot, selected: bool) {
        let prefix = &mut self.lanes[lane];
        if selected {
            prefix.selected -= 1;
        } else if prefix.cut == slot {
            prefix.cut = view.book.next_in_lane(slot).unwrap_or(NO_JOB);
        }
    }

    /// Selects the oldest `target` jobs of a lane, which has at least that many.
    #[inline]
    pub fn serve(&mut self, view: View<'_>, lane: usize, target: u32, changes: &mut Vec<Change>) {
        let prefix = &mut self.lanes[lane];
        while prefix.selected < target {
            changes.push(Change::Run(prefix.cut));
            prefix.cut = view.book.next_in_lane(prefix.cut).unwrap_or(NO_JOB);
            prefix.selected += 1;
        }
        while prefix.selected > target {
            prefix.cut = match prefix.cut {
                NO_JOB => view.book.lane(lane).last().unwrap_or(NO_JOB),
                cut => view.book.previous_in_lane(cut).unwrap_or(NO_JOB),
            };
            changes.push(Change::Pause(prefix.cut));
            prefix.selected -= 1;
        }
    }
}
