//! Few classes in the loop over jumps.

use std::collections::VecDeque;

use super::service::{Rates, Service, Turn};
use crate::random::Stream;

/// Most classes whose rates are scanned.
pub const SCAN: usize = 32;

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
    #[inline(always)]
    fn serve(&mut self, class: u32, turn: Turn) {
        let lane = &mut self.lanes[class as usize % SCAN];
        lane.jobs.push(turn);
        self.completions[lane.place % TABLE] = f64::from(lane.jobs.len() as u32) * lane.rate;
        self.total += lane.rate;
    }

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
    fn next_class(&mut self, x: f64, _: &mut Stream) -> u32 {
        self.order[scan(&self.arrivals, x).0]
    }

    #[inline(always)]
    fn queue(&mut self, class: u32, now: f64) {
        self.lanes[class as usize % SCAN].waiting.push_back(now);
    }

    #[inline(always)]
    fn admit(&mut self, class: u32, now: f64) {
        self.serve(class, (now, now));
    }

    #[inline(always)]
    fn start(&mut self, class: u32, now: f64) -> Option<f64> {
        let arrival = self.lanes[class as usize % SCAN].waiting.pop_front()?;
        self.serve(class, (arrival, now));
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

    fn in_service(&self) -> usize {
        self.lanes.iter().map(|lane| lane.jobs.len()).sum()
    }

    fn present(&self) -> impl Iterator<Item = (u32, f64)> {
        (0..).zip(&self.lanes).flat_map(|(class, lane)| {
            let arrivals = lane.waiting.iter().chain(lane.jobs.iter().map(|(arrival, _)| arrival));
            arrivals.map(move |&arrival| (class, arrival))
        })
    }
}
