//! Distributions of the quantities of the jobs of one class in one segment.
//!
//! Most segments of a short run, and of a rare class, contain few jobs: their values are kept as they are. With many jobs
//! they become histograms.

use std::iter;
use std::ops::Range;

use super::METRICS;
use super::histogram::{Histogram, Scale};

/// Jobs up to which values are kept instead of histograms.
const FEW: usize = 128;

/// Distributions of the `METRICS` of the jobs of one class.
#[derive(Clone, Debug, Default)]
pub struct Distributions {
    histograms: [Histogram; METRICS.len()],
    /// Places of the values of each job, see [`Scale::place`]; empty if there are histograms.
    few: Vec<[u32; METRICS.len()]>,
}

impl Distributions {
    /// Counts the values of a job.
    #[inline(always)]
    pub fn count(&mut self, values: [f64; METRICS.len()], scale: Scale) {
        let counted = self.count_inside(values, scale);
        if counted < METRICS.len() {
            self.count_outside(counted, values, scale);
        }
    }

    /// Counts values until one is outside the range of its histogram; returns how many were counted.
    #[inline(always)]
    fn count_inside(&mut self, values: [f64; METRICS.len()], scale: Scale) -> usize {
        for (metric, (histogram, value)) in self.histograms.iter_mut().zip(values).enumerate() {
            // of the quantities only the waiting time is often zero
            if !histogram.add_inside(value, metric == 1, scale) {
                return metric;
            }
        }
        METRICS.len()
    }

    /// Counts the values from that metric on, which is the first one if there are few jobs, as histograms without a range
    /// contain no value.
    #[cold]
    fn count_outside(&mut self, first: usize, values: [f64; METRICS.len()], scale: Scale) {
        let places = values.map(|value| scale.place(value));
        if self.many() {
            for (histogram, &place) in self.histograms.iter_mut().zip(&places).skip(first) {
                histogram.add(place, scale);
            }
        } else {
            self.few.push(places);
            if self.few.len() > FEW {
                self.make_histograms(scale);
            }
        }
    }

    /// Whether values are counted in histograms.
    fn many(&self) -> bool {
        self.histograms[0].has_range()
    }

    /// Counts the values of few jobs in histograms, as there are many now.
    fn make_histograms(&mut self, scale: Scale) {
        for places in std::mem::take(&mut self.few) {
            self.histograms.iter_mut().zip(places).for_each(|(histogram, place)| histogram.add(place, scale));
        }
    }

    /// A new segment begins; returns the distributions of the one that ends. After many jobs the histograms keep their
    /// ranges, after few the next jobs are kept as they are.
    pub fn next_segment(&mut self) -> Self {
        let many = self.histograms[0].total() > FEW as u64;
        let fresh = if many { self.histograms.each_ref().map(Histogram::emptied) } else { Default::default() };
        std::mem::replace(self, Self { histograms: fresh, few: Vec::new() })
    }

    /// Adds the jobs of another segment.
    pub fn merge(&mut self, other: Self, scale: Scale) {
        let many = self.many() || other.many();
        if many && !self.many() {
            self.make_histograms(scale);
        }
        if many {
            self.histograms.iter_mut().zip(&other.histograms).for_each(|(a, b)| a.merge(b, scale));
            for places in other.few {
                self.histograms.iter_mut().zip(places).for_each(|(histogram, place)| histogram.add(place, scale));
            }
        } else {
            self.few.extend(other.few);
            if self.few.len() > FEW {
                self.make_histograms(scale);
            }
        }
    }

    /// Whether no job was counted.
    pub fn is_empty(&self) -> bool {
        self.few.is_empty() && self.histograms[0].total() == 0
    }

    /// The buckets of the values of a metric, if they are few; None if a value counts as zero.
    pub fn few(&self, metric: usize) -> impl Iterator<Item = Option<u64>> {
        self.few.iter().map(move |places| (places[metric] > 0).then_some(u64::from(places[metric])))
    }

    /// The histogram of a metric; empty if the values are few.
    pub fn histogram(&self, metric: usize) -> &Histogram {
        &self.histograms[metric]
    }

    /// Ranges of buckets that together hold all values of a metric.
    pub fn ranges(&self, metric: usize) -> impl Iterator<Item = Range<u64>> {
        let (low, counts) = self.histograms[metric].buckets();
        let single = self.few(metric).flatten().map(|bucket| bucket..bucket + 1);
        single.chain(iter::once(low..low + counts.len() as u64)).filter(|range| !range.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Values counted in each bucket of a metric; 0 is the bucket of the values that count as zero.
    fn buckets(distributions: &Distributions, metric: usize) -> Vec<u64> {
        let histogram = distributions.histogram(metric);
        let (low, counts) = histogram.buckets();
        let repeated = |bucket: u64, count: u64| (0..count).map(move |_| bucket);
        let mut found: Vec<u64> = repeated(0, histogram.zeros()).collect();
        found.extend((low..).zip(counts).flat_map(|(bucket, &count)| repeated(bucket, count)));
        found.extend(distributions.few(metric).map(|bucket| bucket.unwrap_or(0)));
        found.sort_unstable();
        found
    }

    proptest! {
        #[test]
        fn segments_hold_the_same_values_apart_and_merged(
            segments in prop::collection::vec(
                prop::collection::vec(prop_oneof![Just(0.0), 0.5f64..2.0, 1e3f64..1e6], 0..2 * FEW), 1..5),
        ) {
            let scale = Scale::new(6);
            let places = |values: &[f64]| {
                let mut places: Vec<u64> = values.iter().map(|&value| u64::from(scale.place(value))).collect();
                places.sort_unstable();
                places
            };
            let (mut current, mut merged) = (Distributions::default(), Distributions::default());
            for values in &segments {
                values.iter().for_each(|&value| current.count([value; METRICS.len()], scale));
                prop_assert_eq!(current.is_empty(), values.is_empty());
                let ended = current.next_segment();
                for metric in 0..METRICS.len() {
                    prop_assert_eq!(buckets(&ended, metric), places(values));
                    let inside = |bucket: u64| ended.ranges(metric).any(|range| range.contains(&bucket));
                    prop_assert!(places(values).into_iter().all(|bucket| bucket == 0 || inside(bucket)));
                }
                merged.merge(ended, scale);
            }
            for metric in 0..METRICS.len() {
                prop_assert_eq!(buckets(&merged, metric), places(&segments.concat()));
            }
        }
    }
}
