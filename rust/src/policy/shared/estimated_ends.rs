//! The jobs in service in the order of their estimated ends.

use super::sorted_blocks::{SortedBlocks, Summary};
use crate::book::{Job, Slot};
use crate::policy::View;

/// Estimated end, slot and need of a job. Times are never negative, so their bits are in the order of their values.
type Entry = (u64, Slot, u32);

/// The servers that some jobs hold.
#[derive(Clone, Debug, Default)]
struct Held(u64);

impl Summary<Entry> for Held {
    #[inline]
    fn add(&mut self, entry: &Entry) {
        self.0 += u64::from(entry.2);
    }

    #[inline]
    fn remove(&mut self, entry: &Entry, _: &[Entry]) {
        self.0 -= u64::from(entry.2);
    }
}

/// The jobs in service, with the servers that each block holds.
#[derive(Clone, Debug, Default)]
pub struct EstimatedEnds {
    jobs: SortedBlocks<Entry, Held>,
}

impl EstimatedEnds {
    /// A job that is estimated to end at `end`, seconds, holds `need` servers.
    pub fn insert(&mut self, end: f64, slot: Slot, need: u32) {
        self.jobs.insert((end.to_bits(), slot, need));
    }

    /// Removes a job, with the values it was added with.
    pub fn remove(&mut self, end: f64, slot: Slot, need: u32) {
        self.jobs.remove(&(end.to_bits(), slot, need));
    }

    /// The estimate of a job has been raised from `old` seconds.
    pub fn correct(&mut self, job: &Job, old: f64, slot: Slot, need: u32) {
        self.remove(job.start + old, slot, need);
        self.insert(job.start + job.expected, slot, need);
    }

    /// Adds all jobs in service.
    pub fn restore(&mut self, view: View<'_>) {
        for (slot, job) in view.book.walk(view.book.running()) {
            self.insert(job.start + job.expected, slot, view.station.need(job.class));
        }
    }

    /// The first time from `now` on at which `need` servers are free, `free` of them now, and how many are free then. A job
    /// beyond its estimated end is taken to end now.
    pub fn shadow(&self, now: f64, free: u32, need: u32) -> (f64, u64) {
        let (need, mut sum) = (u64::from(need), u64::from(free));
        let mut time = now;
        for block in self.jobs.blocks() {
            if sum >= need {
                break;
            }
            if sum + block.summary.0 >= need {
                for entry in &block.entries {
                    sum += u64::from(entry.2);
                    if sum >= need {
                        time = now.max(f64::from_bits(entry.0));
                        break;
                    }
                }
                break;
            }
            sum += block.summary.0;
        }
        (time, u64::from(free) + self.freed_by(time))
    }

    /// Servers held by the jobs that are estimated to end by `time`.
    fn freed_by(&self, time: f64) -> u64 {
        let time = time.to_bits();
        let mut sum = 0;
        for block in self.jobs.blocks() {
            if block.entries.last().is_none_or(|last| last.0 > time) {
                return sum + block.entries.iter().take_while(|e| e.0 <= time).map(|e| u64::from(e.2)).sum::<u64>();
            }
            sum += block.summary.0;
        }
        sum
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
