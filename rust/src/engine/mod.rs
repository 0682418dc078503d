//! The loops. `jumps` where the state is a Markov chain, `events` for any sizes and for logs, `preemptive` for policies
//! that stop jobs. All feed the same counters. `leftover` serves the preemptible jobs of a log, whatever the policy.

mod events;
mod gate;
mod jumps;
mod leftover;
mod predictions;
mod preemptive;
mod rate_groups;
mod run;
mod scan;
mod service;
mod source;

pub use events::{Events, Schedule};
pub use gate::Gate;
pub use jumps::Jumps;
pub use leftover::{Leftover, StoppedRun};
pub use predictions::Predictions;
pub use preemptive::PreemptiveEvents;
pub use rate_groups::RateGroups;
use run::{EventLoop, LoopState};
pub use run::{Run, Signals, Stop};
pub use scan::{SCAN, Scan};
pub use source::{Arrival, Source, Trace};

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::counters::Plan;
use crate::error::Error;
use crate::policy::{Costs, Policy, PolicyVisitor, Preemptive, Sight};
use crate::system::{System, SystemSpec};

/// Which loop.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Loop {
    /// Jumps of the Markov chain.
    Jumps,
    /// Events in a calendar.
    Events,
}

/// The specification of a set of replications, in JSON.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// The system.
    pub system: SystemSpec,
    /// Canonical description of the policy.
    pub policy: Map<String, Value>,
    /// Which loop.
    pub engine: Loop,
    /// Seed of all randomness.
    pub seed: u64,
    /// Replications.
    pub replications: u32,
    /// Completions in a block at first.
    pub block_jobs: u64,
    /// Most points of the trajectory.
    pub trajectory: usize,
    /// Bound on the size in the bounded slowdown, seconds.
    pub slowdown_bound: f64,
    /// Most jobs in the system.
    pub crowd: u64,
    /// Checks at every event.
    pub debug: bool,
}

/// Settings of a run besides system and policy.
#[derive(Clone, Copy, Debug)]
pub struct RunSettings {
    /// What is measured.
    pub plan: Plan,
    /// Most jobs in the system.
    pub crowd: u64,
    /// Checks at every event.
    pub debug: bool,
    /// Seed and number of the replication.
    pub seed: (u64, u32),
}

/// Builds one replication of a spec for the concrete policy type.
#[derive(Clone)]
pub struct RunBuilder<'a> {
    /// The system.
    pub system: &'a System,
    /// Which loop.
    pub engine: Loop,
    /// Settings.
    pub settings: RunSettings,
    /// A trace instead of random arrivals; its schedule is kept.
    pub trace: Option<Trace>,
    /// Predictions of the estimates of its jobs.
    pub predictions: Option<Predictions>,
}

impl RunBuilder<'_> {
    /// The source of jobs, and the number of jobs whose schedule is kept.
    fn source(&mut self) -> Result<(Source, Option<usize>), Error> {
        match self.trace.take() {
            None => Ok((Source::random(self.system, self.settings.seed)?, None)),
            Some(trace) => {
                let jobs = trace.arrival.len();
                Ok((Source::Trace { trace, next: 0 }, Some(jobs)))
            }
        }
    }
}

impl PolicyVisitor for RunBuilder<'_> {
    type Output = Result<Box<dyn Run>, Error>;

    fn visit<P: Policy + 'static>(mut self, mut policy: P) -> Self::Output {
        policy.seed(self.settings.seed);
        if let Some(trace) = &self.trace {
            policy.attributes(&trace.user, &trace.priority);
        }
        match self.engine {
            Loop::Jumps if policy.sight() == Sight::Jobs => {
                Err(Error::Unsupported("engine \"jumps\" requires a policy that does not use individual jobs"))
            }
            Loop::Jumps if self.system.classes.len() <= SCAN => {
                Ok(Box::new(Jumps::<P, Scan>::new(self.system, policy, self.settings)?))
            }
            Loop::Jumps => Ok(Box::new(Jumps::<P, RateGroups>::new(self.system, policy, self.settings)?)),
            Loop::Events => {
                let (source, kept) = self.source()?;
                Ok(Box::new(Events::new(self.system, policy, source, self.settings, kept, self.predictions)))
            }
        }
    }

    fn visit_preemptive<P: Preemptive + 'static>(mut self, policy: P, costs: Option<Costs>) -> Self::Output {
        if self.engine == Loop::Jumps {
            return Err(Error::Unsupported("engine \"jumps\" requires a nonpreemptive policy"));
        }
        let (source, kept) = self.source()?;
        Ok(Box::new(PreemptiveEvents::new(self.system, policy, costs, source, self.settings, kept)))
    }
}

impl Spec {
    /// The builder of a replication.
    pub fn run_builder<'a>(&self, system: &'a System, replication: u32) -> RunBuilder<'a> {
        let plan = Plan {
            block_jobs: self.block_jobs.max(1),
            // one path is drawn, not one per replication
            trajectory: if replication == 0 { self.trajectory } else { 0 },
            slowdown_bound: self.slowdown_bound,
        };
        let settings = RunSettings { plan, crowd: self.crowd, debug: self.debug, seed: (self.seed, replication) };
        RunBuilder { system, engine: self.engine, settings, trace: None, predictions: None }
    }
}

/// Runs all replications until each has `completed` completions, on up to `threads` threads; returns the reason of each stop.
pub fn advance(runs: &mut [Box<dyn Run>], completed: u64, threads: usize, signals: &Signals) -> Vec<Stop> {
    let stops: Vec<std::sync::Mutex<Option<Stop>>> = runs.iter().map(|_| std::sync::Mutex::new(None)).collect();
    {
        let queue = std::sync::Mutex::new(runs.iter_mut().zip(&stops));
        let work = || {
            while let Some((run, stop)) = queue.lock().ok().and_then(|mut queue| queue.next()) {
                let reason = run.advance(completed, signals);
                if let Ok(mut stop) = stop.lock() {
                    *stop = Some(reason);
                }
            }
        };
        std::thread::scope(|scope| {
            (1..threads).for_each(|_| _ = scope.spawn(work));
            work(); // in this thread as well
        });
    }
    stops.into_iter().map(|stop| stop.into_inner().ok().flatten().unwrap_or(Stop::Broken)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::dispatch;

    /// Jobs arrive faster than they can be served.
    fn overloaded(engine: &str, crowd: u64) -> Spec {
        let class = r#"{"need": 1, "size": {"distribution": "exponential", "mean": 1.0},
            "arrivals": {"process": "poisson", "rate": 5.0}}"#;
        let spec = format!(
            r#"{{"system": {{"servers": 2, "classes": [{class}]}}, "policy": {{"name": "msf"}}, "engine": "{engine}",
            "seed": 1, "replications": 1, "block_jobs": 64, "trajectory": 0, "slowdown_bound": 10.0, "crowd": {crowd},
            "debug": true}}"#
        );
        serde_json::from_str(&spec).unwrap()
    }

    #[test]
    fn a_run_ends_with_the_first_job_too_many() {
        for engine in ["jumps", "events"] {
            let spec = overloaded(engine, 100);
            let system = System::new(spec.system.clone()).unwrap();
            let mut runs = [dispatch(&spec.policy, &system, spec.run_builder(&system, 0)).unwrap().unwrap()];
            assert_eq!(advance(&mut runs, 1_000_000, 1, &Signals::default()), [Stop::Crowded]);
            assert_eq!(runs[0].counters().present(), 101);
        }
    }
}
