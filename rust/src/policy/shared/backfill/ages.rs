//! By the ages of the jobs in service, if sizes are not exponential. With u jobs of its class in service, a job of age a
//! is expected to have completed after the time t for which P(S > a + t | S > a) = e^-H(u), with the harmonic number H.
//! The cumulative hazard -log P(S > x) of the size then increases by H(u). For exponential sizes t is H(u) r with the mean
//! r, as without ages. D is the time at which the target can start if all jobs complete as expected. A job of class j may
//! start if D is at least the *horizon* of the class, as without ages.

use super::{Backfill, Drain, harmonic, seconds};
use crate::book::Slot;
use crate::error::Error;
use crate::policy::{Choice, Parameters, View};
use crate::station::Station;

/// Sizes at equal steps of the cumulative hazard, from 0 on, ascending, seconds.
#[derive(Clone)]
struct Sizes(Vec<f64>);

impl Sizes {
    /// The hazard at an age, in steps; linear between two sizes.
    #[inline]
    fn hazard(&self, age: f64) -> f64 {
        let above = self.0.partition_point(|&size| size <= age);
        match (above.checked_sub(1), self.0.get(above)) {
            (None, _) => 0.0,
            (Some(at), None) => at as f64,
            (Some(at), Some(next)) => at as f64 + (age - self.0[at]) / (next - self.0[at]),
        }
    }

    /// The size at a hazard, in steps.
    #[inline]
    fn size(&self, hazard: f64) -> f64 {
        let at = hazard as usize;
        match self.0.get(at..at + 2) {
            Some(sizes) => sizes[0] + (hazard - at as f64) * (sizes[1] - sizes[0]),
            None => self.0[self.0.len() - 1],
        }
    }
}

/// A job in service.
#[derive(Clone, Copy)]
struct Leaving {
    /// When it is expected to have completed, seconds from now.
    time: f64,
    class: u32,
    need: u32,
}

/// The rule by ages.
#[derive(Clone)]
pub struct ByAges {
    /// Per class: the least D at which its jobs may start, and the mean residual size, seconds.
    horizons: Vec<f64>,
    residuals: Vec<f64>,
    /// Per class; None if exponential.
    sizes: Vec<Option<Sizes>>,
    /// Steps in a unit of the hazard.
    steps: f64,
    /// Per class, when its jobs in service have started, seconds, ascending.
    starts: Vec<Vec<f64>>,
}

impl ByAges {
    pub(super) fn new(parameters: &Parameters<'_>) -> Result<Self, Error> {
        let system = parameters.system();
        let sizes: Vec<Option<Vec<f64>>> = parameters.get("sizes")?;
        let ascending = sizes.iter().flatten().all(|sizes| !sizes.is_empty() && sizes.is_sorted());
        if sizes.len() != system.given.len() || !ascending {
            return Err(Error::argument("sizes", sizes, "ascending sizes or null for each class"));
        }
        let step: f64 = parameters.get("step")?;
        Ok(Self {
            horizons: seconds(parameters, "horizons")?,
            residuals: seconds(parameters, "residuals")?,
            sizes: system.given.iter().map(|&class| sizes[class].clone().map(Sizes)).collect(),
            steps: 1.0 / step,
            starts: vec![Vec::new(); system.given.len()],
        })
    }

    /// The jobs in service.
    fn leaving(&self, station: &Station) -> Vec<Leaving> {
        let mut jobs = Vec::new();
        for class in (0..station.classes() as u32).filter(|&class| station.running(class) > 0) {
            let (harmonic, need) = (harmonic(station.running(class)), station.need(class));
            for &start in &self.starts[class as usize] {
                let time = match &self.sizes[class as usize] {
                    None => harmonic * self.residuals[class as usize],
                    Some(sizes) => {
                        let age = station.now() - start;
                        (sizes.size(sizes.hazard(age) + harmonic * self.steps) - age).max(0.0)
                    }
                };
                jobs.push(Leaving { time, class, need });
            }
        }
        jobs
    }
}

/// Whether D is at least this time: the jobs that complete before do not free enough servers, or one of the class that
/// must leave completes no earlier.
fn lasts(station: &Station, drain: Drain, jobs: &[Leaving], time: f64) -> bool {
    let before = jobs.iter().filter(|job| job.time < time).map(|job| job.need);
    station.free() + before.sum::<u32>() < station.need(drain.target)
        || jobs.iter().any(|job| Some(job.class) == drain.leaving && job.time >= time)
}

impl Backfill for ByAges {
    fn next(&mut self, view: View<'_>, drain: Drain) -> Choice {
        let station = view.station;
        if station.largest_fitting().is_none() {
            return Choice::Wait;
        }
        let jobs = self.leaving(station);
        let in_time = |class: u32| class != drain.target && lasts(station, drain, &jobs, self.horizons[class as usize]);
        let found = station.largest_fitting_by(|class| in_time(class).then(|| (station.head_key(class), class)));
        found.map_or(Choice::Wait, |(_, class)| Choice::Head(class))
    }

    fn permits(&self, view: View<'_>, drain: Drain, class: u32, _: Slot) -> bool {
        let station = view.station;
        let mut jobs = self.leaving(station);
        jobs.sort_by(|a, b| a.time.total_cmp(&b.time));
        let (mut free, mut until) = (station.free(), 0.0);
        for job in &jobs {
            if free >= station.need(drain.target) {
                break;
            }
            until = job.time;
            free += job.need;
        }
        let last = jobs.iter().rfind(|job| Some(job.class) == drain.leaving).map_or(0.0, |job| job.time);
        class != drain.target && self.horizons[class as usize] <= f64::max(until, last)
    }

    fn starting(&mut self, view: View<'_>, class: u32, _: Slot) {
        self.starts[class as usize].push(view.station.now());
    }

    fn ended(&mut self, view: View<'_>, class: u32, slot: Slot) {
        let start = view.book.job(slot).start;
        let starts = &mut self.starts[class as usize];
        starts.remove(starts.partition_point(|&other| other < start));
    }

    fn restore(&mut self, view: View<'_>) -> Result<(), Error> {
        self.starts.iter_mut().for_each(Vec::clear);
        for (_, job) in view.book.walk(view.book.running()) {
            self.starts[job.class as usize].push(job.start);
        }
        Ok(())
    }
}
