//! First-come first-served: the oldest waiting job if it fits, otherwise none (head-of-line blocking).

use super::{Choice, Parameters, Policy, PolicyVisitor, Sight, View};
use crate::error::Error;
use crate::station::Station;

pub(super) fn build<V: PolicyVisitor>(_: &Parameters<'_>, visitor: V) -> Result<V::Output, Error> {
    Ok(visitor.visit(Fcfs))
}

/// FCFS.
#[derive(Clone)]
struct Fcfs;

impl Policy for Fcfs {
    fn sight(&self) -> Sight {
        Sight::Heads
    }

    fn window(&self) -> Option<u64> {
        Some(1)
    }

    #[inline]
    fn admits(&mut self, station: &Station, class: u32) -> bool {
        station.need(class) <= station.free() && station.total_waiting() == 0
    }

    #[inline]
    fn next(&mut self, view: View<'_>) -> Choice {
        match view.station.oldest_waiting() {
            Some(class) if view.station.need(class) <= view.station.free() => Choice::Head(class),
            _ => Choice::Wait,
        }
    }
}
