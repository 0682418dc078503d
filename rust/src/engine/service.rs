//! The jobs in service in the loop over jumps: who arrives next, and who completes.

use rand_distr::Distribution;
use rand_distr::weighted::WeightedAliasIndex;

use crate::random::{Stream, uniform};

/// A job in service: arrival and start, seconds.
pub type Turn = (f64, f64);

/// Most classes whose rates are scanned.
pub const SCAN: usize = 32;

/// Arrival rate (jobs per second) and mean size (seconds) of a class.
pub type Rates = (f64, f64);

/// How the next event is drawn.
pub trait Service: Clone + Send + Sync {
    /// For classes of these rates, of which some arrive.
    fn new(rates: &[Rates]) -> Self;
    /// The class of the next arrival; `x` is uniform on the total arrival rate.
    fn arrival(&self, x: f64, rng: &mut Stream) -> u32;
    /// A job of a class starts.
    fn start(&mut self, class: u32, turn: Turn);
    /// A job completes and is gone: any one in service, in proportion to its rate; `x` is uniform on [`Service::total`].
    /// Somebody must be in service.
    fn complete(&mut self, x: f64, rng: &mut Stream) -> (u32, Turn);
    /// Completions per second, all jobs in service together.
    fn total(&self) -> f64;
    /// Sums up afresh, which keeps rounding from piling up.
    fn refresh(&mut self);
    /// Jobs in service.
    fn len(&self) -> usize;
    /// The jobs in service.
    fn jobs(&self) -> Vec<(u32, Turn)>;
}

/// For few classes: a scan over them with early exit, classes of many arrivals first.
#[derive(Clone, Debug)]
pub struct Scan {
    /// Class and arrival rate, by falling rate.
    order: Vec<(u32, f64)>,
    /// Completion rate at each place of the order.
    completions: Vec<f64>,
    lanes: Vec<Lane>,
    total: f64,
}

#[derive(Clone, Debug)]
struct Lane {
    jobs: Vec<Turn>,
    /// Completions per second of one job, and its inverse.
    rate: f64,
    mean: f64,
    /// In the order.
    place: u32,
}

impl Scan {
    #[inline]
    fn at(&self, mut x: f64) -> (usize, f64) {
        let mut last = 0;
        for (place, &rate) in self.completions.iter().enumerate() {
            if x < rate {
                return (place, x);
            }
            if rate > 0.0 {
                last = place;
            }
            x -= rate;
        }
        // past the end by rounding
        (last, 0.0)
    }
}

impl Service for Scan {
    fn new(rates: &[Rates]) -> Self {
        let mut order: Vec<(u32, f64)> = (0..).zip(rates.iter().map(|rates| rates.0)).collect();
        order.sort_by(|a, b| b.1.total_cmp(&a.1));
        let lane = |&(_, mean): &Rates| Lane { jobs: Vec::new(), rate: 1.0 / mean, mean, place: 0 };
        let mut lanes: Vec<Lane> = rates.iter().map(lane).collect();
        (0..).zip(&order).for_each(|(place, &(class, _))| lanes[class as usize].place = place);
        Self { completions: vec![0.0; order.len()], order, lanes, total: 0.0 }
    }

    #[inline]
    fn arrival(&self, mut x: f64, _: &mut Stream) -> u32 {
        for &(class, rate) in &self.order {
            if x < rate {
                return class;
            }
            x -= rate;
        }
        self.order[0].0
    }

    #[inline]
    fn start(&mut self, class: u32, turn: Turn) {
        let lane = &mut self.lanes[class as usize];
        lane.jobs.push(turn);
        self.completions[lane.place as usize] = f64::from(lane.jobs.len() as u32) * lane.rate;
        self.total += lane.rate;
    }

    #[inline]
    fn complete(&mut self, x: f64, _: &mut Stream) -> (u32, Turn) {
        let (place, rest) = self.at(x);
        let class = self.order[place].0;
        let lane = &mut self.lanes[class as usize];
        let index = ((rest * lane.mean) as u32 as usize).min(lane.jobs.len() - 1);
        let turn = lane.jobs.swap_remove(index);
        self.completions[place] = f64::from(lane.jobs.len() as u32) * lane.rate;
        self.total -= lane.rate;
        (class, turn)
    }

    #[inline]
    fn total(&self) -> f64 {
        self.total
    }

    fn refresh(&mut self) {
        self.total = self.completions.iter().sum();
    }

    fn len(&self) -> usize {
        self.lanes.iter().map(|lane| lane.jobs.len()).sum()
    }

    fn jobs(&self) -> Vec<(u32, Turn)> {
        (0..).zip(&self.lanes).flat_map(|(class, lane)| lane.jobs.iter().map(move |&turn| (class, turn))).collect()
    }
}

/// For many classes: jobs in groups of completion rates within a factor of two, from which they are drawn by rejection
/// (composition and rejection; Slepoy, Thompson, Plimpton, J. Chem. Phys. 128, 2008). The cost does not depend on the
/// number of classes.
#[derive(Clone)]
pub struct Groups {
    arrivals: WeightedAliasIndex<f64>,
    /// Group and completion rate of a job of each class.
    classes: Vec<(u32, f64)>,
    groups: Vec<Group>,
    total: f64,
}

#[derive(Clone, Debug)]
struct Group {
    /// No job of the group completes faster, and none slower than half of this.
    most: f64,
    jobs: Vec<(u32, Turn)>,
}

impl Service for Groups {
    fn new(rates: &[Rates]) -> Self {
        let exponent = |mean: f64| (1.0 / mean).log2().ceil() as i32;
        let mut exponents: Vec<i32> = rates.iter().map(|&(_, mean)| exponent(mean)).collect();
        exponents.sort_unstable();
        exponents.dedup();
        let group = |mean| exponents.partition_point(|&e| e < exponent(mean)) as u32;
        Self {
            arrivals: alias(rates.iter().map(|rates| rates.0)),
            classes: rates.iter().map(|&(_, mean)| (group(mean), 1.0 / mean)).collect(),
            groups: exponents.iter().map(|&e| Group { most: f64::from(e).exp2(), jobs: Vec::new() }).collect(),
            total: 0.0,
        }
    }

    #[inline]
    fn arrival(&self, _: f64, rng: &mut Stream) -> u32 {
        self.arrivals.sample(rng) as u32
    }

    #[inline]
    fn start(&mut self, class: u32, turn: Turn) {
        let (group, rate) = self.classes[class as usize];
        self.groups[group as usize].jobs.push((class, turn));
        self.total += rate;
    }

    #[inline]
    fn complete(&mut self, _: f64, rng: &mut Stream) -> (u32, Turn) {
        let bound: f64 = self.groups.iter().map(|group| group.most * group.jobs.len() as f64).sum();
        loop {
            let mut x = uniform(rng) * bound;
            for group in &mut self.groups {
                let weight = group.most * group.jobs.len() as f64;
                if x >= weight {
                    x -= weight;
                    continue;
                }
                let place = x / group.most;
                let index = (place as usize).min(group.jobs.len() - 1);
                let rate = self.classes[group.jobs[index].0 as usize].1;
                if (place - index as f64) * group.most < rate {
                    self.total -= rate;
                    return group.jobs.swap_remove(index);
                }
                break;
            }
        }
    }

    #[inline]
    fn total(&self) -> f64 {
        self.total
    }

    fn refresh(&mut self) {
        self.total = self.groups.iter().flat_map(|group| &group.jobs).map(|job| self.classes[job.0 as usize].1).sum();
    }

    fn len(&self) -> usize {
        self.groups.iter().map(|group| group.jobs.len()).sum()
    }

    fn jobs(&self) -> Vec<(u32, Turn)> {
        self.groups.iter().flat_map(|group| group.jobs.iter().copied()).collect()
    }
}

/// A table that draws an index in proportion to its weight. The model sees to it that the weights are fit for one: finite,
/// not negative, not all zero.
pub fn alias(weights: impl Iterator<Item = f64>) -> WeightedAliasIndex<f64> {
    WeightedAliasIndex::new(weights.collect()).expect("arrival rates are positive and finite")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::streams;

    /// Classes complete in proportion to jobs in service times rate, and jobs of a class with equal probability.
    fn check<S: Service>() {
        let rates: Vec<Rates> = [1.0, 0.3, 7.0, 0.55, 0.5].iter().map(|&mean| (1.0, mean)).collect();
        let [mut rng] = streams(5, 0);
        let mut service = S::new(&rates);
        let counts = [3usize, 1, 9, 4, 0];
        for (class, &count) in (0..).zip(&counts) {
            (0..count).for_each(|i| service.start(class, (i as f64, 0.0)));
        }
        let total: f64 = counts.iter().zip(&rates).map(|(&n, &(_, mean))| n as f64 / mean).sum();
        assert!((service.total() - total).abs() < 1e-12);
        let draws = 200_000;
        let mut seen = [[0u32; 9]; 5];
        for _ in 0..draws {
            let x = uniform(&mut rng) * service.total();
            let (class, turn) = service.complete(x, &mut rng);
            seen[class as usize][turn.0 as usize] += 1;
            service.start(class, turn);
        }
        for (class, &count) in counts.iter().enumerate() {
            for (i, &times) in seen[class].iter().enumerate() {
                let expected = if i < count { draws as f64 / rates[class].1 / total } else { 0.0 };
                assert!((f64::from(times) - expected).abs() <= 4.5 * expected.sqrt(), "{class} {i} {times} {expected}");
            }
        }
        service.refresh();
        assert!((service.total() - total).abs() < 1e-9);
        assert_eq!(service.len(), 17);
    }

    #[test]
    fn scan_draws_in_proportion() {
        check::<Scan>();
    }

    #[test]
    fn groups_draw_in_proportion() {
        check::<Groups>();
    }
}
