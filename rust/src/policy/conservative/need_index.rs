//! The waiting jobs sorted by need.

use std::collections::BTreeSet;

use crate::book::Slot;

/// Sorted jobs, and a bit for each need, since most ranges contain no job.
#[derive(Clone, Debug)]
pub struct NeedIndex {
    /// Need, number of the job, slot.
    jobs: BTreeSet<(u32, u64, Slot)>,
    bits: Vec<u64>,
    /// The least and the most need of all.
    range: (i64, i64),
}

impl NeedIndex {
    /// No job waits; needs are at most `servers`.
    pub fn new(servers: u32) -> Self {
        Self { jobs: BTreeSet::new(), bits: vec![0; servers as usize / 64 + 1], range: (0, -1) }
    }

    /// Adds a job.
    pub fn insert(&mut self, need: u32, number: u64, slot: Slot) {
        self.jobs.insert((need, number, slot));
        self.bits[need as usize / 64] |= 1 << (need % 64);
        self.measure();
    }

    /// Removes a job, with the values it was added with.
    pub fn remove(&mut self, need: u32, number: u64, slot: Slot) {
        self.jobs.remove(&(need, number, slot));
        if self.jobs.range((need, 0, 0)..=(need, u64::MAX, Slot::MAX)).next().is_none() {
            self.bits[need as usize / 64] &= !(1 << (need % 64));
        }
        self.measure();
    }

    /// Removes all jobs.
    pub fn clear(&mut self) {
        self.jobs.clear();
        self.bits.fill(0);
        self.measure();
    }

    /// Some job needs more than `low` servers, but no more than `high`.
    #[inline]
    pub fn any(&self, low: i64, high: i64) -> bool {
        let (low, high) = ((low + 1).max(self.range.0), high.min(self.range.1));
        if low > high {
            return false;
        }
        let (first, last) = (low as usize / 64, high as usize / 64);
        let (above, below) = (u64::MAX << (low % 64), u64::MAX >> (63 - high % 64));
        if first == last {
            return self.bits[first] & above & below != 0;
        }
        self.bits[first] & above != 0
            || self.bits[last] & below != 0
            || self.bits[first + 1..last].iter().any(|&word| word != 0)
    }

    /// Number and slot of the jobs that do.
    pub fn between(&self, low: i64, high: i64) -> impl Iterator<Item = (u64, Slot)> {
        let (low, high) = ((low + 1).max(self.range.0), high.min(self.range.1));
        let range = (low <= high).then(|| self.jobs.range((low as u32, 0, 0)..=(high as u32, u64::MAX, Slot::MAX)));
        range.into_iter().flatten().map(|&(_, number, slot)| (number, slot))
    }

    fn measure(&mut self) {
        let (first, last) = (self.jobs.first(), self.jobs.last());
        self.range = first.zip(last).map_or((0, -1), |(first, last)| (i64::from(first.0), i64::from(last.0)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn finds_those_between(
            moves in prop::collection::vec((1u32..=300, 0usize..9), 0..60), low in -20i64..310, width in 0i64..200,
        ) {
            let (mut needs, mut list) = (NeedIndex::new(300), Vec::new());
            for (slot, &(need, leaving)) in (0..).zip(&moves) {
                let job = (need, u64::from(slot) + 5, slot);
                needs.insert(job.0, job.1, job.2);
                list.push(job);
                if leaving > 3 && leaving < list.len() {
                    let (need, number, slot) = list.remove(leaving);
                    needs.remove(need, number, slot);
                }
            }
            list.sort_unstable();
            let high = low + width;
            let expected: Vec<(u64, Slot)> = list
                .iter()
                .filter(|job| i64::from(job.0) > low && i64::from(job.0) <= high)
                .map(|job| (job.1, job.2))
                .collect();
            prop_assert_eq!(needs.any(low, high), !expected.is_empty());
            prop_assert_eq!(needs.between(low, high).collect::<Vec<_>>(), expected);
            needs.clear();
            prop_assert!(!needs.any(-1, 300));
        }
    }
}
