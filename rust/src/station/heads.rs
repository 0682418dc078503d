//! The heads of line of all classes in the order of their arrival.

use std::hint::select_unpredictable;

/// Tournament tree over the classes: each inner node holds the class whose head of line is oldest below it.
#[derive(Clone, Debug)]
pub struct Heads {
    keys: Vec<u64>,
    /// `winner[i]` for inner nodes 1..size; leaves are classes.
    winner: Vec<u32>,
    size: usize,
}

impl Heads {
    /// Key of a class without waiting jobs.
    pub const NONE: u64 = u64::MAX;

    /// No job waits.
    pub fn new(classes: usize) -> Self {
        let size = classes.next_power_of_two();
        let mut winner = vec![0; size];
        for node in (1..size).rev() {
            let left = 2 * node;
            winner[node] = if left >= size { (left - size) as u32 } else { winner[left] };
        }
        Self { keys: vec![Self::NONE; size], winner, size }
    }

    #[inline]
    fn at(&self, node: usize) -> u32 {
        if node >= self.size { (node - self.size) as u32 } else { self.winner[node] }
    }

    #[inline]
    fn older(&self, a: u32, b: u32) -> u32 {
        if self.keys[b as usize] < self.keys[a as usize] { b } else { a }
    }

    /// Key of the head of line of a class.
    #[inline]
    pub fn key(&self, class: u32) -> Option<u64> {
        self.keys.get(class as usize).copied().filter(|&k| k != Self::NONE)
    }

    /// The class has a new head of line (or [`Heads::NONE`]).
    #[inline]
    pub fn set(&mut self, class: u32, key: u64) {
        self.keys[class as usize] = key;
        let (mut winner, mut winning) = (class, key);
        let mut node = class as usize + self.size;
        while node > 1 {
            let sibling = self.at(node ^ 1);
            let other = self.keys[sibling as usize];
            // of equal keys the left one wins
            let lost = (other < winning) | ((other == winning) & (node & 1 == 1));
            winner = select_unpredictable(lost, sibling, winner);
            winning = select_unpredictable(lost, other, winning);
            node >>= 1;
            let before = std::mem::replace(&mut self.winner[node], winner);
            if winner == before && winner != class {
                break; // neither the winner nor its key has changed, here and above
            }
        }
    }

    /// The class with the oldest head of line of all.
    #[inline]
    pub fn oldest_of_all(&self) -> Option<u32> {
        let best = self.at(1);
        (self.keys[best as usize] != Self::NONE).then_some(best)
    }

    /// The class with the oldest head of line among `first..end`.
    #[inline]
    pub fn oldest(&self, first: usize, end: usize) -> Option<u32> {
        let (mut left, mut right) = (first + self.size, end + self.size);
        let mut best = first as u32;
        if first >= end {
            return None;
        }
        while left < right {
            if left & 1 == 1 {
                best = self.older(best, self.at(left));
                left += 1;
            }
            if right & 1 == 1 {
                right -= 1;
                best = self.older(best, self.at(right));
            }
            left >>= 1;
            right >>= 1;
        }
        (self.keys[best as usize] != Self::NONE).then_some(best)
    }

    /// The last class below `end` whose head of line has a key of at most `key`.
    pub fn last_until(&self, end: usize, key: u64) -> Option<u32> {
        let passes = |node: usize| self.keys[self.at(node) as usize] <= key;
        let (mut left, mut right) = (self.size, end + self.size);
        let mut best = None; // nodes of the left border lie before all found on the right border
        while left < right {
            if left & 1 == 1 {
                if passes(left) {
                    best = best.max(Some((self.first_leaf(left), left)));
                }
                left += 1;
            }
            if right & 1 == 1 {
                right -= 1;
                if passes(right) {
                    best = best.max(Some((self.first_leaf(right), right)));
                }
            }
            left >>= 1;
            right >>= 1;
        }
        let (_, mut node) = best?;
        while node < self.size {
            node = 2 * node + usize::from(passes(2 * node + 1));
        }
        Some((node - self.size) as u32)
    }

    fn first_leaf(&self, mut node: usize) -> usize {
        while node < self.size {
            node *= 2;
        }
        node
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn agrees_with_a_scan(
            classes in 1usize..70,
            steps in prop::collection::vec((any::<prop::sample::Index>(), 0u64..50, any::<prop::sample::Index>(), any::<prop::sample::Index>()), 1..100),
        ) {
            let mut heads = Heads::new(classes);
            let mut keys = vec![Heads::NONE; classes];
            for (step, (class, key, a, b)) in steps.into_iter().enumerate() {
                let class = class.index(classes);
                // keys are distinct, as arrival numbers are
                let key = if key == 0 { Heads::NONE } else { key * 1000 + step as u64 };
                heads.set(class as u32, key);
                keys[class] = key;
                let (a, b) = (a.index(classes + 1), b.index(classes + 1));
                let oldest = (a..b).filter(|&c| keys[c] != Heads::NONE).min_by_key(|&c| keys[c]);
                prop_assert_eq!(heads.oldest(a, b), oldest.map(|c| c as u32));
                let oldest = (0..classes).filter(|&c| keys[c] != Heads::NONE).min_by_key(|&c| keys[c]);
                prop_assert_eq!(heads.oldest_of_all(), oldest.map(|c| c as u32));
                let limit = key.min(30_000);
                let last = (0..b).rev().find(|&c| keys[c] <= limit);
                prop_assert_eq!(heads.last_until(b, limit), last.map(|c| c as u32));
            }
        }
    }
}
