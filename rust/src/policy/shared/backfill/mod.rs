//! Backfilling during a drain: a job of another class than the *target* (the job that the drain is for) may start if it
//! fits now and is unlikely to run beyond the time D at which the target can start. The largest need starts first; with
//! equal needs, the oldest job.

mod ages;
mod departures;
mod distributions;
mod estimates;

use crate::book::Slot;
use crate::error::Error;
use crate::policy::{Choice, Parameters, Sight, View};
use ages::ByAges;
use distributions::{ByDistributions, harmonic};
use estimates::ByEstimates;

/// The purpose of a drain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drain {
    /// Class of the job that is to start next.
    pub target: u32,
    /// A class whose jobs must all complete before, whether or not the target fits.
    pub leaving: Option<u32>,
}

impl Drain {
    /// The target starts as soon as it fits.
    pub fn of(target: u32) -> Self {
        Self { target, leaving: None }
    }
}

/// The rule of a policy's parameter `backfilling`.
pub enum Rule {
    /// No backfilling.
    Never,
    /// By the size distributions of the classes.
    ByDistributions(ByDistributions),
    /// By the ages of the jobs in service.
    ByAges(ByAges),
    /// By the estimates of the jobs.
    ByEstimates(ByEstimates),
}

impl Rule {
    /// Reads the parameter, which is missing without backfilling.
    pub fn of(parameters: &Parameters<'_>) -> Result<Self, Error> {
        let Some(rule) = parameters.nested("backfilling")? else { return Ok(Self::Never) };
        Ok(match rule.choose("by", ["distributions", "ages", "estimates"])? {
            0 => Self::ByDistributions(ByDistributions::new(&rule)?),
            1 => Self::ByAges(ByAges::new(&rule)?),
            _ => Self::ByEstimates(ByEstimates::new(rule.system())),
        })
    }
}

/// One number of seconds for each class; null is infinite, as JSON has no infinity.
fn seconds(parameters: &Parameters<'_>, key: &'static str) -> Result<Vec<f64>, Error> {
    let values: Vec<Option<f64>> = parameters.get(key)?;
    let given = &parameters.system().given;
    if values.len() != given.len() || !values.iter().flatten().all(|&value| value >= 0.0) {
        return Err(Error::argument(key, values, "one number of at least 0 for each class"));
    }
    Ok(given.iter().map(|&class| values[class].unwrap_or(f64::INFINITY)).collect())
}

/// A rule of backfilling. It is notified of starts and ends as a policy is.
pub trait Backfill: Clone + Send + Sync {
    /// Jobs may be backfilled at all.
    const ON: bool = true;
    /// What it uses of the state.
    const SIGHT: Sight = Sight::Counts;

    /// Which job starts while the target cannot?
    fn next(&mut self, view: View<'_>, drain: Drain) -> Choice;

    /// Whether the rule permits this job, computed independently (debug mode).
    fn permits(&self, view: View<'_>, drain: Drain, class: u32, slot: Slot) -> bool;

    /// A job has arrived.
    fn arrived(&mut self, _view: View<'_>, _class: u32, _slot: Slot) {}

    /// A job is about to start.
    fn starting(&mut self, view: View<'_>, class: u32, slot: Slot);

    /// A job in service has ended, and is still counted.
    fn ended(&mut self, view: View<'_>, class: u32, slot: Slot);

    /// The estimate of a job in service has been raised from `old` seconds.
    fn corrected(&mut self, _view: View<'_>, _class: u32, _slot: Slot, _old: f64) {}

    /// Restores a state; `view` shows its counts.
    fn restore(&mut self, _view: View<'_>) -> Result<(), Error> {
        Ok(())
    }
}

/// No backfilling: the policies of the paper.
#[derive(Clone)]
pub struct Never;

impl Backfill for Never {
    const ON: bool = false;

    #[inline]
    fn next(&mut self, _: View<'_>, _: Drain) -> Choice {
        Choice::Wait
    }

    fn permits(&self, _: View<'_>, _: Drain, _: u32, _: Slot) -> bool {
        false
    }

    #[inline]
    fn starting(&mut self, _: View<'_>, _: u32, _: Slot) {}

    #[inline]
    fn ended(&mut self, _: View<'_>, _: u32, _: Slot) {}
}
