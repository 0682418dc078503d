//! First-Fit (the paper's First-Fit BackFilling): the oldest waiting job among those that fit.

use super::{Choice, Parameters, Policy, PolicyVisitor, Sight, View};
use crate::error::Error;
use crate::station::Station;

pub(super) fn build<V: PolicyVisitor>(_: &Parameters<'_>, visitor: V) -> Result<V::Output, Error> {
    Ok(visitor.visit(FirstFit))
}

/// First-Fit.
#[derive(Clone)]
struct FirstFit;

impl Policy for FirstFit {
    fn sight(&self) -> Sight {
        Sight::Heads
    }

    /// Applies to two classes, of which no light job fits together with a heavy job (as on one-or-all systems). While a
    /// light job is in service no heavy job fits, so all waiting light jobs start before any heavy job, and the order does
    /// not matter. Otherwise the oldest job is next: heavy jobs, until a light job is the oldest. That light job is then in
    /// service, so the order behind the first light job does not matter.
    fn forget_order(&self, station: &Station, order: &mut [u32]) {
        const LIGHT: u32 = 0;
        const HEAVY: u32 = 1;
        if station.classes() != 2 || station.need(LIGHT) + station.need(HEAVY) <= station.servers() {
            return;
        }
        let gate = if station.running(LIGHT) > 0 { Some(0) } else { order.iter().position(|&class| class == LIGHT) };
        if let Some(gate) = gate {
            order[gate..].sort_unstable();
        }
    }

    /// Invariant: no waiting job fits.
    #[inline]
    fn admits(&mut self, station: &Station, class: u32) -> bool {
        station.need(class) <= station.free()
    }

    #[inline]
    fn next(&mut self, view: View<'_>) -> Choice {
        view.station.oldest_fitting().map_or(Choice::Wait, Choice::Head)
    }
}
