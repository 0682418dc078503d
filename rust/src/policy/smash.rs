//! Smash: among the first `window` waiting jobs, the largest need that fits, oldest first. A window of 1 is FCFS, an
//! infinite one is MSF.

use super::{Choice, Parameters, Policy, PolicyVisitor, Sight, View};
use crate::book::{NO_JOB, Slot};
use crate::error::Error;

pub(super) fn build<V: PolicyVisitor>(parameters: &Parameters<'_>, visitor: V) -> Result<V::Output, Error> {
    let window: Option<u64> = parameters.get("window")?;
    if window == Some(0) {
        return Err(Error::argument("window", 0, "at least 1, or null for no limit"));
    }
    Ok(visitor.visit(Smash { window: window.unwrap_or(u64::MAX), inside: 0, last: NO_JOB }))
}

/// Smash.
#[derive(Clone)]
struct Smash {
    window: u64,
    /// Waiting jobs in the window, at most `window`.
    inside: u64,
    /// The youngest of them.
    last: Slot,
}

impl Policy for Smash {
    const HOOKS: bool = true;

    fn sight(&self) -> Sight {
        Sight::Jobs
    }

    fn remembers_order(&self) -> bool {
        self.window().is_some()
    }

    fn window(&self) -> Option<u64> {
        (self.window < u64::MAX).then_some(self.window)
    }

    #[inline]
    fn next(&mut self, view: View<'_>) -> Choice {
        if self.inside == 0 {
            return Choice::Wait;
        }
        let youngest = view.book.job(self.last).number;
        view.station.largest_fitting_until(youngest).map_or(Choice::Wait, Choice::Head)
    }

    #[inline]
    fn arrived(&mut self, _: View<'_>, _: u32, slot: Slot) {
        if self.inside < self.window {
            self.inside += 1;
            self.last = slot;
        }
    }

    #[inline]
    fn starting(&mut self, view: View<'_>, _: u32, slot: Slot) {
        // the window advances by one job, if there is one behind it
        if let Some(next) = view.book.next(self.last) {
            self.last = next;
            return;
        }
        self.inside -= 1;
        if self.last == slot {
            self.last = view.book.previous(slot).unwrap_or(NO_JOB);
        }
    }

    fn restore(&mut self, _: &[i64], view: View<'_>) -> Result<(), Error> {
        (self.inside, self.last) = (0, NO_JOB);
        for (slot, _) in view.book.walk(view.book.order()).take(usize::try_from(self.window).unwrap_or(usize::MAX)) {
            self.inside += 1;
            self.last = slot;
        }
        Ok(())
    }
}
