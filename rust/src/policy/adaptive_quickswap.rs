//! Adaptive Quickswap.
//!
//! Working: as MSF. When MSF starts nobody, and some class waits that is not in service, and no class in service has a
//! waiting job, the swap is triggered. Draining: nobody starts except the job that is now the largest waiting one; as
//! soon as it starts, back to working, in the same instant.

use super::{Choice, Parameters, Policy, View};

/// Adaptive Quickswap.
#[derive(Clone)]
pub struct AdaptiveQuickswap {
    draining: bool,
}

impl AdaptiveQuickswap {
    pub(super) fn build(_: &Parameters<'_>) -> Result<Self, String> {
        Ok(Self { draining: false })
    }
}

impl Policy for AdaptiveQuickswap {
    #[inline]
    fn next(&mut self, view: View<'_>) -> Choice {
        let station = view.station;
        if !self.draining {
            if let Some(class) = station.largest_fitting() {
                return Choice::Head(class);
            }
            // the largest waiting job does not fit, so that a drain that begins now starts nobody in this instant
            self.draining = station.waits_only_outside_service();
            return Choice::Wait;
        }
        match station.largest_waiting() {
            Some(class) if station.need(class) <= station.free() => {
                self.draining = false;
                Choice::Head(class)
            }
            _ => Choice::Wait,
        }
    }

    fn save(&self) -> Vec<i64> {
        vec![self.draining.into()]
    }

    fn restore(&mut self, state: &[i64], _: View<'_>) -> Result<(), String> {
        self.draining = match state {
            [0] => false,
            [1] => true,
            _ => return Err(format!("Adaptive Quickswap's state is (0,) or (1,), not {state:?}")),
        };
        Ok(())
    }
}
