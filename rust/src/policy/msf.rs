//! Most servers first: the oldest job of the largest need that fits.

use super::{Choice, Parameters, Policy, PolicyVisitor, View};
use crate::error::Error;
use crate::station::Station;

pub(super) fn build<V: PolicyVisitor>(_: &Parameters<'_>, visitor: V) -> Result<V::Output, Error> {
    Ok(visitor.visit(Msf))
}

/// MSF.
#[derive(Clone)]
struct Msf;

impl Policy for Msf {
    /// Invariant: no waiting job fits.
    #[inline]
    fn admits(&mut self, station: &Station, class: u32) -> bool {
        station.need(class) <= station.free()
    }

    #[inline]
    fn next(&mut self, view: View<'_>) -> Choice {
        view.station.largest_fitting().map_or(Choice::Wait, Choice::Head)
    }
}
