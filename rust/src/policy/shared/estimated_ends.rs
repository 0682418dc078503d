//! The jobs in service in the order of their estimated ends.

use crate::book::Slot;

/// Entries of a block, at most.
const BLOCK: usize = 256;

/// Estimated end, slot and need of a job. Times are never negative, so their bits are in the order of their values.
type Entry = (u64, Slot, u32);

/// Some jobs that follow one another, and the servers they hold.
#[derive(Clone, Debug, Default)]
struct Block {
    entries: Vec<Entry>,
    held: u64,
}

/// Sorted blocks with their sums: a change moves one block, a search skips whole blocks.
#[derive(Clone, Debug, Default)]
pub struct EstimatedEnds {
    blocks: Vec<Block>,
}

impl EstimatedEnds {
    /// A job that is estimated to end at `end`, seconds, holds `need` servers.
    pub fn insert(&mut self, end: f64, slot: Slot, need: u32) {
        let entry = (end.to_bits(), slot, need);
        if self.blocks.is_empty() {
            self.blocks.push(Block::default());
        }
        let place = self.block(&entry).min(self.blocks.len() - 1);
        let block = &mut self.blocks[place];
        let at = block.entries.partition_point(|other| *other < entry);
        block.entries.insert(at, entry);
        block.held += u64::from(need);
        if block.entries.len() > BLOCK {
            let entries = block.entries.split_off(BLOCK / 2);
            let held = entries.iter().map(|entry| u64::from(entry.2)).sum();
            block.held -= held;
            self.blocks.insert(place + 1, Block { entries, held });
        }
    }

    /// Removes a job, with the values it was added with.
    pub fn remove(&mut self, end: f64, slot: Slot, need: u32) {
        let entry = (end.to_bits(), slot, need);
        let place = self.block(&entry);
        let Some(block) = self.blocks.get_mut(place) else { return };
        let Ok(at) = block.entries.binary_search(&entry) else { return };
        block.entries.remove(at);
        block.held -= u64::from(need);
        if block.entries.is_empty() {
            self.blocks.remove(place);
        }
    }

    /// The first time from `now` on at which `need` servers are free, `free` of them now, and how many are free then. A job
    /// beyond its estimated end is taken to end now.
    pub fn shadow(&self, now: f64, free: u32, need: u32) -> (f64, u64) {
        let (need, mut sum) = (u64::from(need), u64::from(free));
        let mut time = now;
        let mut place = 0;
        while let Some(block) = self.blocks.get(place).filter(|_| sum < need) {
            if sum + block.held >= need {
                for entry in &block.entries {
                    sum += u64::from(entry.2);
                    if sum >= need {
                        time = now.max(f64::from_bits(entry.0));
                        break;
                    }
                }
                break;
            }
            sum += block.held;
            place += 1;
        }
        (time, u64::from(free) + self.freed_by(time))
    }

    /// Servers held by the jobs that are estimated to end by `time`.
    fn freed_by(&self, time: f64) -> u64 {
        let time = time.to_bits();
        let mut sum = 0;
        for block in &self.blocks {
            if block.entries.last().is_none_or(|last| last.0 > time) {
                return sum + block.entries.iter().take_while(|e| e.0 <= time).map(|e| u64::from(e.2)).sum::<u64>();
            }
            sum += block.held;
        }
        sum
    }

    /// The block in which an entry belongs; one too many if it is the last of all.
    fn block(&self, entry: &Entry) -> usize {
        self.blocks.partition_point(|block| block.entries.last().is_some_and(|last| last < entry))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_shadow_is_that_of_a_plain_list(
            jobs in prop::collection::vec((0u32..50, 1u32..9, any::<bool>()), 0..1500),
            now in 0u32..50, free in 0u32..9, asked in 1u32..5000,
        ) {
            let mut ends = EstimatedEnds::default();
            let mut list = Vec::new();
            for (slot, &(end, need, _)) in (0..).zip(&jobs) {
                ends.insert(f64::from(end), slot, need);
            }
            for (slot, &(end, need, gone)) in (0..).zip(&jobs) {
                if gone {
                    ends.remove(f64::from(end), slot, need);
                } else {
                    list.push((f64::from(end.max(now)), u64::from(need)));
                }
            }
            let at = |time: f64| {
                u64::from(free) + list.iter().filter(|job| job.0 <= time).map(|job| job.1).sum::<u64>()
            };
            let now = f64::from(now);
            let asked = u64::from(asked).min(at(f64::INFINITY)).max(1) as u32;
            let times = std::iter::once(now).chain(list.iter().map(|job| job.0));
            let first = times.filter(|&time| at(time) >= u64::from(asked)).fold(f64::INFINITY, f64::min);
            prop_assume!(first.is_finite());
            prop_assert_eq!(ends.shadow(now, free, asked), (first, at(first)));
        }
    }
}
