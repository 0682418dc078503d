//! The loops. `jumps` where the state is a Markov chain, `events` for any sizes and for logs, `preemptive` for policies
//! that stop jobs. All feed the same counters.

mod events;
mod jumps;
mod preemptive;
mod service;
mod source;

pub use events::{Events, Schedule};
pub use jumps::Jumps;
pub use preemptive::PreemptiveEvents;
pub use service::{Groups, SCAN, Scan};
pub use source::{Source, Trace};

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::counters::{Counters, Phases, Plan};
use crate::policy::{Employer, Policy, Preemptive, Sight, employ};
use crate::station::Station;
use crate::system::{System, SystemSpec};

/// Why a run stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// As many jobs have completed as were asked for.
    Done,
    /// The source has no more jobs, and all have completed.
    Empty,
    /// The caller wanted it to stop; the run can go on later.
    Interrupted,
    /// More jobs are in the system than allowed: the system is unstable, or the limit too low.
    Crowded,
    /// The source has no more jobs, nobody is in service, and the policy starts none of those that wait.
    Stuck,
    /// The policy gave an answer that cannot be carried out (or none): a mistake in the policy.
    Fault,
    /// A check of the debug mode failed: a mistake in the engine.
    Broken,
}

/// The chunk of events after which a loop looks whether it should stop.
const CHUNK: u32 = 1 << 14;

/// What a loop and the outside share while it runs.
#[derive(Debug, Default)]
pub struct Signals {
    /// Set to end all loops soon.
    pub stop: AtomicBool,
    /// Completions so far, over all loops.
    pub completed: AtomicU64,
}

impl Signals {
    fn report(&self, completed: u64) -> bool {
        self.completed.fetch_add(completed, Ordering::Relaxed);
        self.stop.load(Ordering::Relaxed)
    }
}

/// One replication, whatever its loop and policy.
pub trait Run: Send + Sync {
    /// Goes on until `completed` jobs have completed in all, or something else stops it.
    fn advance(&mut self, completed: u64, signals: &Signals) -> Stop;
    /// The measurements.
    fn counters(&self) -> &Counters;
    /// The state.
    fn station(&self) -> &Station;
    /// The clock of the policy's phases.
    fn phases(&mut self) -> Option<&mut Phases>;
    /// Times that the policy was asked only because it wanted to be.
    fn wakings(&self) -> u64 {
        0
    }
    /// Events (arrivals, completions, wakings) so far.
    fn events(&self) -> u64 {
        self.counters().arrived() + self.counters().completed() + self.wakings()
    }
    /// Per class, the times that the jobs present have spent in the system, added up.
    fn ages(&self) -> Vec<f64>;
    /// The schedule of a trace, if it was kept; it is handed over once.
    fn schedule(&mut self) -> Option<Schedule> {
        None
    }
    /// What the debug mode found, if a check failed.
    fn failure(&self) -> Option<String>;
}

/// One step of a loop: an event, or an instant with all its events, and the decisions that follow.
trait Step: Run {
    /// Gives a reason only if the loop must stop.
    fn step(&mut self) -> Option<Stop>;
    /// A chunk of steps begins.
    fn chunk(&mut self) {}
}

/// The loop proper: chunks of steps until enough jobs have completed or something else stops it.
#[inline]
fn run_until<L: Step>(run: &mut L, completed: u64, crowd: u64, signals: &Signals) -> Stop {
    loop {
        let before = run.counters().completed();
        let mut stop = None;
        run.chunk();
        for _ in 0..CHUNK {
            if run.counters().completed() >= completed {
                stop = Some(Stop::Done);
                break;
            }
            stop = run.step();
            if stop.is_some() {
                break;
            }
        }
        let interrupted = signals.report(run.counters().completed() - before);
        if let Some(stop) = stop {
            return stop;
        }
        if interrupted {
            return Stop::Interrupted;
        }
        if run.counters().present() > crowd {
            return Stop::Crowded;
        }
    }
}

/// Which loop.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Loop {
    /// Jumps of the Markov chain.
    Jumps,
    /// Events in a calendar.
    Events,
}

/// All that a set of replications needs, as the caller writes it.
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

/// What an engine is told besides system and policy.
#[derive(Clone, Copy, Debug)]
pub struct Orders {
    /// What is measured.
    pub plan: Plan,
    /// Most jobs in the system.
    pub crowd: u64,
    /// Checks at every event.
    pub debug: bool,
    /// Seed and number of the replication.
    pub seed: (u64, u32),
}

/// Puts policies to work on one replication of a spec.
#[derive(Clone)]
pub struct Hire<'a> {
    /// The system.
    pub system: &'a System,
    /// Which loop.
    pub engine: Loop,
    /// Further orders.
    pub orders: Orders,
    /// A trace that takes the place of the random arrivals, its schedule to be kept.
    pub trace: Option<Trace>,
}

impl Hire<'_> {
    /// The source of jobs, and of how many the schedule is kept.
    fn source(&mut self) -> Result<(Source, Option<usize>), String> {
        match self.trace.take() {
            None => Ok((Source::random(self.system, self.orders.seed)?, None)),
            Some(trace) => {
                let jobs = trace.arrival.len();
                Ok((Source::Trace { trace, next: 0 }, Some(jobs)))
            }
        }
    }
}

impl Employer for Hire<'_> {
    type Output = Result<Box<dyn Run>, String>;

    fn employ<P: Policy + 'static>(mut self, policy: P) -> Self::Output {
        match self.engine {
            Loop::Jumps if policy.sight() == Sight::Jobs => {
                Err("the loop \"jumps\" is for policies that look at counts and heads of line; this one looks at single jobs".into())
            }
            Loop::Jumps if self.system.classes.len() <= SCAN => {
                Ok(Box::new(Jumps::<P, Scan>::new(self.system, policy, self.orders)?))
            }
            Loop::Jumps => Ok(Box::new(Jumps::<P, Groups>::new(self.system, policy, self.orders)?)),
            Loop::Events => {
                let (source, kept) = self.source()?;
                Ok(Box::new(Events::new(self.system, policy, source, self.orders, kept)))
            }
        }
    }

    fn employ_preemptive<P: Preemptive + 'static>(mut self, policy: P) -> Self::Output {
        if self.engine == Loop::Jumps {
            return Err("the loop \"jumps\" is for nonpreemptive policies".into());
        }
        let (source, kept) = self.source()?;
        Ok(Box::new(PreemptiveEvents::new(self.system, policy, source, self.orders, kept)))
    }
}

/// The replications of a spec.
pub fn replications(spec: &Spec, system: &System) -> Result<Vec<Box<dyn Run>>, String> {
    (0..spec.replications).map(|r| employ(&spec.policy, system, spec.hire(system, r))?).collect()
}

impl Spec {
    /// Orders for a replication.
    pub fn hire<'a>(&self, system: &'a System, replication: u32) -> Hire<'a> {
        let plan = Plan {
            block_jobs: self.block_jobs.max(1),
            // one path is drawn, not one a replication
            trajectory: if replication == 0 { self.trajectory } else { 0 },
            slowdown_bound: self.slowdown_bound,
        };
        let orders = Orders { plan, crowd: self.crowd, debug: self.debug, seed: (self.seed, replication) };
        Hire { system, engine: self.engine, orders, trace: None }
    }
}

/// Runs all replications until each has `completed` completions, on up to `threads` threads; gives the reason of each stop.
pub fn advance(runs: &mut [Box<dyn Run>], completed: u64, threads: usize, signals: &Signals) -> Vec<Stop> {
    let stops: Vec<std::sync::Mutex<Option<Stop>>> = runs.iter().map(|_| std::sync::Mutex::new(None)).collect();
    let queue = std::sync::Mutex::new(runs.iter_mut().zip(&stops));
    std::thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            scope.spawn(|| {
                while let Some((run, stop)) = queue.lock().ok().and_then(|mut queue| queue.next()) {
                    let reason = run.advance(completed, signals);
                    if let Ok(mut stop) = stop.lock() {
                        *stop = Some(reason);
                    }
                }
            });
        }
    });
    stops.into_iter().map(|stop| stop.into_inner().ok().flatten().unwrap_or(Stop::Broken)).collect()
}
