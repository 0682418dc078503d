//! The jobs in the loop over jumps: the next arrival, the waiting jobs, and the next completion.

use rand_distr::weighted::WeightedAliasIndex;

use crate::random::Stream;

/// A job in service: arrival and start, seconds.
pub type InService = (f64, f64);

/// Arrival rate (jobs per second) and mean size (seconds) of a class.
pub type Rates = (f64, f64);

/// The jobs, and how the next event is drawn.
pub trait Service: Clone + Send + Sync {
    /// For classes of these rates, of which some arrive.
    fn new(rates: &[Rates]) -> Self;
    /// Class of the job that arrives next; `x` is uniform on the total arrival rate.
    fn next_class(&mut self, x: f64, rng: &mut Stream) -> u32;
    /// A job of a class arrives and waits.
    fn queue(&mut self, class: u32, now: f64);
    /// A job of a class arrives and starts immediately.
    fn admit(&mut self, class: u32, now: f64);
    /// The head of line of a class starts; returns its arrival. None if no job of the class waits.
    fn start(&mut self, class: u32, now: f64) -> Option<f64>;
    /// Arrival of the job of a class that waits behind its head of line.
    fn second(&self, class: u32) -> Option<f64>;
    /// A job in service completes, chosen in proportion to its rate; `x` is uniform on [`Service::total`].
    /// At least one job must be in service.
    fn complete(&mut self, x: f64, rng: &mut Stream) -> (u32, InService);
    /// Fetches the job that [`Service::complete`] would take into the cache, as far as it is worthwhile.
    fn fetch(&self, _x: f64) {}
    /// Completions per second, all jobs in service together.
    fn total(&self) -> f64;
    /// Recomputes the sum so that rounding does not accumulate.
    fn refresh(&mut self);
    /// Jobs in service.
    fn in_service(&self) -> usize;
    /// Class and arrival of all jobs present.
    fn present(&self) -> impl Iterator<Item = (u32, f64)>;
}

/// A table that draws an index in proportion to its weight. The model guarantees valid weights: finite,
/// not negative, not all zero.
pub fn alias(weights: impl Iterator<Item = f64>) -> WeightedAliasIndex<f64> {
    WeightedAliasIndex::new(weights.collect()).expect("arrival rates are positive and finite")
}

#[cfg(test)]
mod tests {
    use super::super::{RateGroups, Scan};
    use super::*;
    use crate::random::{streams, uniform};

    /// Classes complete in proportion to jobs in service times rate, and jobs of a class with equal probability.
    fn check<S: Service>() {
        let rates: Vec<Rates> = [1.0, 0.3, 7.0, 0.55, 0.5].iter().map(|&mean| (1.0, mean)).collect();
        let [mut rng] = streams(5, 0);
        let mut service = S::new(&rates);
        let mut arrived = 0;
        // labelled by the time at which they start
        let mut start = |service: &mut S, class, label: f64, rng: &mut Stream| {
            while service.second(class).is_none() {
                let x = uniform(rng) * 5.0;
                let next = service.next_class(x, rng);
                service.queue(next, 0.0);
                arrived += 1;
            }
            assert_eq!(service.start(class, label), Some(0.0));
        };
        let counts = [3usize, 1, 9, 4, 0];
        for (class, &count) in (0..).zip(&counts) {
            (0..count).for_each(|i| start(&mut service, class, i as f64, &mut rng));
        }
        let total: f64 = counts.iter().zip(&rates).map(|(&n, &(_, mean))| n as f64 / mean).sum();
        assert!((service.total() - total).abs() < 1e-12);
        let draws = 200_000;
        let mut seen = [[0u32; 9]; 5];
        for _ in 0..draws {
            let x = uniform(&mut rng) * service.total();
            let (class, times) = service.complete(x, &mut rng);
            seen[class as usize][times.1 as usize] += 1;
            start(&mut service, class, times.1, &mut rng);
        }
        for (class, &count) in counts.iter().enumerate() {
            for (i, &times) in seen[class].iter().enumerate() {
                let expected = if i < count { draws as f64 / rates[class].1 / total } else { 0.0 };
                assert!((f64::from(times) - expected).abs() <= 4.5 * expected.sqrt(), "{class} {i} {times} {expected}");
            }
        }
        service.refresh();
        assert!((service.total() - total).abs() < 1e-9);
        assert_eq!(service.present().count() as u32, arrived - draws);
    }

    #[test]
    fn scan_draws_in_proportion() {
        check::<Scan>();
    }

    #[test]
    fn groups_draw_in_proportion() {
        check::<RateGroups>();
    }
}
