//! Distribution of a nonnegative quantity by buckets of equal relative width.

/// Smaller values count as zero, seconds (2^-40).
const TINY: f64 = 9.094_947_017_729_282e-13;
/// Larger values count as this one, seconds (2^60).
const HUGE: f64 = 1_152_921_504_606_846_976.0;

/// Resolution: every octave is divided into equal buckets.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    shift: u32,
}

impl Scale {
    /// `2^bits` buckets an octave.
    pub fn new(bits: u32) -> Self {
        Self { shift: 52 - bits }
    }

    /// Bits by which the pattern of a double is shifted to give its bucket.
    pub fn shift(self) -> u32 {
        self.shift
    }

    /// Bucket of a value.
    #[inline]
    fn bucket(self, value: f64) -> u64 {
        value.to_bits() >> self.shift
    }

    /// Bucket of a value, with the largest values in one bucket; 0 if the value counts as zero.
    #[inline]
    pub fn place(self, value: f64) -> u32 {
        if value < TINY { 0 } else { self.bucket(value.min(HUGE)) as u32 }
    }
}

/// Counts of values in buckets; the range grows with the values. All calls must have the same scale.
#[derive(Clone, Debug, Default)]
pub struct Histogram {
    /// Bucket of the first count after the zeros.
    low: u64,
    /// The values that count as zero, then those of each bucket; empty before the first value.
    counts: Box<[u64]>,
}

impl Histogram {
    /// An empty histogram with the same range.
    pub fn emptied(&self) -> Self {
        Self { low: self.low, counts: vec![0; self.counts.len()].into() }
    }

    /// Whether it is in use: it has counted a value, or has the range of one that has.
    pub fn has_range(&self) -> bool {
        !self.counts.is_empty()
    }

    /// Counts a value that lies within the present range. False, and nothing is counted, if it lies outside, as values
    /// that count as zero do unless `zeros`.
    #[inline(always)]
    pub fn add_inside(&mut self, value: f64, zeros: bool, scale: Scale) -> bool {
        let place = scale.bucket(value).wrapping_sub(self.low).saturating_add(1);
        let place = if zeros && value < TINY { 0 } else { place };
        let count = self.counts.get_mut(place as usize);
        let inside = count.is_some();
        if let Some(count) = count {
            *count += 1;
        }
        inside
    }

    /// Counts a value by its [`Scale::place`].
    #[cold]
    pub fn add(&mut self, place: u32, scale: Scale) {
        self.reach(u64::from(place), scale);
        let place = if place == 0 { 0 } else { 1 + u64::from(place) - self.low };
        self.counts[place as usize] += 1;
    }

    /// Widens the range by whole octaves so that it holds a bucket; 0 if only zeros must be held.
    fn reach(&mut self, bucket: u64, scale: Scale) {
        if self.counts.is_empty() {
            self.counts = [0].into();
        }
        if bucket == 0 {
            return;
        }
        let octave = 1u64 << (52 - scale.shift);
        let first = bucket / octave * octave;
        let buckets = self.buckets().1.len() as u64;
        let old_low = if buckets == 0 { first } else { self.low };
        let low = old_low.min(first);
        let end = (old_low + buckets).max(first + octave);
        if end - low == buckets {
            return;
        }
        let mut counts = vec![0; 1 + (end - low) as usize];
        counts[0] = self.counts[0];
        let at = 1 + (old_low - low) as usize;
        counts[at..at + buckets as usize].copy_from_slice(&self.counts[1..]);
        (self.low, self.counts) = (low, counts.into());
    }

    /// Adds the counts of another histogram.
    pub fn merge(&mut self, other: &Self, scale: Scale) {
        let (low, counts) = other.buckets();
        self.reach(0, scale);
        self.counts[0] += other.zeros();
        if counts.is_empty() {
            return;
        }
        self.reach(low, scale);
        self.reach(low + counts.len() as u64 - 1, scale);
        let at = 1 + (low - self.low) as usize;
        self.counts[at..].iter_mut().zip(counts).for_each(|(a, b)| *a += b);
    }

    /// Values counted.
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Values below 2^-40, counted as zero.
    pub fn zeros(&self) -> u64 {
        self.counts.first().copied().unwrap_or(0)
    }

    /// First bucket and counts.
    pub fn buckets(&self) -> (u64, &[u64]) {
        (self.low, self.counts.get(1..).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn edges(histogram: &Histogram, scale: Scale) -> Vec<(f64, f64, u64)> {
        let (low, counts) = histogram.buckets();
        let edge = |i: u64| f64::from_bits(i << scale.shift());
        counts.iter().zip(low..).map(|(&n, i)| (edge(i), edge(i + 1), n)).collect()
    }

    proptest! {
        #[test]
        fn every_value_is_counted_in_its_bucket(
            values in prop::collection::vec(prop_oneof![Just(0.0), 1e-15f64..1e-9, 0.5f64..2.0, 1e3f64..1e9, 1e18..1e300], 1..60),
            cut in any::<prop::sample::Index>(),
        ) {
            let cut = cut.index(values.len());
            let scale = Scale::new(6);
            let (mut whole, mut parts) = (Histogram::default(), [Histogram::default(), Histogram::default()]);
            for (i, &value) in values.iter().enumerate() {
                whole.add(scale.place(value), scale);
                parts[usize::from(i >= cut)].add(scale.place(value), scale);
            }
            let [mut merged, second] = parts;
            merged.merge(&second, scale);
            for histogram in [&whole, &merged] {
                prop_assert_eq!(histogram.total(), values.len() as u64);
                prop_assert_eq!(histogram.zeros(), values.iter().filter(|&&v| v < TINY).count() as u64);
                for (from, to, count) in edges(histogram, scale) {
                    prop_assert!(to / from < 1.0 + 1.0 / 63.0);
                    let expected = values.iter().map(|&v| v.min(HUGE)).filter(|&v| v >= TINY && from <= v && v < to).count();
                    prop_assert_eq!(count, expected as u64);
                }
            }
        }
    }
}
