//! The policies, one file each, and the contracts they share.
//!
//! Adding one: a file here, a line in the registry below, a description in Python. A file with data structures of its own is
//! a folder; `shared` contains what several policies use.

mod adaptive_quickswap;
mod balanced_splitting;
mod conservative;
mod divisor_filling;
mod easy;
mod fcfs;
mod first_fit;
mod lsf;
mod max_weight;
mod msf;
mod msfq;
mod nmsr;
mod randomized_timers;
mod server_filling;
mod shared;
mod slurm;
mod smash;
mod static_quickswap;

pub use shared::{Groups, Lines};

use serde_json::{Map, Value};

use crate::book::{Book, Slot};
use crate::counters::Phases;
use crate::error::Error;
use crate::station::Station;
use crate::system::System;

/// What a policy reads: counts, heads of line, and the individual jobs (with their estimates) if it declares their use.
#[derive(Clone, Copy)]
pub struct View<'a> {
    /// Counts per class, and the look-ups by need and age.
    pub station: &'a Station,
    /// The jobs: waiting in order of arrival, in service in order of start. Empty unless the policy's sight is [`Sight::Jobs`].
    pub book: &'a Book,
}

/// How much of the state a policy uses; the engine maintains no more than that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sight {
    /// Numbers waiting and in service per class, free servers.
    Counts,
    /// Also which head of line arrived first.
    Heads,
    /// Also every job present, its estimate, and its place in the order of arrival.
    Jobs,
}

/// Which waiting job starts now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// None.
    Wait,
    /// The head of line of a class.
    Head(u32),
    /// A certain job; only for policies with [`Sight::Jobs`].
    Job(Slot),
    /// The policy failed; it keeps the reason itself.
    Fault,
}

/// A nonpreemptive policy. It is asked after every instant with events, again and again until it answers [`Choice::Wait`].
pub trait Policy: Clone + Send + Sync {
    /// It may set a timer.
    const TIMERS: bool = false;
    /// It is notified of arrivals and starts.
    const HOOKS: bool = false;
    /// It is notified of completions.
    const ENDS: bool = false;
    /// It may admit a job that arrives; see [`Policy::admits`].
    const ADMITS: bool = !Self::HOOKS;
    /// It draws random numbers, so its decisions do not follow from the events alone.
    const RANDOM: bool = false;

    /// Sets the seed and the number of the replication, before the run.
    fn seed(&mut self, _seed: (u64, u32)) {}

    /// The users of the jobs of a trace, numbered from 0, and the parts of their priorities that do not change; both empty
    /// if unknown. Called once, before the run.
    fn attributes(&mut self, _users: &[u32], _priorities: &[f64]) {}

    /// The place in the trace of the job that arrives next, as limits may hold back the jobs before it.
    fn place(&mut self, _place: u64) {}

    /// What it uses of the state. Called once, before the run.
    fn sight(&self) -> Sight {
        Sight::Counts
    }

    /// Whether the future depends on the order of arrival of the jobs that wait, so it belongs to the state.
    fn remembers_order(&self) -> bool {
        self.sight() >= Sight::Heads
    }

    /// Its decisions follow from the jobs in service and this many of the oldest waiting jobs; None if from all of them.
    fn window(&self) -> Option<u64> {
        None
    }

    /// Rearranges the classes of the waiting jobs, oldest first, into one order for all those whose futures have the
    /// same distribution. Called between instants, if the policy remembers the order.
    fn forget_order(&self, _station: &Station, _order: &mut [u32]) {}

    /// Whether a job of a class that arrives now starts, and no other job before it: a shortcut, not used in debug mode.
    /// The hooks are not called for such a job.
    fn admits(&mut self, _station: &Station, _class: u32) -> bool {
        false
    }

    /// Which waiting job starts now?
    fn next(&mut self, view: View<'_>) -> Choice;

    /// A job has arrived (and is counted as waiting). `slot` is its place in the book, if there is one.
    fn arrived(&mut self, _view: View<'_>, _class: u32, _slot: Slot) {}

    /// A job is about to start (and is still counted as waiting).
    fn starting(&mut self, _view: View<'_>, _class: u32, _slot: Slot) {}

    /// Whether its rule lets this waiting job start now, computed independently; called for each answer in debug mode.
    fn permits(&self, _view: View<'_>, _class: u32, _slot: Slot) -> bool {
        true
    }

    /// A job in service has completed (and is still in the book, if there is one, and counted).
    fn ended(&mut self, _view: View<'_>, _class: u32, _slot: Slot) {}

    /// The estimate of a job in service has been raised from `old` seconds; the book has the new one.
    fn corrected(&mut self, _view: View<'_>, _class: u32, _slot: Slot, _old: f64) {}

    /// The time of its timer, seconds: it is asked then even without an event. Read after every instant.
    fn wake_at(&mut self, _view: View<'_>) -> f64 {
        f64::INFINITY
    }

    /// The waiting job for which it keeps servers free, once it has answered [`Choice::Wait`]; `view` has every job.
    fn reserved(&mut self, _view: View<'_>) -> Option<Slot> {
        None
    }

    /// Its phases, if it has any.
    fn phases(&mut self) -> Option<&mut Phases> {
        None
    }

    /// Its own state, as numbers.
    fn save(&self) -> Vec<i64> {
        Vec::new()
    }

    /// Restores a saved state; `view` shows the jobs that go with it, without estimates if these are not known.
    fn restore(&mut self, _state: &[i64], _view: View<'_>) -> Result<(), Error> {
        Ok(())
    }
}

/// A change that a preemptive policy makes to its selection of jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The job is selected from now on.
    Run(Slot),
    /// The job is no longer selected.
    Pause(Slot),
}

/// A preemptive policy: after every instant it selects the jobs that run. In its view the book holds all unfinished jobs in
/// order of arrival, with a lane for each level of need, or for each class. If interruptions have costs, a selected job may
/// have to wait for jobs that were selected before, and a job that is not selected may run on.
pub trait Preemptive: Clone + Send + Sync {
    /// Lanes are classes, not levels of need.
    const LANES_OF_CLASSES: bool = false;

    /// A job has arrived.
    fn arrived(&mut self, view: View<'_>, slot: Slot);

    /// A job has completed (and is still in the book).
    fn completed(&mut self, view: View<'_>, slot: Slot, selected: bool);

    /// The changes to the selection.
    fn serve(&mut self, view: View<'_>, changes: &mut Vec<Change>);

    /// The time at which it selects again even without an event, seconds. Read after every instant.
    fn wake_at(&self, _view: View<'_>) -> f64 {
        f64::INFINITY
    }
}

/// What an interruption costs.
#[derive(Clone, Copy, Debug)]
pub struct Costs {
    /// Time in which a job that resumes holds its servers without progress, seconds.
    pub overhead: f64,
    /// Time for which a job that starts or resumes cannot be interrupted, seconds.
    pub minimum: f64,
    /// An interrupted job loses its progress.
    pub restart: bool,
}

impl Costs {
    /// Of a policy; none if interruptions are free.
    fn of(parameters: &Parameters<'_>) -> Result<Option<Self>, Error> {
        let Some(costs) = parameters.nested("interruptions")? else { return Ok(None) };
        let [overhead, minimum] = [costs.get("overhead")?, costs.get("minimum")?];
        Ok(Some(Self { overhead, minimum, restart: costs.get("restart")? }))
    }
}

/// A visitor of the concrete policy type.
pub trait PolicyVisitor {
    /// Result of a visit.
    type Output;
    /// Visits a nonpreemptive policy.
    fn visit<P: Policy + 'static>(self, policy: P) -> Self::Output;
    /// Visits a preemptive policy.
    fn visit_preemptive<P: Preemptive + 'static>(self, policy: P, costs: Option<Costs>) -> Self::Output;
}

macro_rules! registry {
    ($($name:literal => $build:path,)*) => {
        /// Builds the policy of a canonical description (name and parameters), and passes it to the visitor.
        pub fn dispatch<V: PolicyVisitor>(spec: &Map<String, Value>, system: &System, visitor: V) -> Result<V::Output, Error> {
            match spec.get("name").and_then(Value::as_str) {
                $(Some($name) => $build(&Parameters { spec, system }, visitor),)*
                name => Err(Error::argument("policy name", name.unwrap_or_default(), format!("one of {NAMES:?}"))),
            }
        }

        /// Names of all policies.
        pub const NAMES: &[&str] = &[$($name,)*];
    };
}

registry! {
    "fcfs" => fcfs::build,
    "first-fit" => first_fit::build,
    "msf" => msf::build,
    "lsf" => lsf::build,
    "smash" => smash::build,
    "easy" => easy::build,
    "conservative" => conservative::build,
    "slurm" => slurm::build,
    "nmsr" => nmsr::build,
    "randomized-timers" => randomized_timers::build,
    "balanced-splitting" => balanced_splitting::build,
    "msfq" => msfq::build,
    "static-quickswap" => static_quickswap::build,
    "adaptive-quickswap" => adaptive_quickswap::build,
    "server-filling" => server_filling::build,
    "max-weight" => max_weight::build,
    "divisor-filling" => divisor_filling::build,
}

/// The groups of needs in the description of a policy, if there are any.
pub fn groups(spec: &Map<String, Value>, system: &System) -> Result<Option<Groups>, Error> {
    Groups::of(&Parameters { spec, system })
}

/// The parameters of a policy in its canonical description.
pub struct Parameters<'a> {
    spec: &'a Map<String, Value>,
    system: &'a System,
}

impl Parameters<'_> {
    /// The system it is for.
    pub fn system(&self) -> &System {
        self.system
    }

    /// A parameter, or an error that names it.
    pub fn get<T: serde::de::DeserializeOwned>(&self, key: &'static str) -> Result<T, Error> {
        let value = self.spec.get(key).unwrap_or(&Value::Null);
        T::deserialize(value).map_err(|error| Error::Specification(format!("policy parameter {key}: {error}")))
    }

    /// The parameters that are nested under a key, if there are any.
    fn nested(&self, key: &'static str) -> Result<Option<Parameters<'_>>, Error> {
        match self.spec.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Object(spec)) => Ok(Some(Parameters { spec, system: self.system })),
            Some(given) => Err(Error::argument(key, given, "an object")),
        }
    }

    /// The position of a parameter among its allowed values.
    fn choose<const N: usize>(&self, key: &'static str, allowed: [&str; N]) -> Result<usize, Error> {
        let given: String = self.get(key)?;
        let position = allowed.iter().position(|&each| each == given);
        position.ok_or_else(|| Error::argument(key, given, format!("one of {allowed:?}")))
    }
}
