//! Quantiles of distributions that are counted in buckets: of all batches together, and with one batch left out.

use super::METRICS;
use super::distributions::Distributions;
use super::histogram::Scale;

/// A distribution in batches of neighbouring segments: the counts of each batch, the zeros first.
struct Table {
    /// Bucket of the first count after the zeros.
    low: u64,
    /// Numbers of a batch.
    width: usize,
    counts: Vec<u64>,
}

impl Table {
    /// An empty table with a range that holds a metric of all these distributions, in the memory of another one.
    fn holding<'a>(
        mut counts: Vec<u64>,
        batches: usize,
        distributions: impl Iterator<Item = &'a Distributions>,
        metric: usize,
    ) -> Self {
        let (mut low, mut end) = (u64::MAX, 0);
        for range in distributions.flat_map(|each| each.ranges(metric)) {
            low = low.min(range.start);
            end = end.max(range.end);
        }
        let width = 1 + end.saturating_sub(low) as usize;
        counts.clear();
        counts.resize(batches * width, 0);
        Self { low, width, counts }
    }

    fn batch(&mut self, batch: usize) -> &mut [u64] {
        &mut self.counts[batch * self.width..][..self.width]
    }

    /// Adds counts of zeros and of the buckets from one on.
    fn add(&mut self, batch: usize, zeros: u64, first: u64, counts: &[u64]) {
        let low = self.low;
        let row = self.batch(batch);
        row[0] += zeros;
        if !counts.is_empty() {
            let at = 1 + (first - low) as usize;
            row[at..].iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        }
    }

    /// Adds the values of a metric.
    fn count(&mut self, batch: usize, distributions: &Distributions, metric: usize) {
        let histogram = distributions.histogram(metric);
        let (first, counts) = histogram.buckets();
        self.add(batch, histogram.zeros(), first, counts);
        let low = self.low;
        let row = self.batch(batch);
        for bucket in distributions.few(metric) {
            row[bucket.map_or(0, |bucket| 1 + (bucket - low) as usize)] += 1;
        }
    }

    /// The counts of all batches together.
    fn whole(&self) -> Vec<u64> {
        let mut whole = vec![0; self.width];
        for row in self.counts.chunks_exact(self.width) {
            whole.iter_mut().zip(row).for_each(|(sum, count)| *sum += count);
        }
        whole
    }

    /// Edges of the bucket at a place of a row; the zeros are at 0.
    fn edges(&self, place: usize, scale: Scale) -> (f64, f64) {
        let edge = |place: usize| f64::from_bits((self.low + place as u64) << scale.shift());
        (edge(place - 1), edge(place))
    }

    /// The quantile of a level, linear inside a bucket, and where it is; NaN without values.
    ///
    /// `count` gives the values at a place; the search begins at `place`, with `upto` values up to and at it.
    fn quantile(
        &self,
        count: impl Fn(usize) -> u64,
        (mut place, mut upto): (usize, u64),
        total: u64,
        level: f64,
        scale: Scale,
    ) -> (f64, (usize, u64)) {
        if total == 0 {
            return (f64::NAN, (0, 0));
        }
        let target = total as f64 * level;
        while place + 1 < self.width && (upto as f64) < target {
            place += 1;
            upto += count(place);
        }
        while place > 0 && (upto - count(place)) as f64 >= target {
            upto -= count(place);
            place -= 1;
        }
        if place == 0 {
            return (0.0, (0, upto));
        }
        let inside = count(place);
        let before = (upto - inside) as f64;
        let share = (target - before) / (upto as f64 - before);
        let (left, right) = self.edges(place, scale);
        (left + share * (right - left), (place, upto))
    }

    /// The distance by which a quantile may be off inside its bucket. Where a bucket holds about as many values as its
    /// neighbours the density is smooth, and the line is right; where a single value fills it, that value may be anywhere
    /// between its edges. So it is the distance to the farther edge, times the relative difference to the neighbours, at
    /// most 1.
    fn error(&self, whole: &[u64], (value, place): (f64, usize), scale: Scale) -> f64 {
        if place == 0 {
            return 0.0;
        }
        let inside = whole[place] as f64;
        let below = if place > 1 { whole[place - 1] as f64 } else { 0.0 };
        let beyond = whole.get(place + 1).map_or(0.0, |&next| next as f64);
        let uneven = (inside - beyond).abs().max((inside - below).abs()) / inside;
        let (left, right) = self.edges(place, scale);
        uneven.min(1.0) * (value - left).max(right - value)
    }
}

/// Quantiles of METRICS metrics, and the distances by which they may be off inside their buckets.
pub struct Quantiles {
    /// (1 + batches) x (classes + 1) x metrics x levels: of all batches, then with one left out; the last class is all jobs.
    pub values: Vec<f64>,
    /// (classes + 1) x metrics x levels.
    pub errors: Vec<f64>,
}

impl Quantiles {
    /// `batches` contains the segments of each batch, `classes` the places of the classes in a segment.
    pub fn of(batches: &[&[Vec<&Distributions>]], classes: &[u32], levels: &[f64], scale: Scale) -> Self {
        let row = (classes.len() + 1) * METRICS.len() * levels.len();
        let mut found = Self { values: vec![0.0; (1 + batches.len()) * row], errors: vec![0.0; row] };
        let mut ascending: Vec<usize> = (0..levels.len()).collect();
        ascending.sort_by(|&a, &b| levels[a].total_cmp(&levels[b]));
        let of_class = |class: u32| {
            let segments = (0..).zip(batches).flat_map(|(batch, segments)| segments.iter().map(move |s| (batch, s)));
            segments.map(move |(batch, segment)| (batch, segment[class as usize]))
        };
        let (mut memory, mut memory_of_all) = (Vec::new(), Vec::new());
        for metric in 0..METRICS.len() {
            let every = classes.iter().flat_map(|&class| of_class(class)).map(|(_, each)| each);
            let mut all = Table::holding(memory_of_all, batches.len(), every, metric);
            for (position, &class) in classes.iter().enumerate() {
                let those = of_class(class).map(|(_, each)| each);
                let mut table = Table::holding(memory, batches.len(), those, metric);
                of_class(class).for_each(|(batch, each)| table.count(batch, each, metric));
                for batch in 0..batches.len() {
                    let low = table.low;
                    let (zeros, counts) = table.batch(batch).split_at(1);
                    all.add(batch, zeros[0], low, counts);
                }
                found.put(&table, (position * METRICS.len() + metric) * levels.len(), levels, &ascending, scale);
                memory = table.counts;
            }
            found.put(&all, (classes.len() * METRICS.len() + metric) * levels.len(), levels, &ascending, scale);
            memory_of_all = all.counts;
        }
        found
    }

    /// Adds the quantiles of a table; `ascending` are the positions of the levels in their order.
    fn put(&mut self, table: &Table, at: usize, levels: &[f64], ascending: &[usize], scale: Scale) {
        let row = self.errors.len();
        let whole = table.whole();
        let total: u64 = whole.iter().sum();
        let mut places = vec![(0, whole[0]); levels.len()];
        let mut begin = (0, whole[0]);
        for &i in ascending {
            let (value, place) = table.quantile(|place| whole[place], begin, total, levels[i], scale);
            self.values[at + i] = value;
            self.errors[at + i] = table.error(&whole, (value, place.0), scale);
            (begin, places[i]) = (place, place);
        }
        for (batch, left_out) in table.counts.chunks_exact(table.width).enumerate() {
            let rest = total - left_out.iter().sum::<u64>();
            let (mut end, mut below) = (0, 0);
            for &i in ascending {
                let (place, upto) = places[i];
                below += left_out[end..=place].iter().sum::<u64>();
                end = place + 1;
                let count = |place: usize| whole[place] - left_out[place];
                let value = table.quantile(count, (place, upto - below), rest, levels[i], scale).0;
                self.values[(1 + batch) * row + at + i] = value;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LEVELS: [f64; 4] = [0.5, 0.9, 0.99, 0.999];

    fn distributions(values: &[f64], scale: Scale) -> Distributions {
        let mut found = Distributions::default();
        values.iter().for_each(|&value| found.count([value; METRICS.len()], scale));
        found
    }

    /// Of one class, in batches of one segment; the class is all jobs.
    fn quantiles(batches: &[&[f64]], scale: Scale) -> Quantiles {
        let segments: Vec<_> = batches.iter().map(|values| distributions(values, scale)).collect();
        let parts: Vec<_> = segments.iter().map(|segment| vec![vec![segment]]).collect();
        let parts: Vec<&[_]> = parts.iter().map(Vec::as_slice).collect();
        Quantiles::of(&parts, &[0], &LEVELS, scale)
    }

    /// The least value that a share `level` of the values does not exceed.
    fn exact(values: &[f64], level: f64) -> f64 {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        sorted[((level * sorted.len() as f64).ceil() as usize).max(1) - 1]
    }

    proptest! {
        #[test]
        fn quantiles_are_those_of_the_values_within_a_bucket(
            values in prop::collection::vec(prop_oneof![Just(0.0), Just(3.7), 0.5f64..2.0, 1e3f64..1e6], 4..200),
            cut in 1usize..3,
        ) {
            let scale = Scale::new(6);
            let (first, second) = values.split_at(cut);
            let found = quantiles(&[first, second], scale);
            let row = 2 * METRICS.len() * LEVELS.len();
            for (batch, part) in [values.as_slice(), second, first].into_iter().enumerate() {
                for (level, &share) in LEVELS.iter().enumerate() {
                    let (value, expected) = (found.values[batch * row + level], exact(part, share));
                    prop_assert!((value - expected).abs() <= expected / 63.0, "{value} for {expected}");
                    prop_assert_eq!(value, found.values[batch * row + METRICS.len() * LEVELS.len() + level]);
                }
            }
        }
    }

    #[test]
    fn the_error_covers_an_atom() {
        let scale = Scale::new(6);
        for value in [1.0, 1.01, 3.7] {
            let found = quantiles(&[&[value; 10], &[value; 20]], scale);
            for level in 0..LEVELS.len() {
                assert!((found.values[level] - value).abs() <= found.errors[level] * (1.0 + 1e-12));
            }
        }
    }

    #[test]
    fn a_smooth_distribution_has_small_errors() {
        let scale = Scale::new(6);
        let values: Vec<f64> = (0..400_000).map(|i| -(1.0 - (f64::from(i) + 0.5) / 400_000.0).ln()).collect();
        let found = quantiles(&[&values], scale);
        for level in 0..2 {
            assert!(found.errors[level] < 1e-3 * found.values[level]);
        }
    }

    #[test]
    fn without_values_there_is_no_quantile() {
        let found = quantiles(&[&[], &[2.0]], Scale::new(6));
        let row = 2 * METRICS.len() * LEVELS.len();
        assert!(found.values[2 * row].is_nan());
        assert!((found.values[0] - 2.0).abs() < 2.0 / 63.0);
    }
}
