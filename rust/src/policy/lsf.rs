//! Least servers first: the oldest job of the smallest need, if it fits.

use super::{Choice, Parameters, Policy, View};
use crate::error::Error;

/// LSF.
#[derive(Clone)]
pub struct Lsf;

impl Lsf {
    pub(super) fn build(_: &Parameters<'_>) -> Result<Self, Error> {
        Ok(Self)
    }
}

impl Policy for Lsf {
    #[inline]
    fn next(&mut self, view: View<'_>) -> Choice {
        match view.station.smallest_waiting() {
            Some(class) if view.station.need(class) <= view.station.free() => Choice::Head(class),
            _ => Choice::Wait,
        }
    }
}
