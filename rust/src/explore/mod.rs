//! All states of a system under a policy within a region, and the transitions between them: the Markov chain of Poisson
//! arrivals and exponential sizes, explored by asking the policy what starts after each event in each state.
//!
//! Two reductions avoid a state for each order of arrival. Under a policy with a *window* only the jobs in the window have a
//! class; the jobs behind it are a count, and the class of a job is drawn when it enters the window. That is exact: the class
//! of a job is independent of all events before it enters the window. Other policies say which orders have the same future
//! ([`Policy::forget_order`]).

mod chain_stepper;

use std::hash::Hasher;

use hashbrown::HashTable;
use rustc_hash::FxHasher;

use crate::error::Error;
use crate::policy::{Costs, Policy, PolicyVisitor, Preemptive, Sight};
use crate::system::System;
use chain_stepper::ChainStepper;

/// Settings of an exploration.
#[derive(Clone, Debug)]
pub struct ExplorationSettings {
    /// Jobs may be present as long as `sum weights[class] * number <= 1` in each row; one more weight is for those behind
    /// the window.
    pub region: Vec<Vec<f64>>,
    /// Share of each class among the arrivals.
    pub shares: Vec<f64>,
    /// Each order of arrival is a state of its own, whatever the policy forgets.
    pub every_order: bool,
}

/// The transitions: those out of state `i` are `ends[i - 1]..ends[i]`.
#[derive(Clone, Debug, Default)]
pub struct Transitions {
    /// One number a state.
    pub ends: Vec<u64>,
    /// The state that follows.
    pub to: Vec<u32>,
    /// Class that arrives; or classes + class that completes; or 2 classes: any, behind the window.
    pub event: Vec<u32>,
    /// Probability of what was drawn; empty unless there is a window.
    pub share: Vec<f64>,
}

/// Numbers of the jobs in a state, `states x classes`, by row; `behind` one a state.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    /// Waiting, of known class.
    pub waiting: Vec<u32>,
    /// In service.
    pub running: Vec<u32>,
    /// Behind the window, of unknown class.
    pub behind: Vec<u32>,
}

/// An exploration, breadth first from the empty state.
pub trait Explore: Send + Sync {
    /// Explores this many more states; false if all states are explored.
    fn advance(&mut self, states: usize) -> Result<bool, Error>;
    /// States known, and explored.
    fn progress(&self) -> (usize, usize);
    /// The transitions, returned once.
    fn take_transitions(&mut self) -> Transitions;
    /// The jobs in each state known.
    fn counts(&self) -> Counts;
}

/// The states known, as words in a row: jobs in service and waiting per class, jobs behind the window, the policy's state
/// and its length, the order of arrival.
#[derive(Default)]
struct StateTable {
    words: Vec<u32>,
    starts: Vec<usize>,
    index: HashTable<u32>,
}

fn hash(words: &[u32]) -> u64 {
    let mut hasher = FxHasher::default();
    for &word in words {
        hasher.write_u32(word);
    }
    hasher.finish()
}

impl StateTable {
    fn state(&self, at: usize) -> &[u32] {
        let end = self.starts.get(at + 1).copied().unwrap_or(self.words.len());
        &self.words[self.starts[at]..end]
    }

    /// Number of a state, which is a new one if it is not known.
    fn place(&mut self, state: &[u32]) -> u32 {
        let hashed = hash(state);
        if let Some(&at) = self.index.find(hashed, |&at| self.state(at as usize) == state) {
            return at;
        }
        let at = self.starts.len() as u32;
        self.starts.push(self.words.len());
        self.words.extend_from_slice(state);
        let (words, starts) = (&self.words, &self.starts);
        let again = |&at: &u32| {
            let end = starts.get(at as usize + 1).copied().unwrap_or(words.len());
            hash(&words[starts[at as usize]..end])
        };
        self.index.insert_unique(hashed, at, again);
        at
    }
}

/// An exploration of a policy.
struct Exploration<P> {
    stepper: ChainStepper<P>,
    settings: ExplorationSettings,
    table: StateTable,
    transitions: Transitions,
    explored: usize,
    /// Scratch: the state explored, and a state reached.
    here: Vec<u32>,
    there: Vec<u32>,
}

impl<P: Policy> Exploration<P> {
    fn new(system: &System, policy: P, settings: ExplorationSettings) -> Self {
        let mut stepper = ChainStepper::new(system, policy, &settings);
        let mut table = StateTable::default();
        let mut there = Vec::new();
        stepper.write(&mut there);
        table.place(&there);
        Self { stepper, settings, table, transitions: Transitions::default(), explored: 0, here: Vec::new(), there }
    }

    /// Whether one more job of a class (or behind the window) is within the region.
    fn has_room(&self, class: usize) -> bool {
        self.settings.region.iter().all(|weights| {
            let sum: f64 =
                weights.iter().enumerate().map(|(class, &w)| w * f64::from(self.stepper.present(class))).sum();
            sum + weights[class] <= 1.0 + 1e-9
        })
    }

    fn explore(&mut self) -> Result<(), Error> {
        let classes = self.settings.shares.len();
        self.here.clear();
        self.here.extend_from_slice(self.table.state(self.explored));
        self.stepper.read(&self.here)?;
        let open: Vec<bool> = (0..=classes).map(|class| self.has_room(class)).collect();
        if self.stepper.is_full() {
            if open[classes] {
                self.stepper.arrive_behind();
                self.record(2 * classes, 1.0);
            }
        } else {
            for class in (0..classes).filter(|&class| open[class]) {
                self.stepper.read(&self.here)?;
                self.stepper.enter(class as u32);
                self.settle(class, 1.0)?;
            }
        }
        for class in 0..classes {
            if self.here[class] > 0 {
                self.stepper.read(&self.here)?;
                self.stepper.complete(class as u32);
                self.settle(classes + class, 1.0)?;
            }
        }
        self.transitions.ends.push(self.transitions.to.len() as u64);
        self.explored += 1;
        Ok(())
    }

    /// Starts the jobs that the policy chooses; a job that enters the window may be of any class.
    fn settle(&mut self, event: usize, share: f64) -> Result<(), Error> {
        while self.stepper.start_one()? {
            if !self.stepper.may_reveal() {
                continue;
            }
            for class in 0..self.settings.shares.len() {
                let kept = self.stepper.clone();
                self.stepper.reveal(class as u32);
                self.settle(event, share * self.settings.shares[class])?;
                self.stepper = kept;
            }
            return Ok(());
        }
        self.stepper.check_asleep()?;
        self.record(event, share);
        Ok(())
    }

    fn record(&mut self, event: usize, share: f64) {
        self.stepper.write(&mut self.there);
        self.transitions.to.push(self.table.place(&self.there));
        self.transitions.event.push(event as u32);
        if self.stepper.has_window() {
            self.transitions.share.push(share);
        }
    }
}

impl<P: Policy> Explore for Exploration<P> {
    fn advance(&mut self, states: usize) -> Result<bool, Error> {
        for _ in 0..states {
            if self.explored == self.table.starts.len() {
                return Ok(false);
            }
            self.explore()?;
        }
        Ok(self.explored < self.table.starts.len())
    }

    fn progress(&self) -> (usize, usize) {
        (self.table.starts.len(), self.explored)
    }

    fn take_transitions(&mut self) -> Transitions {
        std::mem::take(&mut self.transitions)
    }

    fn counts(&self) -> Counts {
        let classes = self.settings.shares.len();
        let mut counts = Counts::default();
        for at in 0..self.table.starts.len() {
            let state = self.table.state(at);
            counts.running.extend_from_slice(&state[..classes]);
            counts.waiting.extend_from_slice(&state[classes..2 * classes]);
            counts.behind.push(state[2 * classes]);
        }
        counts
    }
}

/// Builds an exploration for the concrete policy type.
pub struct ExplorationBuilder<'a> {
    /// The system.
    pub system: &'a System,
    /// The settings.
    pub settings: ExplorationSettings,
    /// The policy declares that it uses individual jobs, but is known not to.
    pub trusted: bool,
}

impl PolicyVisitor for ExplorationBuilder<'_> {
    type Output = Result<Box<dyn Explore>, Error>;

    fn visit<P: Policy + 'static>(self, policy: P) -> Self::Output {
        if P::RANDOM {
            return Err(Error::Unsupported("draws random numbers, which are not part of its states"));
        }
        let single = policy.sight() == Sight::Jobs && policy.remembers_order() && policy.window().is_none();
        if single && !self.trusted {
            return Err(Error::Unsupported("uses individual jobs, so its states cannot be enumerated"));
        }
        Ok(Box::new(Exploration::new(self.system, policy, self.settings)))
    }

    fn visit_preemptive<P: Preemptive + 'static>(self, _: P, _: Option<Costs>) -> Self::Output {
        Err(Error::Unsupported("is preemptive"))
    }
}
