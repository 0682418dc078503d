//! Many classes in the loop over jumps.

use std::collections::VecDeque;

use rand_distr::Distribution;
use rand_distr::weighted::WeightedAliasIndex;

use super::service::{InService, Rates, Service, alias};
use crate::random::{Stream, uniform};

/// For many classes: jobs in groups of completion rates within a factor of two, from which they are drawn by rejection
/// (composition and rejection; Slepoy, Thompson, Plimpton, J. Chem. Phys. 128, 2008). The cost does not depend on the
/// number of classes.
#[derive(Clone)]
pub struct RateGroups {
    arrivals: WeightedAliasIndex<f64>,
    classes: Vec<RateClass>,
    groups: Vec<RateGroup>,
    total: f64,
}

/// A class, and its jobs that wait.
#[derive(Clone, Debug)]
struct RateClass {
    waiting: VecDeque<f64>,
    group: u32,
    /// Completions per second of one job.
    rate: f64,
}

#[derive(Clone, Debug)]
struct RateGroup {
    /// No job of the group completes faster, and none slower than half of this.
    most: f64,
    jobs: Vec<(u32, InService)>,
}

impl Service for RateGroups {
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
                .map(|&(_, mean)| RateClass { waiting: VecDeque::new(), group: group(mean), rate: 1.0 / mean })
                .collect(),
            groups: exponents.iter().map(|&e| RateGroup { most: f64::from(e).exp2(), jobs: Vec::new() }).collect(),
            total: 0.0,
        }
    }

    #[inline]
    fn next_class(&mut self, _: f64, rng: &mut Stream) -> u32 {
        self.arrivals.sample(rng) as u32
    }

    #[inline]
    fn queue(&mut self, class: u32, now: f64) {
        self.classes[class as usize].waiting.push_back(now);
    }

    #[inline]
    fn admit(&mut self, class: u32, now: f64) {
        let class_rate = &self.classes[class as usize];
        self.groups[class_rate.group as usize].jobs.push((class, (now, now)));
        self.total += class_rate.rate;
    }

    #[inline]
    fn start(&mut self, class: u32, now: f64) -> Option<f64> {
        let class_rate = &mut self.classes[class as usize];
        let arrival = class_rate.waiting.pop_front()?;
        self.groups[class_rate.group as usize].jobs.push((class, (arrival, now)));
        self.total += class_rate.rate;
        Some(arrival)
    }

    #[inline]
    fn second(&self, class: u32) -> Option<f64> {
        self.classes[class as usize].waiting.get(1).copied()
    }

    #[inline]
    fn complete(&mut self, _: f64, rng: &mut Stream) -> (u32, InService) {
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

    fn in_service(&self) -> usize {
        self.groups.iter().map(|group| group.jobs.len()).sum()
    }

    fn present(&self) -> impl Iterator<Item = (u32, f64)> {
        let waiting = (0..)
            .zip(&self.classes)
            .flat_map(|(class, class_rate)| class_rate.waiting.iter().map(move |&at| (class, at)));
        waiting.chain(self.groups.iter().flat_map(|group| group.jobs.iter().map(|&(class, times)| (class, times.0))))
    }
}
