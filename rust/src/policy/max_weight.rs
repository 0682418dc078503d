//! MaxWeight (preemptive): serve `v_i <= N_i` jobs of each class such that all fit and `sum N_i v_i` is as large as
//! possible (a knapsack problem). If there are several such choices, take the one with the most jobs of the class of
//! largest need, then of the next, and so on; classes of equal need are in the order of the system. The oldest jobs of
//! each class are served.
//!
//! Dynamic programming over servers, in units of the greatest common divisor of the needs: for each class present one row of
//! the best values within 0, 1, ... servers, computed from the row of the class before. The jobs of a class enter in
//! bundles of 1, 2, 4 and so on. The time of an event at which the jobs present do not all fit is proportional to classes
//! present times servers times the logarithm of the slots of a class.

use super::shared::ServedPrefixes;
use super::{Change, Costs, Parameters, PolicyVisitor, Preemptive, View};
use crate::book::Slot;
use crate::error::Error;

pub(super) fn build<V: PolicyVisitor>(parameters: &Parameters<'_>, visitor: V) -> Result<V::Output, Error> {
    Ok(visitor.visit_preemptive(MaxWeight::new(parameters)?, Costs::of(parameters)?))
}

/// MaxWeight.
#[derive(Clone)]
struct MaxWeight {
    servers: u32,
    /// Needs, in units, of the classes in the order in which they enter; the last one matters first.
    classes: Vec<(u32, u32)>,
    /// Servers in units.
    room: usize,
    prefixes: ServedPrefixes,
    targets: Vec<u32>,
    /// Rows of best values, and one more for scratch.
    rows: Vec<Vec<u64>>,
    scratch: Vec<u64>,
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

impl MaxWeight {
    fn new(parameters: &Parameters<'_>) -> Result<Self, Error> {
        let system = parameters.system();
        let unit = system.classes.iter().fold(0, |unit, class| gcd(unit, class.need));
        // the core orders by need, then by place in the system; with equal needs the first in the system comes last here
        let mut classes: Vec<(u32, u32)> =
            (0..).zip(&system.classes).map(|(i, class)| (i, class.need / unit)).collect();
        classes.sort_by_key(|&(class, need)| (need, std::cmp::Reverse(class)));
        Ok(Self {
            servers: system.servers,
            room: (system.servers / unit) as usize,
            prefixes: ServedPrefixes::new(classes.len()),
            targets: vec![0; classes.len()],
            rows: vec![Vec::new(); classes.len()],
            classes,
            scratch: Vec::new(),
        })
    }

    /// Fills the row of a class from the one before it. `present` jobs are there, each of the value `present`.
    fn enter(&mut self, at: usize, need: usize, present: u32) {
        let (before, rest) = self.rows.split_at_mut(at);
        let row = &mut rest[0];
        row.clear();
        match before.last() {
            Some(previous) => row.extend_from_slice(previous),
            None => row.resize(self.room + 1, 0),
        }
        let mut left = u64::from(present).min((self.room / need) as u64);
        let mut bundle = 1;
        while left > 0 {
            let taken = left.min(bundle);
            let (shift, value) = (taken as usize * need, taken * u64::from(present));
            self.scratch.clear();
            self.scratch.extend_from_slice(row);
            for (best, &without) in row[shift..].iter_mut().zip(&self.scratch) {
                *best = (*best).max(without + value);
            }
            (left, bundle) = (left - taken, bundle * 2);
        }
    }

    /// The most jobs of each class that a best way serves, the class that matters most first.
    fn pack(&mut self, view: View<'_>) {
        for at in 0..self.classes.len() {
            let (class, need) = self.classes[at];
            self.enter(at, need as usize, view.station.present(class));
        }
        let mut room = self.room;
        for at in (0..self.classes.len()).rev() {
            let (class, need) = self.classes[at];
            let (present, need) = (view.station.present(class), need as usize);
            let below = |room: usize| if at == 0 { 0 } else { self.rows[at - 1][room] };
            let mut target = u64::from(present).min((room / need) as u64);
            while target * u64::from(present) + below(room - target as usize * need) < self.rows[at][room] {
                target -= 1;
            }
            room -= target as usize * need;
            self.targets[class as usize] = target as u32;
        }
    }
}

impl Preemptive for MaxWeight {
    const LANES_OF_CLASSES: bool = true;

    #[inline]
    fn arrived(&mut self, view: View<'_>, slot: Slot) {
        self.prefixes.arrived(view.book.job(slot).class as usize, slot);
    }

    #[inline]
    fn completed(&mut self, view: View<'_>, slot: Slot, selected: bool) {
        self.prefixes.completed(view, view.book.job(slot).class as usize, slot, selected);
    }

    fn serve(&mut self, view: View<'_>, changes: &mut Vec<Change>) {
        let station = view.station;
        let classes = 0..station.classes() as u32;
        let wanted: u64 = classes.clone().map(|c| u64::from(station.present(c)) * u64::from(station.need(c))).sum();
        if wanted <= u64::from(self.servers) {
            classes.clone().for_each(|class| self.targets[class as usize] = station.present(class));
        } else {
            self.pack(view);
        }
        for (lane, &target) in self.targets.iter().enumerate() {
            self.prefixes.serve(view, lane, target, changes);
        }
    }
}
