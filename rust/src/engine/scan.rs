//! Few classes in the loop over jumps.

use std::collections::VecDeque;
use std::hint::black_box;

use super::service::{InService, Rates, Service};
use crate::random::Stream;

/// Most classes whose rates are scanned.
pub const SCAN: usize = 32;

/// Length of the tables of a scan. An index taken modulo this length needs no check of its bounds.
const TABLE: usize = 2 * SCAN;

/// For few classes: a scan over them with early exit, classes of many arrivals first.
#[derive(Clone, Debug)]
pub struct Scan {
    /// Arrival rate at each place; infinite from the last class on, so the scan ends there.
    arrivals: [f64; TABLE],
    /// Completion rate at each place; infinite beyond the last class.
    completions: [f64; TABLE],
    /// Class at each place, by falling arrival rate.
    order: [u32; TABLE],
    jobs_by_class: [ClassJobs; SCAN],
    classes: usize,
    total: f64,
}

/// The jobs of a class.
#[derive(Clone, Debug, Default)]
#[repr(align(128))]
struct ClassJobs {
    /// Arrivals of the waiting jobs, oldest first.
    waiting: VecDeque<f64>,
    jobs: Vec<InService>,
    /// Completions per second of one job, and its inverse.
    rate: f64,
    mean: f64,
    /// In the order.
    place: usize,
}

impl Scan {
    #[inline(always)]
    fn serve(&mut self, class: u32, times: InService) {
        let class_jobs = &mut self.jobs_by_class[class as usize % SCAN];
        class_jobs.jobs.push(times);
        self.completions[class_jobs.place % TABLE] = f64::from(class_jobs.jobs.len() as u32) * class_jobs.rate;
        self.total += class_jobs.rate;
    }

    /// The place at which rounding carries a scan beyond the last class.
    #[cold]
    fn last_busy(&self) -> usize {
        self.completions[..self.classes].iter().rposition(|&rate| rate > 0.0).unwrap_or(0)
    }
}

/// The first place at which the cumulative rate exceeds `x`, and the remainder of `x` there.
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
        let mut jobs_by_class: [ClassJobs; SCAN] = Default::default();
        for (class_jobs, &(_, mean)) in jobs_by_class.iter_mut().zip(rates) {
            (class_jobs.rate, class_jobs.mean) = (1.0 / mean, mean);
        }
        let (mut arrivals, mut completions) = ([f64::INFINITY; TABLE], [f64::INFINITY; TABLE]);
        let mut order = [0; TABLE];
        for (place, &(class, rate)) in by_rate.iter().enumerate() {
            jobs_by_class[class as usize].place = place;
            (arrivals[place], completions[place], order[place]) = (rate, 0.0, class);
        }
        arrivals[rates.len() - 1] = f64::INFINITY;
        Self { arrivals, completions, order, jobs_by_class, classes: rates.len(), total: 0.0 }
    }

    #[inline(always)]
    fn next_class(&mut self, x: f64, _: &mut Stream) -> u32 {
        self.order[scan(&self.arrivals, x).0]
    }

    #[inline(always)]
    fn queue(&mut self, class: u32, now: f64) {
        self.jobs_by_class[class as usize % SCAN].waiting.push_back(now);
    }

    #[inline(always)]
    fn admit(&mut self, class: u32, now: f64) {
        self.serve(class, (now, now));
    }

    #[inline(always)]
    fn start(&mut self, class: u32, now: f64) -> Option<f64> {
        let arrival = self.jobs_by_class[class as usize % SCAN].waiting.pop_front()?;
        self.serve(class, (arrival, now));
        Some(arrival)
    }

    #[inline]
    fn second(&self, class: u32) -> Option<f64> {
        self.jobs_by_class[class as usize % SCAN].waiting.get(1).copied()
    }

    #[inline(always)]
    fn complete(&mut self, x: f64, _: &mut Stream) -> (u32, InService) {
        let (mut place, mut rest) = scan(&self.completions, x);
        if place == self.classes {
            (place, rest) = (self.last_busy(), 0.0);
        }
        let class = self.order[place % TABLE];
        let class_jobs = &mut self.jobs_by_class[class as usize % SCAN];
        let index = ((rest * class_jobs.mean) as u32 as usize).min(class_jobs.jobs.len() - 1);
        let times = class_jobs.jobs.swap_remove(index);
        self.completions[place % TABLE] = f64::from(class_jobs.jobs.len() as u32) * class_jobs.rate;
        self.total -= class_jobs.rate;
        (class, times)
    }

    #[inline]
    fn fetch(&self, x: f64) {
        let (place, rest) = scan(&self.completions, x);
        let class_jobs = &self.jobs_by_class[self.order[place % TABLE] as usize % SCAN];
        black_box(class_jobs.jobs.get((rest * class_jobs.mean) as u32 as usize).map(|times| times.0));
    }

    #[inline]
    fn total(&self) -> f64 {
        self.total
    }

    fn refresh(&mut self) {
        self.total = self.completions[..self.classes].iter().sum();
    }

    fn in_service(&self) -> usize {
        self.jobs_by_class.iter().map(|class_jobs| class_jobs.jobs.len()).sum()
    }

    fn present(&self) -> impl Iterator<Item = (u32, f64)> {
        (0..).zip(&self.jobs_by_class).flat_map(|(class, class_jobs)| {
            let arrivals = class_jobs.waiting.iter().chain(class_jobs.jobs.iter().map(|(arrival, _)| arrival));
            arrivals.map(move |&arrival| (class, arrival))
        })
    }
}
