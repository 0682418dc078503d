//! Least servers first: the oldest job of the smallest need, if it fits.

use super::{Choice, Parameters, Policy, PolicyVisitor, View};
use crate::error::Error;
use crate::station::Station;

pub(super) fn build<V: PolicyVisitor>(_: &Parameters<'_>, visitor: V) -> Result<V::Output, Error> {
    Ok(visitor.visit(Lsf))
}

/// LSF.
#[derive(Clone)]
struct Lsf;

impl Policy for Lsf {
    /// Invariant: the smallest waiting job does not fit, so a job that fits is smaller.
    #[inline]
    fn admits(&mut self, station: &Station, class: u32) -> bool {
        station.need(class) <= station.free()
    }

    #[inline]
    fn next(&mut self, view: View<'_>) -> Choice {
        match view.station.smallest_waiting() {
            Some(class) if view.station.need(class) <= view.station.free() => Choice::Head(class),
            _ => Choice::Wait,
        }
    }
}
