//! Future completions, earliest first; with equal times the job that started first.

use std::hint::select_unpredictable;

use crate::book::Slot;

/// Completions by time and a running stamp: the next ones in a four-way heap, later ones unsorted in buckets. So most of the
/// work is in the first-level cache, however many jobs are in service.
#[derive(Clone, Debug)]
pub struct Calendar {
    /// The entries up to the horizon. Empty only if there are no entries.
    heap: Vec<Entry>,
    /// The others, by the highest bit in which they differ from the horizon: those of lower bits are earlier.
    later: [Vec<Entry>; 128],
    /// The buckets with entries, as bits: exactly these, as the horizon is finite only if there are some.
    filled: u128,
    horizon: Entry,
    /// The heap is filled anew when it has more entries.
    limit: usize,
    len: usize,
    stamp: u32,
}

/// Entries with which the heap is filled.
const NEAR: usize = 256;

impl Default for Calendar {
    fn default() -> Self {
        Self {
            heap: Vec::new(),
            later: [const { Vec::new() }; 128],
            filled: 0,
            horizon: NEVER,
            limit: 2 * NEAR,
            len: 0,
            stamp: 0,
        }
    }
}

/// Time, stamp and slot in one number whose order is that of time, then stamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry(u128);

/// Later than all entries.
const NEVER: Entry = Entry(u128::MAX);

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

    /// Slot and stamp.
    #[inline]
    fn completion(self) -> (Slot, u32) {
        (self.0 as u32, (self.0 >> 32) as u32)
    }
}

/// The places of the bits that are set.
fn buckets(bits: u128) -> impl Iterator<Item = usize> {
    (0..128).filter(move |bucket| bits >> bucket & 1 == 1)
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
        self.len
    }

    /// No completion is scheduled.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Time of the earliest completion, seconds; infinite if there is none.
    #[inline]
    pub fn next_time(&self) -> f64 {
        self.heap.first().map_or(f64::INFINITY, |entry| entry.time())
    }

    /// The earliest completion: slot and stamp.
    #[inline]
    pub fn peek(&self) -> Option<(Slot, u32)> {
        self.heap.first().map(|entry| entry.completion())
    }

    /// Inserts a completion and returns its stamp.
    #[inline]
    pub fn push(&mut self, time: f64, slot: Slot) -> u32 {
        // 0 is no stamp
        self.stamp = self.stamp.wrapping_add(1).max(1);
        self.len += 1;
        let entry = Entry::new(time, self.stamp, slot);
        if entry > self.horizon {
            self.defer(entry);
        } else {
            self.admit(entry);
            if self.heap.len() > self.limit {
                self.fill();
            }
        }
        self.stamp
    }

    /// Removes the earliest completion: slot and stamp. Calls `soon` for completions that come soon, in any order.
    #[inline]
    pub fn pop(&mut self, soon: impl Fn(Slot)) -> Option<(Slot, u32)> {
        let last = self.heap.pop()?;
        self.len -= 1;
        let Some(&first) = self.heap.first() else {
            if self.len > 0 {
                self.fill();
                self.heap.iter().for_each(|entry| soon(entry.completion().0));
            }
            return Some(last.completion());
        };
        let hole = self.sink();
        self.rise(hole, last);
        Some(first.completion())
    }

    /// An entry beyond the horizon.
    #[inline]
    fn defer(&mut self, entry: Entry) {
        let bucket = (entry.0 ^ self.horizon.0).ilog2();
        self.later[bucket as usize].push(entry);
        self.filled |= 1 << bucket;
    }

    /// Fills the heap with the earliest entries, and puts the horizon behind them.
    #[cold]
    fn fill(&mut self) {
        let mut entries = std::mem::take(&mut self.heap);
        while entries.len() < NEAR && self.filled != 0 {
            entries.append(&mut self.later[self.filled.trailing_zeros() as usize]);
            self.filled &= self.filled - 1;
        }
        let mut horizon =
            if self.filled == 0 && entries.len() <= NEAR { NEVER } else { *entries.select_nth_unstable(NEAR - 1).1 };
        // if the heap was too long, the horizon is earlier, and what was close to the former one is close no longer
        let mut close = (horizon.0 ^ self.horizon.0).checked_ilog2().map_or(0, |bit| self.filled & ((1 << bit) - 1));
        let moved: usize = buckets(close).map(|bucket| self.later[bucket].len()).sum();
        if moved > entries.len() {
            (horizon, close) = (self.horizon, 0); // a long heap costs less
        }
        buckets(close).for_each(|bucket| entries.append(&mut self.later[bucket]));
        self.filled &= !close;
        self.horizon = horizon;
        for entry in entries {
            if entry > horizon { self.defer(entry) } else { self.admit(entry) }
        }
        self.limit = 2 * self.heap.len().max(NEAR);
    }

    /// An entry of the heap.
    #[inline]
    fn admit(&mut self, entry: Entry) {
        let hole = self.heap.len();
        self.heap.push(entry);
        self.rise(hole, entry);
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
        let mut kept = std::mem::take(&mut self.heap);
        self.later.iter_mut().for_each(|bucket| kept.append(bucket));
        kept.retain(|entry| valid(entry.completion().0, entry.completion().1));
        (self.len, self.filled, self.horizon) = (kept.len(), 0, NEVER);
        self.heap = kept;
        self.fill();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    /// Times on many scales, with ties.
    fn time() -> impl Strategy<Value = f64> {
        (0u32..40, -3i32..12).prop_map(|(time, scale)| f64::from(time) * 10f64.powi(scale))
    }

    /// Numbers of entries: often those at which the heap is filled or divided, or one more or less.
    fn number() -> impl Strategy<Value = usize> {
        let close = (0usize..5, 0usize..3).prop_map(|(heaps, more)| (heaps * NEAR + more).saturating_sub(1));
        prop_oneof![0usize..2000, close]
    }

    fn times() -> impl Strategy<Value = Vec<f64>> {
        number().prop_flat_map(|number| prop::collection::vec(time(), number))
    }

    proptest! {
        #[test]
        fn gives_entries_by_time_then_by_order_of_entry(
            steps in prop::collection::vec((times(), prop::option::of(number()), number()), 0..8)
        ) {
            let (mut calendar, mut expected, mut slot) = (Calendar::default(), BTreeSet::new(), 0);
            for (times, kept, pops) in steps.into_iter().chain([(Vec::new(), None, usize::MAX)]) {
                for time in times {
                    let stamp = calendar.push(time, slot);
                    expected.insert((time.to_bits(), stamp, slot));
                    slot += 1;
                    prop_assert_eq!(calendar.peek().map(|(slot, _)| slot), expected.first().map(|entry| entry.2));
                }
                if let Some(kept) = kept {
                    expected = expected.into_iter().take(kept).collect();
                    let valid: BTreeSet<_> = expected.iter().map(|&(_, stamp, slot)| (slot, stamp)).collect();
                    calendar.retain(|slot, stamp| valid.contains(&(slot, stamp)));
                }
                for _ in 0..pops.min(expected.len()) {
                    let (time, stamp, slot) = expected.pop_first().unwrap();
                    prop_assert_eq!(calendar.next_time(), f64::from_bits(time));
                    prop_assert_eq!(calendar.peek(), Some((slot, stamp)));
                    prop_assert_eq!(calendar.pop(|_| ()), Some((slot, stamp)));
                    prop_assert_eq!(calendar.len(), expected.len());
                }
            }
            prop_assert!(calendar.is_empty());
            prop_assert_eq!(calendar.pop(|_| ()), None);
        }
    }
}
