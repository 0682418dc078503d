//! ServerFilling (preemptive): take M, the shortest prefix in a certain order of all unfinished jobs whose needs add up to
//! at least `k` (all jobs if there are fewer); serve M in order of descending need, as long as each fits. The order is that
//! of arrival, or that of need times remaining size (ServerFilling-SRPT).

mod arrival;
mod srpt;

use super::{Change, Parameters, Preemptive, View};
use crate::book::Slot;
use crate::error::Error;
use arrival::ByArrival;
use srpt::BySize;

/// ServerFilling.
#[derive(Clone)]
pub enum ServerFilling {
    /// The prefix in order of arrival.
    Arrival(ByArrival),
    /// The prefix in order of need times remaining size.
    Srpt(BySize),
}

impl ServerFilling {
    pub(super) fn build(parameters: &Parameters<'_>) -> Result<Self, Error> {
        Ok(match parameters.choose("order", ["arrival", "srpt"])? {
            0 => Self::Arrival(ByArrival::new(parameters.system())),
            _ => Self::Srpt(BySize::new(parameters.system())),
        })
    }
}

impl Preemptive for ServerFilling {
    #[inline]
    fn arrived(&mut self, view: View<'_>, slot: Slot) {
        match self {
            Self::Arrival(policy) => policy.arrived(view, slot),
            Self::Srpt(policy) => policy.arrived(view, slot),
        }
    }

    #[inline]
    fn completed(&mut self, view: View<'_>, slot: Slot) {
        match self {
            Self::Arrival(policy) => policy.completed(view, slot),
            Self::Srpt(policy) => policy.completed(view, slot),
        }
    }

    #[inline]
    fn serve(&mut self, view: View<'_>, changes: &mut Vec<Change>) {
        match self {
            Self::Arrival(policy) => policy.serve(view, changes),
            Self::Srpt(policy) => policy.serve(view, changes),
        }
    }
}
