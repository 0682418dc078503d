//! Common parts of all loops: their state, the loop over their steps, and the interface to the outside.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::{RunSettings, Schedule};
use crate::counters::{Counters, Phases};
use crate::error::Error;
use crate::station::Station;

/// Why a run stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// All requested jobs have completed.
    Done,
    /// The source has no more jobs, and all have completed.
    Empty,
    /// The caller stopped it; the run can be continued.
    Interrupted,
    /// More jobs are in the system than allowed: the system is unstable, or the limit too low.
    Crowded,
    /// The source has no more jobs, no job is in service, and the policy starts none of the waiting jobs.
    Stuck,
    /// The policy failed, or its answer is not a waiting job that fits: a fault of the policy.
    Fault,
    /// A check of the debug mode failed: a fault of the core.
    Broken,
}

/// The chunk of events after which a loop looks whether it should stop.
const CHUNK: u32 = 1 << 14;

/// Signals between a running loop and its caller.
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
    /// Continues until `completed` jobs have completed in total, or another reason stops it.
    fn advance(&mut self, completed: u64, signals: &Signals) -> Stop;
    /// The measurements.
    fn counters(&self) -> &Counters;
    /// The state.
    fn station(&self) -> &Station;
    /// The phases of the policy.
    fn phases(&mut self) -> Option<&mut Phases>;
    /// Events so far: arrivals, completions and timers of the policy.
    fn events(&self) -> u64;
    /// Per class, the times that the jobs present have spent in the system, added up.
    fn ages(&self) -> Vec<f64>;
    /// The schedule of a trace, if it was kept; returned once.
    fn schedule(&mut self) -> Option<Schedule>;
    /// The check of the debug mode that failed, if any.
    fn violation(&self) -> Option<Error>;
}

/// The state common to all loops.
#[derive(Clone)]
pub(super) struct LoopState {
    pub station: Station,
    pub counters: Counters,
    pub settings: RunSettings,
    /// Timers of the policy that have expired.
    pub wake_ups: u64,
    pub violation: Option<Error>,
}

impl LoopState {
    pub fn new(station: Station, counters: Counters, settings: RunSettings) -> Self {
        Self { station, counters, settings, wake_ups: 0, violation: None }
    }

    /// Checks the counts against the jobs present and in service.
    pub fn balance(&mut self, present: usize, in_service: usize) {
        let (used, free) = (self.station.recount(), self.station.free());
        if used + u64::from(free) != u64::from(self.station.servers()) {
            self.violation = Some(Error::Invariant(format!("{used} servers in use and {free} free")));
        } else if present as u64 != self.counters.present() {
            self.violation =
                Some(Error::Invariant(format!("{present} jobs present, {} counted", self.counters.present())));
        } else if present as u64 != self.station.total_waiting() + in_service as u64 {
            self.violation =
                Some(Error::Invariant("jobs waiting and in service do not add up to the jobs present".into()));
        }
    }

    /// Checks that a class is served in order, by the keys of the job that starts and of the one that started last.
    #[cold]
    pub fn check_order<K: PartialOrd>(&mut self, class: u32, key: K, last: &mut K) {
        if key < *last {
            let now = self.station.now();
            self.violation =
                Some(Error::Invariant(format!("class {class} was not served in order of arrival at time {now}")));
        }
        *last = key;
    }

    /// Notes that a policy has started a job which its rule forbids.
    #[cold]
    pub fn check_rule(&mut self, class: u32, permitted: bool) {
        if !permitted {
            let now = self.station.now();
            self.violation = Some(Error::Invariant(format!(
                "the rule of the policy forbids the start of class {class} at time {now}"
            )));
        }
    }
}

/// A loop over events.
pub(super) trait EventLoop: Send + Sync {
    fn state(&self) -> &LoopState;
    fn state_mut(&mut self) -> &mut LoopState;
    /// One event, or an instant with all its events, and the decisions that follow. Returns a reason only if the loop must
    /// stop.
    fn step(&mut self) -> Option<Stop>;
    /// Checks the state and records a violation (debug mode).
    fn check(&mut self);
    /// A block of the measurements ends.
    fn close(&mut self);
    /// A chunk of steps begins.
    fn refresh(&mut self) {}
    fn phases(&mut self) -> Option<&mut Phases>;
    fn ages(&self) -> Vec<f64>;
    fn schedule(&mut self) -> Option<Schedule> {
        None
    }
}

/// A chunk of steps, until `target` jobs have completed in all. Returns the reason if they end before.
#[inline]
fn chunk<L: EventLoop>(run: &mut L, target: u64) -> Option<Stop> {
    run.refresh();
    let LoopState { counters, settings, .. } = run.state();
    let &RunSettings { crowd, debug, .. } = settings;
    let mut mark = counters.block_end().min(target);
    if counters.completed() >= target {
        return Some(Stop::Done);
    }
    for _ in 0..CHUNK {
        let stop = run.step();
        if stop.is_some() {
            return stop;
        }
        if debug {
            run.check();
            if run.state().violation.is_some() {
                return Some(Stop::Broken);
            }
        }
        let counters = &run.state().counters;
        if counters.present() > crowd {
            return Some(Stop::Crowded);
        }
        if counters.completed() >= mark {
            if counters.completed() >= counters.block_end() {
                run.close();
            }
            let counters = &run.state().counters;
            if counters.completed() >= target {
                return Some(Stop::Done);
            }
            mark = counters.block_end().min(target);
        }
    }
    None
}

impl<L: EventLoop> Run for L {
    fn advance(&mut self, completed: u64, signals: &Signals) -> Stop {
        loop {
            let before = self.state().counters.completed();
            let stop = chunk(self, completed);
            self.state_mut().counters.settle();
            let interrupted = signals.report(self.state().counters.completed() - before);
            if let Some(stop) = stop {
                return stop;
            }
            if interrupted {
                return Stop::Interrupted;
            }
        }
    }

    fn counters(&self) -> &Counters {
        &self.state().counters
    }

    fn station(&self) -> &Station {
        &self.state().station
    }

    fn phases(&mut self) -> Option<&mut Phases> {
        EventLoop::phases(self)
    }

    fn events(&self) -> u64 {
        let LoopState { counters, wake_ups, .. } = self.state();
        counters.arrived() + counters.completed() + wake_ups
    }

    fn ages(&self) -> Vec<f64> {
        EventLoop::ages(self)
    }

    fn schedule(&mut self) -> Option<Schedule> {
        EventLoop::schedule(self)
    }

    fn violation(&self) -> Option<Error> {
        self.state().violation.clone()
    }
}
