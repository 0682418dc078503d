//! First-Fit (the paper's First-Fit BackFilling): the oldest waiting job among those that fit.

use super::{Choice, Parameters, Policy, Sight, View};

/// First-Fit.
#[derive(Clone)]
pub struct FirstFit;

impl FirstFit {
    pub(super) fn build(_: &Parameters<'_>) -> Result<Self, String> {
        Ok(Self)
    }
}

impl Policy for FirstFit {
    fn sight(&self) -> Sight {
        Sight::Heads
    }

    #[inline]
    fn next(&mut self, view: View<'_>) -> Choice {
        view.station.oldest_fitting().map_or(Choice::Wait, Choice::Head)
    }
}
