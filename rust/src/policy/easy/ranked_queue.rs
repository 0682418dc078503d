//! The waiting jobs in an order of their needs and estimates, jobs of equal rank in order of arrival.

use std::cmp::Ordering;

use super::{Minimum, Queue, WaitingJob};
use crate::book::Slot;
use crate::policy::shared::{SortedBlocks, Summary};

/// Rank of a job; a smaller one comes first. Estimates are not negative, so their bits are in the order of their values.
type Rank = fn(Minimum) -> u64;

/// The shortest estimate first.
pub fn shortest(job: Minimum) -> u64 {
    (job.expected + 0.0).to_bits() // -0 has other bits
}

/// The smallest product of need and estimate first.
pub fn area(job: Minimum) -> u64 {
    (f64::from(job.need) * job.expected + 0.0).to_bits()
}

/// The largest need first.
pub fn largest(job: Minimum) -> u64 {
    u64::from(u32::MAX - job.need)
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    rank: u64,
    job: WaitingJob,
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.rank, self.job.number).cmp(&(other.rank, other.job.number))
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Entry {}

impl Summary<Entry> for Minimum {
    fn add(&mut self, entry: &Entry) {
        *self = self.of(entry.job.size);
    }

    fn remove(&mut self, entry: &Entry, rest: &[Entry]) {
        let size = entry.job.size;
        if size.need == self.need || size.expected == self.expected {
            *self = rest.iter().fold(Self::default(), |least, entry| least.of(entry.job.size));
        }
    }
}

/// The queue.
#[derive(Clone, Debug)]
pub struct RankedQueue {
    rank: Rank,
    jobs: SortedBlocks<Entry, Minimum>,
}

impl RankedQueue {
    /// An empty queue in the order of a rank.
    pub fn by(rank: Rank) -> Self {
        Self { rank, jobs: SortedBlocks::default() }
    }

    fn entry(&self, job: WaitingJob) -> Entry {
        Entry { rank: (self.rank)(job.size), job }
    }
}

impl Queue for RankedQueue {
    fn insert(&mut self, job: WaitingJob) {
        self.jobs.insert(self.entry(job));
    }

    fn remove(&mut self, job: WaitingJob) {
        self.jobs.remove(&self.entry(job));
    }

    fn first(&self, _: f64, small: impl Fn(Minimum) -> bool) -> Option<Slot> {
        let mut blocks = self.jobs.blocks().iter().filter(|block| small(block.summary));
        blocks.find_map(|block| block.entries.iter().find(|entry| small(entry.job.size))).map(|entry| entry.job.slot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_first_is_that_of_a_sorted_list(
            moves in prop::collection::vec((1u32..9, 0u32..9, 0usize..9), 1..900), need in 0u32..9, expected in 0u32..9,
            rank in prop::sample::select(vec![shortest as Rank, area, largest]),
        ) {
            let (mut queue, mut list) = (RankedQueue::by(rank), Vec::new());
            for (number, &(need, expected, leaving)) in (0..).zip(&moves) {
                let job = WaitingJob {
                    slot: number as Slot,
                    number,
                    arrival: 0.0,
                    size: Minimum { need, expected: f64::from(expected) },
                };
                queue.insert(job);
                list.push(job);
                if leaving > 5 && leaving < list.len() {
                    queue.remove(list.remove(leaving));
                }
            }
            let small = |job: Minimum| job.need <= need || job.expected <= f64::from(expected) && job.need <= need + 3;
            list.sort_by_key(|job| rank(job.size));
            prop_assert_eq!(queue.first(0.0, small), list.iter().find(|job| small(job.size)).map(|job| job.slot));
        }
    }
}
