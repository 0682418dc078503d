//! The waiting jobs in an order that changes while they wait.

use super::{Minimum, Queue, WaitingJob};
use crate::book::Slot;

/// Urgency of a job, given how long it has waited, in seconds; a larger one comes first.
type Urgency = fn(f64, Minimum) -> f64;

/// The wait in multiples of the estimate: the expansion factor without the 1 that all jobs have.
pub fn expansion(wait: f64, job: Minimum) -> f64 {
    wait / job.expected.max(f64::MIN_POSITIVE)
}

/// The third power of the same, times the need.
pub fn wfp3(wait: f64, job: Minimum) -> f64 {
    let ratio = expansion(wait, job);
    f64::from(job.need) * (ratio * ratio * ratio)
}

/// The queue. Every search looks at all waiting jobs.
#[derive(Clone, Debug)]
pub struct UrgencyQueue {
    urgency: Urgency,
    jobs: Vec<WaitingJob>,
    /// Place of each slot.
    places: Vec<u32>,
}

impl UrgencyQueue {
    /// An empty queue.
    pub fn by(urgency: Urgency) -> Self {
        Self { urgency, jobs: Vec::new(), places: Vec::new() }
    }
}

impl Queue for UrgencyQueue {
    fn insert(&mut self, job: WaitingJob) {
        let slot = job.slot as usize;
        if self.places.len() <= slot {
            self.places.resize(slot + 1, 0);
        }
        self.places[slot] = self.jobs.len() as u32;
        self.jobs.push(job);
    }

    fn remove(&mut self, job: WaitingJob) {
        let place = self.places[job.slot as usize];
        self.jobs.swap_remove(place as usize);
        if let Some(moved) = self.jobs.get(place as usize) {
            self.places[moved.slot as usize] = place;
        }
    }

    fn first(&self, now: f64, small: impl Fn(Minimum) -> bool) -> Option<Slot> {
        let mut found: Option<(f64, WaitingJob)> = None;
        for &job in self.jobs.iter().filter(|job| small(job.size)) {
            let urgency = (self.urgency)(now - job.arrival, job.size);
            let comes_first =
                |&(most, other): &(f64, WaitingJob)| urgency > most || urgency == most && job.number < other.number;
            if found.as_ref().is_none_or(comes_first) {
                found = Some((urgency, job));
            }
        }
        found.map(|(_, job)| job.slot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_first_is_the_most_urgent(
            moves in prop::collection::vec((1u32..9, 0u32..4, 0usize..9), 1..300), need in 0u32..9,
            urgency in prop::sample::select(vec![expansion as Urgency, wfp3]),
        ) {
            let (mut queue, mut list) = (UrgencyQueue::by(urgency), Vec::new());
            for (number, &(need, expected, leaving)) in (0..).zip(&moves) {
                let size = Minimum { need, expected: f64::from(expected) };
                let job = WaitingJob { slot: number as Slot, number, arrival: (number / 2) as f64, size };
                queue.insert(job);
                list.push(job);
                if leaving > 5 && leaving < list.len() {
                    queue.remove(list.remove(leaving));
                }
            }
            let now = moves.len() as f64;
            list.sort_by(|a, b| urgency(now - b.arrival, b.size).total_cmp(&urgency(now - a.arrival, a.size)));
            let small = |job: Minimum| job.need <= need;
            prop_assert_eq!(queue.first(now, small), list.iter().find(|job| small(job.size)).map(|job| job.slot));
        }
    }
}
