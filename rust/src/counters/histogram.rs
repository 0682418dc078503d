//! Distribution of a nonnegative quantity by buckets of equal relative width.

/// Smallest value told from zero, seconds (2^-40).
const TINY: f64 = 9.094_947_017_729_282e-13;
/// Largest value told from infinity, seconds (2^60).
const HUGE: f64 = 1_152_921_504_606_846_976.0;

/// Counts in buckets that divide every octave into `2^bits` equal parts; the range grows as values come.
#[derive(Clone, Debug)]
pub struct Histogram {
    shift: u32,
    low: u64,
    zeros: u64,
    counts: Vec<u64>,
}

impl Histogram {
    /// An empty one with `2^bits` buckets an octave.
    pub fn new(bits: u32) -> Self {
        Self { shift: 52 - bits, low: 0, zeros: 0, counts: Vec::new() }
    }

    /// An empty one of the same shape, with room for the same range.
    pub fn emptied(&self) -> Self {
        Self { shift: self.shift, low: self.low, zeros: 0, counts: vec![0; self.counts.len()] }
    }

    /// Counts a value.
    #[inline]
    pub fn add(&mut self, value: f64) {
        if value < TINY {
            self.zeros += 1;
            return;
        }
        let bucket = value.to_bits() >> self.shift;
        match self.counts.get_mut(bucket.wrapping_sub(self.low) as usize) {
            Some(count) => *count += 1,
            None => self.add_outside(value),
        }
    }

    #[cold]
    fn add_outside(&mut self, value: f64) {
        let bucket = value.min(HUGE).to_bits() >> self.shift;
        self.reach(bucket);
        self.counts[(bucket - self.low) as usize] += 1;
    }

    /// Widens the range by whole octaves so that it holds a bucket.
    fn reach(&mut self, bucket: u64) {
        let octave = 1u64 << (52 - self.shift);
        let first = bucket / octave * octave;
        if self.counts.is_empty() {
            self.low = first;
        }
        let low = self.low.min(first);
        let end = (self.low + self.counts.len() as u64).max(first + octave);
        if low < self.low {
            let mut counts = vec![0; (self.low - low) as usize];
            counts.append(&mut self.counts);
            self.counts = counts;
            self.low = low;
        }
        self.counts.resize((end - low) as usize, 0);
    }

    /// Adds the counts of another one with as many buckets an octave.
    pub fn merge(&mut self, other: &Self) {
        self.zeros += other.zeros;
        if other.counts.is_empty() {
            return;
        }
        self.reach(other.low);
        self.reach(other.low + other.counts.len() as u64 - 1);
        let offset = (other.low - self.low) as usize;
        self.counts[offset..].iter_mut().zip(&other.counts).for_each(|(a, b)| *a += b);
    }

    /// Values counted.
    pub fn total(&self) -> u64 {
        self.zeros + self.counts.iter().sum::<u64>()
    }

    /// Values below 2^-40, counted as zero.
    pub fn zeros(&self) -> u64 {
        self.zeros
    }

    /// First bucket and counts.
    pub fn buckets(&self) -> (u64, &[u64]) {
        (self.low, &self.counts)
    }

    /// Bits by which the pattern of a double is shifted to give its bucket.
    pub fn shift(&self) -> u32 {
        self.shift
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn edges(histogram: &Histogram) -> Vec<(f64, f64, u64)> {
        let (low, counts) = histogram.buckets();
        let edge = |i: u64| f64::from_bits(i << histogram.shift());
        counts.iter().zip(low..).map(|(&n, i)| (edge(i), edge(i + 1), n)).collect()
    }

    proptest! {
        #[test]
        fn every_value_is_counted_in_its_bucket(
            values in prop::collection::vec(prop_oneof![Just(0.0), 1e-15f64..1e-9, 0.5f64..2.0, 1e3f64..1e9, 1e18..1e300], 1..60),
            cut in any::<prop::sample::Index>(),
        ) {
            let cut = cut.index(values.len());
            let (mut whole, mut parts) = (Histogram::new(6), [Histogram::new(6), Histogram::new(6)]);
            for (i, &value) in values.iter().enumerate() {
                whole.add(value);
                parts[usize::from(i >= cut)].add(value);
            }
            let [mut merged, second] = parts;
            merged.merge(&second);
            for histogram in [&whole, &merged] {
                prop_assert_eq!(histogram.total(), values.len() as u64);
                prop_assert_eq!(histogram.zeros(), values.iter().filter(|&&v| v < TINY).count() as u64);
                for (from, to, count) in edges(histogram) {
                    prop_assert!(to / from < 1.0 + 1.0 / 63.0);
                    let expected = values.iter().map(|&v| v.min(HUGE)).filter(|&v| v >= TINY && from <= v && v < to).count();
                    prop_assert_eq!(count, expected as u64);
                }
            }
        }
    }
}
