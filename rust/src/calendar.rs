//! Future completions, earliest first; with equal times the job that started first.

use std::hint::select_unpredictable;

use crate::book::Slot;

/// A four-way heap keyed on time and a running stamp.
#[derive(Clone, Debug, Default)]
pub struct Calendar {
    heap: Vec<Entry>,
    stamp: u32,
}

/// Time, stamp and slot in one number whose order is that of time, then stamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry(u128);

impl Entry {
    #[inline]
    fn new(time: f64, stamp: u32, slot: Slot) -> Self {
        // times are never negative, so their bits are in the order of their values
        Self(u128::from(time.to_bits()) << 64 | u128::from(stamp) << 32 | u128::from(slot))
    }

    #[inline]
    fn time(self) -> f64 {
        f64::from_bits((self.0 >> 64) as u64)
    }
}

const WAYS: usize = 4;

/// The earlier of two entries and its place.
#[inline(always)]
fn earlier(a: (Entry, usize), b: (Entry, usize)) -> (Entry, usize) {
    let later = b.0 < a.0;
    (select_unpredictable(later, b.0, a.0), select_unpredictable(later, b.1, a.1))
}

impl Calendar {
    /// Number of entries.
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// No completion is scheduled.
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }

    /// Time of the earliest completion, seconds; infinite if there is none.
    #[inline]
    pub fn next_time(&self) -> f64 {
        self.heap.first().map_or(f64::INFINITY, |entry| entry.time())
    }

    /// The earliest completion: slot and stamp.
    #[inline]
    pub fn peek(&self) -> Option<(Slot, u32)> {
        self.heap.first().map(|entry| (entry.0 as u32, (entry.0 >> 32) as u32))
    }

    /// Inserts a completion and returns its stamp.
    #[inline]
    pub fn push(&mut self, time: f64, slot: Slot) -> u32 {
        // 0 is no stamp
        self.stamp = self.stamp.wrapping_add(1).max(1);
        let entry = Entry::new(time, self.stamp, slot);
        let hole = self.heap.len();
        self.heap.push(entry);
        self.rise(hole, entry);
        self.stamp
    }

    /// Removes the earliest completion: slot and stamp.
    #[inline]
    pub fn pop(&mut self) -> Option<(Slot, u32)> {
        let last = self.heap.pop()?;
        let Some(&first) = self.heap.first() else { return Some((last.0 as u32, (last.0 >> 32) as u32)) };
        let hole = self.sink();
        self.rise(hole, last);
        Some((first.0 as u32, (first.0 >> 32) as u32))
    }

    /// Puts `entry` into the hole or above it.
    #[inline]
    fn rise(&mut self, mut hole: usize, entry: Entry) {
        while hole > 0 {
            let parent = (hole - 1) / WAYS;
            if self.heap[parent] <= entry {
                break;
            }
            self.heap[hole] = self.heap[parent];
            hole = parent;
        }
        self.heap[hole] = entry;
    }

    /// Moves the hole at the root down to a leaf along the earliest children: the entry that fills it is the last one and
    /// seldom rises far, so this saves comparing it on the way. The choice of the child is free of branches.
    #[inline]
    fn sink(&mut self) -> usize {
        let heap = &mut self.heap[..];
        let mut hole = 0;
        loop {
            let first = hole * WAYS + 1;
            let least = if let Some(&[a, b, c, d]) = heap[first.min(heap.len())..].first_chunk::<WAYS>() {
                let (left, right) = (earlier((a, first), (b, first + 1)), earlier((c, first + 2), (d, first + 3)));
                earlier(left, right).1
            } else if first < heap.len() {
                (first + 1..heap.len())
                    .fold(first, |least, child| if heap[child] < heap[least] { child } else { least })
            } else {
                return hole;
            };
            heap[hole] = heap[least];
            hole = least;
        }
    }

    /// Keeps only the entries for which `valid` (slot, stamp) is true.
    pub fn retain(&mut self, valid: impl Fn(Slot, u32) -> bool) {
        let kept: Vec<Entry> = self.heap.drain(..).filter(|e| valid(e.0 as u32, (e.0 >> 32) as u32)).collect();
        self.heap = kept;
        self.heap.sort_unstable();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn gives_entries_by_time_then_by_order_of_entry(times in prop::collection::vec(0u32..20, 0..300)) {
            let mut calendar = Calendar::default();
            for (slot, &time) in times.iter().enumerate() {
                calendar.push(f64::from(time), slot as Slot);
            }
            let mut expected: Vec<usize> = (0..times.len()).collect();
            expected.sort_by_key(|&slot| times[slot]);
            for slot in expected {
                prop_assert_eq!(calendar.next_time(), f64::from(times[slot]));
                prop_assert_eq!(calendar.pop().map(|e| e.0 as usize), Some(slot));
            }
            prop_assert!(calendar.is_empty());
        }
    }
}
