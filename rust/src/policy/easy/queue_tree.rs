//! The waiting jobs in order of arrival, searched for the first one that is small enough.

use super::{Minimum, NONE, Queue, WaitingJob};
use crate::book::{NO_JOB, Slot};

/// Places to begin with.
const PLACES: usize = 64;

/// A binary tree over places in order of arrival, with the smallest need and estimate below each node.
#[derive(Clone, Debug)]
pub struct QueueTree {
    /// The root is 1, the children of `n` are `2n` and `2n + 1`, the second half are the leaves.
    tree: Vec<Minimum>,
    /// The job at each place.
    slots: Vec<Slot>,
    /// Place of each slot.
    places: Vec<u32>,
    next: usize,
}

impl Default for QueueTree {
    fn default() -> Self {
        Self { tree: vec![NONE; 2 * PLACES], slots: vec![NO_JOB; PLACES], places: Vec::new(), next: 0 }
    }
}

impl Queue for QueueTree {
    fn insert(&mut self, job: WaitingJob) {
        let slot = job.slot;
        if self.next == self.slots.len() {
            self.compact();
        }
        if self.places.len() <= slot as usize {
            self.places.resize(slot as usize + 1, 0);
        }
        let place = self.next;
        self.slots[place] = slot;
        self.places[slot as usize] = place as u32;
        self.set(place, job.size);
        self.next += 1;
    }

    fn remove(&mut self, job: WaitingJob) {
        let place = self.places[job.slot as usize] as usize;
        self.slots[place] = NO_JOB;
        self.set(place, NONE);
    }

    fn first(&self, _: f64, small: impl Fn(Minimum) -> bool) -> Option<Slot> {
        self.search(1, &small)
    }
}

impl QueueTree {
    fn search(&self, node: usize, small: &impl Fn(Minimum) -> bool) -> Option<Slot> {
        if !small(self.tree[node]) {
            return None;
        }
        match node.checked_sub(self.slots.len()) {
            Some(place) => Some(self.slots[place]),
            None => self.search(2 * node, small).or_else(|| self.search(2 * node + 1, small)),
        }
    }

    fn set(&mut self, place: usize, least: Minimum) {
        let mut node = place + self.slots.len();
        self.tree[node] = least;
        while node > 1 {
            node /= 2;
            let both = self.tree[2 * node].of(self.tree[2 * node + 1]);
            if self.tree[node] == both {
                break;
            }
            self.tree[node] = both;
        }
    }

    /// Moves the waiting jobs to the front, and doubles the capacity.
    #[cold]
    fn compact(&mut self) {
        let old = self.slots.len();
        let kept: Vec<(Slot, Minimum)> = (0..old)
            .filter(|&place| self.slots[place] != NO_JOB)
            .map(|place| (self.slots[place], self.tree[old + place]))
            .collect();
        let places = (2 * kept.len()).next_power_of_two().max(PLACES);
        self.slots = vec![NO_JOB; places];
        self.tree = vec![NONE; 2 * places];
        for (place, &(slot, least)) in kept.iter().enumerate() {
            self.slots[place] = slot;
            self.places[slot as usize] = place as u32;
            self.tree[places + place] = least;
        }
        for node in (1..places).rev() {
            self.tree[node] = self.tree[2 * node].of(self.tree[2 * node + 1]);
        }
        self.next = kept.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn finds_the_oldest_that_is_small_enough(
            moves in prop::collection::vec((1u32..9, 0u32..9, 0usize..9), 1..600), need in 0u32..9, expected in 0u32..9,
        ) {
            let (mut line, mut list) = (QueueTree::default(), Vec::new());
            for (slot, &(need, expected, leaving)) in (0..).zip(&moves) {
                let job = WaitingJob { slot, number: 0, arrival: 0.0, size: Minimum { need, expected: f64::from(expected) } };
                line.insert(job);
                list.push(job);
                if leaving > 3 && leaving < list.len() {
                    line.remove(list.remove(leaving));
                }
            }
            let small = |job: Minimum| job.need <= need || job.expected <= f64::from(expected) && job.need <= need + 3;
            prop_assert_eq!(line.first(0.0, small), list.iter().find(|job| small(job.size)).map(|job| job.slot));
        }
    }
}
