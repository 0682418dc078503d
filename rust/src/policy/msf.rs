//! Most servers first: the oldest job of the largest need that fits.

use super::{Choice, Parameters, Policy, View};

/// MSF.
#[derive(Clone)]
pub struct Msf;

impl Msf {
    pub(super) fn build(_: &Parameters<'_>) -> Result<Self, String> {
        Ok(Self)
    }
}

impl Policy for Msf {
    #[inline]
    fn next(&mut self, view: View<'_>) -> Choice {
        view.station.largest_fitting().map_or(Choice::Wait, Choice::Head)
    }
}
