//! Adaptive Quickswap.
//!
//! Working: as MSF. When MSF starts no job, some class waits that is not in service, and no class in service has a
//! waiting job, the swap is triggered. Draining: no job starts except the one that is now the largest waiting job; as
//! soon as it starts, back to working, in the same instant. With backfilling, jobs that are unlikely to delay it start
//! meanwhile.

use super::backfill::{Backfill, Drain};
use super::{Choice, Parameters, Policy, Sight, View};
use crate::book::Slot;
use crate::error::Error;

/// Adaptive Quickswap.
#[derive(Clone)]
pub struct AdaptiveQuickswap<B> {
    draining: bool,
    backfill: B,
}

impl<B: Backfill> AdaptiveQuickswap<B> {
    pub(super) fn build(parameters: &Parameters<'_>) -> Result<Self, Error> {
        Ok(Self { draining: false, backfill: B::build(parameters)? })
    }
}

impl<B: Backfill> Policy for AdaptiveQuickswap<B> {
    const HOOKS: bool = B::ON;
    const ENDS: bool = B::ON;

    fn sight(&self) -> Sight {
        B::SIGHT
    }

    #[inline]
    fn next(&mut self, view: View<'_>) -> Choice {
        let station = view.station;
        if !self.draining {
            if let Some(class) = station.largest_fitting() {
                return Choice::Head(class);
            }
            // the largest waiting job does not fit, so that a drain that begins now starts no job in this instant
            self.draining = station.waits_only_outside_service();
            return Choice::Wait;
        }
        match station.largest_waiting() {
            Some(class) if station.need(class) <= station.free() => {
                self.draining = false;
                Choice::Head(class)
            }
            Some(class) => self.backfill.next(view, Drain::of(class)),
            None => Choice::Wait,
        }
    }

    /// The job is the largest that fits, or backfilled during a drain.
    fn permits(&self, view: View<'_>, class: u32, slot: Slot) -> bool {
        match view.station.largest_waiting() {
            Some(target) if self.draining => self.backfill.permits(view, Drain::of(target), class, slot),
            _ => view.station.largest_fitting() == Some(class),
        }
    }

    #[inline]
    fn arrived(&mut self, view: View<'_>, class: u32, slot: Slot) {
        self.backfill.arrived(view, class, slot);
    }

    #[inline]
    fn starting(&mut self, view: View<'_>, class: u32, slot: Slot) {
        self.backfill.starting(view, class, slot);
    }

    #[inline]
    fn ended(&mut self, view: View<'_>, class: u32, slot: Slot) {
        self.backfill.ended(view, class, slot);
    }

    fn save(&self) -> Vec<i64> {
        vec![self.draining.into()]
    }

    fn restore(&mut self, state: &[i64], view: View<'_>) -> Result<(), Error> {
        self.draining = match state {
            [0] => false,
            [1] => true,
            _ => return Err(Error::argument("policy state", state, "(0,) or (1,)")),
        };
        self.backfill.restore(view)
    }
}
