//! By the estimates of the jobs, as in EASY: D is the time at which the target can start if all jobs in service end as
//! estimated, and a job may start if its estimated end is not after it. A job beyond its estimated end is taken to end now.

use std::collections::BTreeSet;

use super::{Backfill, Drain};
use crate::book::Slot;
use crate::error::Error;
use crate::policy::shared::EstimatedEnds;
use crate::policy::{Choice, Sight, View};
use crate::system::System;

/// The rule by estimates.
#[derive(Clone)]
pub struct ByEstimates {
    ends: EstimatedEnds,
    /// Per class, the waiting jobs by estimated size (its bits are in the order of its values).
    shortest: Vec<BTreeSet<(u64, Slot)>>,
}

/// The time at which the target can start, as estimated.
fn horizon(ends: &EstimatedEnds, view: View<'_>, drain: Drain) -> f64 {
    let station = view.station;
    let (shadow, _) = ends.shadow(station.now(), station.free(), station.need(drain.target));
    let leaving = view.book.walk(view.book.running()).filter(|(_, job)| Some(job.class) == drain.leaving);
    leaving.map(|(_, job)| job.start + job.expected).fold(shadow, f64::max)
}

impl ByEstimates {
    pub(super) fn new(system: &System) -> Self {
        Self { ends: EstimatedEnds::default(), shortest: vec![BTreeSet::new(); system.classes.len()] }
    }
}

impl Backfill for ByEstimates {
    const SIGHT: Sight = Sight::Jobs;

    fn next(&mut self, view: View<'_>, drain: Drain) -> Choice {
        let (station, book) = (view.station, view.book);
        let Self { ends, shortest } = self;
        let mut known = None;
        let mut in_time =
            |expected: f64| station.now() + expected <= *known.get_or_insert_with(|| horizon(ends, view, drain));
        let found = station.largest_fitting_by(|class| {
            let least = shortest[class as usize].first().filter(|_| class != drain.target)?;
            if !in_time(f64::from_bits(least.0)) {
                return None;
            }
            let mut lane = std::iter::successors(book.lane(class as usize).first(), |&slot| book.next_in_lane(slot));
            lane.find(|&slot| in_time(book.job(slot).expected)).map(|slot| (book.job(slot).number, slot))
        });
        found.map_or(Choice::Wait, |(_, slot)| Choice::Job(slot))
    }

    fn permits(&self, view: View<'_>, drain: Drain, class: u32, slot: Slot) -> bool {
        let (station, book) = (view.station, view.book);
        let (now, need) = (station.now(), station.need(drain.target));
        let running = || book.walk(book.running()).map(|(_, job)| job);
        let mut ends: Vec<(f64, u32)> =
            running().map(|job| (now.max(job.start + job.expected), station.need(job.class))).collect();
        ends.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (mut free, mut horizon) = (station.free(), now);
        for (end, freed) in ends {
            if free >= need {
                break;
            }
            horizon = end;
            free += freed;
        }
        for job in running().filter(|job| Some(job.class) == drain.leaving) {
            horizon = horizon.max(job.start + job.expected);
        }
        class != drain.target && now + book.job(slot).expected <= horizon
    }

    fn arrived(&mut self, view: View<'_>, class: u32, slot: Slot) {
        self.shortest[class as usize].insert((view.book.job(slot).expected.to_bits(), slot));
    }

    fn starting(&mut self, view: View<'_>, class: u32, slot: Slot) {
        let expected = view.book.job(slot).expected;
        self.shortest[class as usize].remove(&(expected.to_bits(), slot));
        self.ends.insert(view.station.now() + expected, slot, view.station.need(class));
    }

    fn ended(&mut self, view: View<'_>, class: u32, slot: Slot) {
        let job = view.book.job(slot);
        self.ends.remove(job.start + job.expected, slot, view.station.need(class));
    }

    fn corrected(&mut self, view: View<'_>, class: u32, slot: Slot, old: f64) {
        self.ends.correct(view.book.job(slot), old, slot, view.station.need(class));
    }

    fn restore(&mut self, view: View<'_>) -> Result<(), Error> {
        if !view.book.estimated() {
            return Err(Error::Unsupported(
                "policy with backfilling by estimates uses estimated sizes, which a state does not contain",
            ));
        }
        for (slot, job) in view.book.walk(view.book.order()) {
            self.arrived(view, job.class, slot);
        }
        self.ends.restore(view);
        Ok(())
    }
}
