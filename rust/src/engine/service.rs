//! The jobs in the loop over jumps: who arrives next, who waits, and who completes.

use std::collections::VecDeque;

use rand_distr::Distribution;
use rand_distr::weighted::WeightedAliasIndex;

use crate::random::{Stream, uniform};

/// A job in service: arrival and start, seconds.
pub type Turn = (f64, f64);

/// Most classes whose rates are scanned.
pub const SCAN: usize = 32;

/// Arrival rate (jobs per second) and mean size (seconds) of a class.
pub type Rates = (f64, f64);

/// The jobs, and how the next event is drawn.
pub trait Service: Clone + Send + Sync {
    /// For classes of these rates, of which some arrive.
    fn new(rates: &[Rates]) -> Self;
    /// A job arrives and waits; gives its class. `x` is uniform on the total arrival rate.
    fn arrive(&mut self, x: f64, now: f64, rng: &mut Stream) -> u32;
    /// The head of line of a class starts; gives its arrival. None if nobody of the class waits.
    fn start(&mut self, class: u32, now: f64) -> Option<f64>;
    /// Arrival of the job of a class that waits behind its head of line.
    fn second(&self, class: u32) -> Option<f64>;
    /// A job completes and is gone: any one in service, in proportion to its rate; `x` is uniform on [`Service::total`].
    /// Somebody must be in service.
    fn complete(&mut self, x: f64, rng: &mut Stream) -> (u32, Turn);
    /// Completions per second, all jobs in service together.
    fn total(&self) -> f64;
    /// Sums up afresh, which keeps rounding from piling up.
    fn refresh(&mut self);
    /// Class and arrival of all jobs present.
    fn present(&self) -> impl Iterator<Item = (u32, f64)>;
}

/// Length of the tables of a scan. An index taken modulo this length needs no check of its bounds.
const TABLE: usize = 2 * SCAN;

/// For few classes: a scan over them with early exit, classes of many arrivals first.
#[derive(Clone, Debug)]
pub struct Scan {
    /// Arrival rate at each place; infinite from the last class on, so that the scan ends there.
    arrivals: [f64; TABLE],
    /// Completion rate at each place; infinite beyond the last class.
    completions: [f64; TABLE],
    /// Class at each place, by falling arrival rate.
    order: [u32; TABLE],
    lanes: [Lane; SCAN],
    classes: usize,
    total: f64,
}

/// The jobs of a class.
#[derive(Clone, Debug, Default)]
#[repr(align(128))]
struct Lane {
    /// Arrivals of those that wait, oldest first.
    waiting: VecDeque<f64>,
    jobs: Vec<Turn>,
    /// Completions per second of one job, and its inverse.
    rate: f64,
    mean: f64,
    /// In the order.
    place: usize,
}

impl Scan {
    /// The place at which rounding carries a scan beyond the last class.
    #[cold]
    fn last_busy(&self) -> usize {
        self.completions[..self.classes].iter().rposition(|&rate| rate > 0.0).unwrap_or(0)
    }
}

/// The first place up to which the rates sum up beyond `x`, and what is left of `x` there.
#[inline(always)]
fn scan(rates: &[f64; TABLE], mut x: f64) -> (usize, f64) {
    let mut place = 0;
    while x >= rates[place] {
        x -= rates[place];
        place = (place + 1) % TABLE;
    }
    (place, x)
}

impl Service for Scan {
    fn new(rates: &[Rates]) -> Self {
        let mut by_rate: Vec<(u32, f64)> = (0..).zip(rates.iter().map(|rates| rates.0)).collect();
        by_rate.sort_by(|a, b| b.1.total_cmp(&a.1));
        let mut lanes: [Lane; SCAN] = Default::default();
        for (lane, &(_, mean)) in lanes.iter_mut().zip(rates) {
            (lane.rate, lane.mean) = (1.0 / mean, mean);
        }
        let (mut arrivals, mut completions) = ([f64::INFINITY; TABLE], [f64::INFINITY; TABLE]);
        let mut order = [0; TABLE];
        for (place, &(class, rate)) in by_rate.iter().enumerate() {
            lanes[class as usize].place = place;
            (arrivals[place], completions[place], order[place]) = (rate, 0.0, class);
        }
        arrivals[rates.len() - 1] = f64::INFINITY;
        Self { arrivals, completions, order, lanes, classes: rates.len(), total: 0.0 }
    }

    #[inline(always)]
    fn arrive(&mut self, x: f64, now: f64, _: &mut Stream) -> u32 {
        let class = self.order[scan(&self.arrivals, x).0];
        self.lanes[class as usize % SCAN].waiting.push_back(now);
        class
    }

    #[inline(always)]
    fn start(&mut self, class: u32, now: f64) -> Option<f64> {
        let lane = &mut self.lanes[class as usize % SCAN];
        let arrival = lane.waiting.pop_front()?;
        lane.jobs.push((arrival, now));
        self.completions[lane.place % TABLE] = f64::from(lane.jobs.len() as u32) * lane.rate;
        self.total += lane.rate;
        Some(arrival)
    }

    #[inline]
    fn second(&self, class: u32) -> Option<f64> {
        self.lanes[class as usize % SCAN].waiting.get(1).copied()
    }

    #[inline(always)]
    fn complete(&mut self, x: f64, _: &mut Stream) -> (u32, Turn) {
        let (mut place, mut rest) = scan(&self.completions, x);
        if place == self.classes {
            (place, rest) = (self.last_busy(), 0.0);
        }
        let class = self.order[place % TABLE];
        let lane = &mut self.lanes[class as usize % SCAN];
        let index = ((rest * lane.mean) as u32 as usize).min(lane.jobs.len() - 1);
        let turn = lane.jobs.swap_remove(index);
        self.completions[place % TABLE] = f64::from(lane.jobs.len() as u32) * lane.rate;
        self.total -= lane.rate;
        (class, turn)
    }

    #[inline]
    fn total(&self) -> f64 {
        self.total
    }

    fn refresh(&mut self) {
        self.total = self.completions[..self.classes].iter().sum();
    }

    fn present(&self) -> impl Iterator<Item = (u32, f64)> {
        (0..).zip(&self.lanes).flat_map(|(class, lane)| {
            let arrivals = lane.waiting.iter().chain(lane.jobs.iter().map(|(arrival, _)| arrival));
            arrivals.map(move |&arrival| (class, arrival))
        })
    }
}

/// For many classes: jobs in groups of completion rates within a factor of two, from which they are drawn by rejection
/// (composition and rejection; Slepoy, Thompson, Plimpton, J. Chem. Phys. 128, 2008). The cost does not depend on the
/// number of classes.
#[derive(Clone)]
pub struct Groups {
    arrivals: WeightedAliasIndex<f64>,
    classes: Vec<Kind>,
    groups: Vec<Group>,
    total: f64,
}

/// A class, and its jobs that wait.
#[derive(Clone, Debug)]
struct Kind {
    waiting: VecDeque<f64>,
    group: u32,
    /// Completions per second of one job.
    rate: f64,
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
            classes: rates
                .iter()
                .map(|&(_, mean)| Kind { waiting: VecDeque::new(), group: group(mean), rate: 1.0 / mean })
                .collect(),
            groups: exponents.iter().map(|&e| Group { most: f64::from(e).exp2(), jobs: Vec::new() }).collect(),
            total: 0.0,
        }
    }

    #[inline]
    fn arrive(&mut self, _: f64, now: f64, rng: &mut Stream) -> u32 {
        let class = self.arrivals.sample(rng);
        self.classes[class].waiting.push_back(now);
        class as u32
    }

    #[inline]
    fn start(&mut self, class: u32, now: f64) -> Option<f64> {
        let kind = &mut self.classes[class as usize];
        let arrival = kind.waiting.pop_front()?;
        self.groups[kind.group as usize].jobs.push((class, (arrival, now)));
        self.total += kind.rate;
        Some(arrival)
    }

    #[inline]
    fn second(&self, class: u32) -> Option<f64> {
        self.classes[class as usize].waiting.get(1).copied()
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
                let rate = self.classes[group.jobs[index].0 as usize].rate;
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
        self.total =
            self.groups.iter().flat_map(|group| &group.jobs).map(|job| self.classes[job.0 as usize].rate).sum();
    }

    fn present(&self) -> impl Iterator<Item = (u32, f64)> {
        let waiting =
            (0..).zip(&self.classes).flat_map(|(class, kind)| kind.waiting.iter().map(move |&at| (class, at)));
        waiting.chain(self.groups.iter().flat_map(|group| group.jobs.iter().map(|&(class, turn)| (class, turn.0))))
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
        let mut arrived = 0;
        // told apart by the time at which they start
        let mut start = |service: &mut S, class, label: f64, rng: &mut Stream| {
            while service.second(class).is_none() {
                let x = uniform(rng) * 5.0;
                service.arrive(x, 0.0, rng);
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
            let (class, turn) = service.complete(x, &mut rng);
            seen[class as usize][turn.1 as usize] += 1;
            start(&mut service, class, turn.1, &mut rng);
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
        check::<Groups>();
    }
}
