//! Adaptive Quickswap.
//!
//! Working: as MSF. When MSF starts no job, some class waits that is not in service, and no class in service has a
//! waiting job, the swap is triggered. Draining: no job starts except the one that is now the largest waiting job; as
//! soon as it starts, back to working, in the same instant. With backfilling, jobs that are unlikely to delay it start
//! meanwhile. With groups, a group takes the place of a class.

use super::shared::{Backfill, Classes, Drain, Groups, Lines, Never, Rule};
use super::{Choice, Parameters, Policy, PolicyVisitor, Sight, View};
use crate::book::Slot;
use crate::error::Error;
use crate::station::Station;

pub(super) fn build<V: PolicyVisitor>(parameters: &Parameters<'_>, visitor: V) -> Result<V::Output, Error> {
    Ok(match (Groups::of(parameters)?, Rule::of(parameters)?) {
        (None, Rule::Never) => visitor.visit(AdaptiveQuickswap::new(Classes, Never)),
        (None, Rule::ByDistributions(rule)) => visitor.visit(AdaptiveQuickswap::new(Classes, rule)),
        (None, Rule::ByAges(rule)) => visitor.visit(AdaptiveQuickswap::new(Classes, rule)),
        (None, Rule::ByEstimates(rule)) => visitor.visit(AdaptiveQuickswap::new(Classes, rule)),
        (Some(groups), Rule::Never) => visitor.visit(AdaptiveQuickswap::new(groups, Never)),
        (Some(_), _) => return Err(Error::Unsupported("backfilling requires classes without groups")),
    })
}

/// Adaptive Quickswap.
#[derive(Clone)]
struct AdaptiveQuickswap<L, B> {
    lines: L,
    draining: bool,
    backfill: B,
}

impl<L: Lines, B: Backfill> AdaptiveQuickswap<L, B> {
    fn new(lines: L, backfill: B) -> Self {
        Self { lines, draining: false, backfill }
    }
}

impl<L: Lines, B: Backfill> Policy for AdaptiveQuickswap<L, B> {
    const HOOKS: bool = B::ON;
    const ENDS: bool = B::ON;

    fn sight(&self) -> Sight {
        L::SIGHT.max(B::SIGHT)
    }

    /// Invariant: no waiting job fits, unless the system drains. In a group a job may wait behind another one.
    #[inline]
    fn admits(&mut self, station: &Station, class: u32) -> bool {
        L::SIGHT == Sight::Counts && !self.draining && station.need(class) <= station.free()
    }

    #[inline]
    fn next(&mut self, view: View<'_>) -> Choice {
        let station = view.station;
        if !self.draining {
            if let Some(class) = self.lines.largest_fitting(station) {
                return Choice::Head(class);
            }
            // the largest waiting job does not fit, so a drain that begins now starts no job in this instant
            self.draining = self.lines.waits_only_outside_service(station);
            return Choice::Wait;
        }
        match self.lines.largest_waiting(station) {
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
        match self.lines.largest_waiting(view.station) {
            Some(target) if self.draining => self.backfill.permits(view, Drain::of(target), class, slot),
            _ => self.lines.largest_fitting(view.station) == Some(class),
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

    fn corrected(&mut self, view: View<'_>, class: u32, slot: Slot, old: f64) {
        self.backfill.corrected(view, class, slot, old);
    }

    fn reserved(&mut self, view: View<'_>) -> Option<Slot> {
        let target = self.lines.largest_waiting(view.station).filter(|_| self.draining)?;
        view.book.lane(target as usize).first()
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
