//! Most servers first: the oldest job of the largest need that fits.

use super::{Choice, Parameters, Policy, View};
use crate::error::Error;
use crate::station::Station;

/// MSF.
#[derive(Clone)]
pub struct Msf;

impl Msf {
    pub(super) fn build(_: &Parameters<'_>) -> Result<Self, Error> {
        Ok(Self)
    }
}

impl Policy for Msf {
    /// Invariant: no waiting job fits.
    #[inline]
    fn admits(&self, station: &Station, class: u32) -> bool {
        station.need(class) <= station.free()
    }

    #[inline]
    fn next(&mut self, view: View<'_>) -> Choice {
        view.station.largest_fitting().map_or(Choice::Wait, Choice::Head)
    }
}
