//! By the size distributions of the classes, if all sizes are exponential. All u jobs of a class in service are expected
//! to complete within `H(u) r`, with the harmonic number H and the mean residual size r of the class. The classes free
//! their servers in the order of these times; D is the first of them at which the target can start. A job of class j may
//! start if D is at least the *horizon* of the class, which follows from its distribution (`quickswap.policies.draining`
//! in Python).

use std::sync::Arc;

use super::departures::Departures;
use super::{Backfill, Drain, seconds};
use crate::book::Slot;
use crate::error::Error;
use crate::policy::{Choice, Parameters, View};
use crate::station::{Bits, Station};

/// Harmonic numbers in the table; beyond, the asymptotic series is exact to double precision.
const KEPT: usize = 4096;
const EULER: f64 = 0.577_215_664_901_532_9;

/// The rule by distributions.
#[derive(Clone)]
pub struct ByDistributions {
    /// Per class, seconds: the least D at which its jobs may start, and the mean residual size.
    horizons: Vec<f64>,
    residuals: Vec<f64>,
    harmonics: Arc<[f64]>,
    departures: Departures,
    /// A class, and the time after which a job of it fits.
    known: Option<(u32, f64)>,
    /// Classes whose horizon is at most a certain time: the first `shorter` of `by_horizon`.
    short: Bits,
    shorter: usize,
    by_horizon: Vec<u32>,
}

/// 1 + 1/2 + ... + 1/n.
pub(super) fn harmonic(n: u32) -> f64 {
    if (n as usize) < KEPT {
        return (1..=n).fold(0.0, |sum, i| sum + 1.0 / f64::from(i));
    }
    let n = f64::from(n);
    n.ln() + EULER + 0.5 / n - 1.0 / (12.0 * n * n)
}

impl ByDistributions {
    /// Reads the horizons and residuals of the classes.
    pub(super) fn new(parameters: &Parameters<'_>) -> Result<Self, Error> {
        let system = parameters.system();
        let classes = system.classes.len();
        let most = system.classes.iter().map(|class| system.servers / class.need).max().unwrap_or(0);
        let mut sum = 0.0;
        let above = (1..=most.min(KEPT as u32 - 1)).map(|i| {
            sum += 1.0 / f64::from(i);
            sum
        });
        let horizons = seconds(parameters, "horizons")?;
        let mut by_horizon: Vec<u32> = (0..classes as u32).collect();
        by_horizon.sort_by(|&a, &b| horizons[a as usize].total_cmp(&horizons[b as usize]));
        Ok(Self {
            horizons,
            residuals: seconds(parameters, "residuals")?,
            harmonics: std::iter::once(0.0).chain(above).collect(),
            departures: Departures::new(classes),
            known: None,
            short: Bits::new(classes),
            shorter: 0,
            by_horizon,
        })
    }

    /// The time after which all `jobs` of a class are expected to complete.
    #[inline]
    fn gone(&self, class: u32, jobs: u32) -> f64 {
        let sum = self.harmonics.get(jobs as usize).copied();
        sum.unwrap_or_else(|| harmonic(jobs)) * self.residuals[class as usize]
    }

    /// The time after which a job of the class fits; updates the classes that are short enough.
    #[inline(never)]
    fn look(&mut self, station: &Station, target: u32) -> f64 {
        let lacking = station.need(target).saturating_sub(station.free());
        let fits = if lacking > 0 { self.departures.freed(lacking) } else { 0.0 };
        self.known = Some((target, fits));
        while let Some(&class) = self.by_horizon.get(self.shorter)
            && self.horizons[class as usize] <= fits
        {
            self.short.insert(class as usize);
            self.shorter += 1;
        }
        while self.shorter > 0
            && let class = self.by_horizon[self.shorter - 1]
            && self.horizons[class as usize] > fits
        {
            self.short.remove(class as usize);
            self.shorter -= 1;
        }
        fits
    }

    /// A class has `jobs` in service from now on, at most `most` before and after. If all of them complete before the
    /// target fits, the time at which it fits does not change: servers only move between free and held.
    #[inline]
    fn count(&mut self, station: &Station, class: u32, jobs: u32, most: u32) {
        if self.known.is_some_and(|(_, fits)| self.gone(class, most) >= fits) {
            self.known = None;
        }
        self.departures.set(class, self.gone(class, jobs), jobs * station.need(class));
    }
}

impl Backfill for ByDistributions {
    #[inline]
    fn next(&mut self, view: View<'_>, drain: Drain) -> Choice {
        let station = view.station;
        if station.largest_fitting().is_none() {
            return Choice::Wait;
        }
        let fits = match self.known {
            Some((target, fits)) if target == drain.target => fits,
            _ => self.look(station, drain.target),
        };
        let found = match drain.leaving {
            None => station.largest_fitting_of(&self.short),
            Some(class) => {
                let until = fits.max(self.departures.gone(class));
                let in_time = |class| class != drain.target && self.horizons[class as usize] <= until;
                let found =
                    station.largest_fitting_by(|class| in_time(class).then(|| (station.head_key(class), class)));
                found.map(|(_, class)| class)
            }
        };
        found.map_or(Choice::Wait, Choice::Head)
    }

    fn permits(&self, view: View<'_>, drain: Drain, class: u32, _: Slot) -> bool {
        let station = view.station;
        let (need, mut free) = (station.need(drain.target), station.free());
        let running = |class| station.running(class);
        let time = |class: u32| harmonic(running(class)) * self.residuals[class as usize];
        let mut classes: Vec<u32> = (0..station.classes() as u32).filter(|&class| running(class) > 0).collect();
        classes.sort_by(|&a, &b| time(a).total_cmp(&time(b)));
        let mut until = 0.0;
        for other in classes {
            if free >= need {
                break;
            }
            until = time(other);
            free += station.need(other) * running(other);
        }
        let leaving = drain.leaving.filter(|&class| running(class) > 0).map_or(0.0, time);
        class != drain.target && self.horizons[class as usize] <= f64::max(until, leaving)
    }

    #[inline]
    fn starting(&mut self, view: View<'_>, class: u32, _: Slot) {
        let jobs = view.station.running(class) + 1;
        self.count(view.station, class, jobs, jobs);
    }

    #[inline]
    fn ended(&mut self, view: View<'_>, class: u32, _: Slot) {
        let jobs = view.station.running(class);
        self.count(view.station, class, jobs - 1, jobs);
    }

    fn restore(&mut self, view: View<'_>) -> Result<(), Error> {
        self.departures.clear();
        self.known = None;
        for class in 0..view.station.classes() as u32 {
            let jobs = view.station.running(class);
            if jobs > 0 {
                self.count(view.station, class, jobs, jobs);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::book::{Book, NO_JOB};
    use crate::system::{System, SystemSpec};
    use proptest::prelude::*;
    use serde_json::json;

    /// Of a class: need, jobs waiting, jobs in service, a horizon and a residual.
    type Row = (u32, u32, u32, u32, u32);

    /// Classes, and the servers free beside their jobs in service.
    fn setting(rows: &[Row], free: u32) -> (System, ByDistributions, Station) {
        let servers = free + rows.iter().map(|row| row.0 * row.2).sum::<u32>();
        let class = |need: u32| {
            json!({"need": need, "size": {"distribution": "exponential", "mean": 1.0},
                "arrivals": {"process": "poisson", "rate": 1.0}})
        };
        let classes: Vec<_> = rows.iter().map(|row| class(row.0)).collect();
        let spec: SystemSpec = serde_json::from_value(json!({"servers": servers, "classes": classes})).unwrap();
        let system = System::new(spec).unwrap();
        let inner = |value: &dyn Fn(&Row) -> u32| -> Vec<u32> {
            system.given.iter().map(|&given| value(&rows[given])).collect()
        };
        let mut station = Station::new(&system, true);
        let keys: Vec<u64> = (0..rows.len() as u64).collect();
        station.replace(&inner(&|row| row.1), &inner(&|row| row.2), &keys);
        let horizons: Vec<u32> = rows.iter().map(|row| row.3).collect();
        let residuals: Vec<u32> = rows.iter().map(|row| row.4).collect();
        let spec = json!({"horizons": horizons, "residuals": residuals});
        let parameters = Parameters { spec: spec.as_object().unwrap(), system: &system };
        let mut rule = ByDistributions::new(&parameters).unwrap();
        let book = Book::new(0, false);
        rule.restore(View { station: &station, book: &book }).unwrap();
        (system, rule, station)
    }

    proptest! {
        #[test]
        fn starts_the_largest_of_those_permitted(
            rows in prop::collection::vec((1u32..5, 0u32..3, 0u32..4, 0u32..8, 0u32..4), 2..6),
            free in 1u32..6, target in any::<prop::sample::Index>(), leaving in any::<Option<prop::sample::Index>>(),
        ) {
            let need = rows.iter().map(|row| row.0).max().unwrap();
            let (system, mut rule, station) = setting(&rows, free.max(need));
            let book = Book::new(0, false);
            let view = View { station: &station, book: &book };
            let drain = Drain {
                target: target.index(rows.len()) as u32,
                leaving: leaving.map(|class| class.index(rows.len()) as u32),
            };
            // no backfilling if the target can start immediately
            let blocked = station.need(drain.target) > station.free() || drain.leaving.is_some();
            prop_assume!(blocked);
            let permitted: Vec<u32> = (0..rows.len() as u32)
                .filter(|&class| station.can_start(class) && rule.permits(view, drain, class, NO_JOB))
                .collect();
            let most = permitted.iter().map(|&class| system.classes[class as usize].need).max();
            match rule.next(view, drain) {
                Choice::Head(class) => {
                    prop_assert!(permitted.contains(&class));
                    prop_assert_eq!(Some(station.need(class)), most);
                }
                other => prop_assert_eq!((other, permitted), (Choice::Wait, vec![])),
            }
        }
    }

    #[test]
    fn forbids_jobs_that_would_delay_the_target() {
        // a job of need 2, which completes after 3 s, blocks one of need 4
        let rows = [(4, 1, 0, 9, 1), (2, 0, 1, 9, 3), (1, 1, 0, 3, 1), (1, 1, 0, 4, 1)];
        let (system, rule, station) = setting(&rows, 2);
        let book = Book::new(0, false);
        let inner = system.inner();
        let permits = |class: usize| {
            let view = View { station: &station, book: &book };
            rule.permits(view, Drain::of(inner[0]), inner[class], NO_JOB)
        };
        assert!(permits(2));
        assert!(!permits(3));
    }
}
