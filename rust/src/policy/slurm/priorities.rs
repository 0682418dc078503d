//! The priorities of jobs, as a sum of weighted factors, and the usage of their users.

use serde::Deserialize;

use crate::book::Job;

/// The weights of the factors, and what the factors depend on.
#[derive(Clone, Debug, Deserialize)]
pub struct Weights {
    priority_weight_age: f64,
    priority_weight_fairshare: f64,
    priority_weight_job_size: f64,
    /// Seconds after which the age factor is 1.
    priority_max_age: f64,
    /// Seconds in which usage halves; 0 if it does not decay.
    priority_decay_half_life: f64,
    /// Seconds between two recalculations.
    priority_calc_period: f64,
    priority_favor_small: bool,
}

/// What a user holds, and has held.
#[derive(Clone, Copy, Debug, Default)]
struct Usage {
    /// Decayed server-seconds at the last recalculation.
    decayed: f64,
    /// Server-seconds since then, until `since`.
    recent: f64,
    since: f64,
    /// Servers held now.
    held: u32,
}

/// Priorities, by the usage at the last recalculation.
#[derive(Clone, Debug)]
pub struct Priorities {
    weights: Weights,
    servers: f64,
    /// User of each job of a trace, and the constant part of its priority; empty if unknown.
    users: Vec<u32>,
    constants: Vec<f64>,
    /// Place in the trace of each job that has arrived.
    places: Vec<u64>,
    usage: Vec<Usage>,
    total: f64,
    /// Time of the last recalculation, seconds.
    calculated: f64,
}

impl Priorities {
    /// Each class is a user, until the users of the jobs are known.
    pub fn new(weights: Weights, servers: u32, classes: usize) -> Self {
        Self {
            weights,
            servers: f64::from(servers),
            users: Vec::new(),
            constants: Vec::new(),
            places: Vec::new(),
            usage: vec![Usage::default(); classes],
            total: 0.0,
            calculated: 0.0,
        }
    }

    /// The users of the jobs, and the constant parts of their priorities.
    pub fn attributes(&mut self, users: &[u32], constants: &[f64]) {
        if let Some(&last) = users.iter().max() {
            self.usage = vec![Usage::default(); last as usize + 1];
        }
        self.users = users.to_vec();
        self.constants = constants.to_vec();
    }

    /// Number of users.
    pub fn users(&self) -> usize {
        self.usage.len()
    }

    /// The user of a job.
    pub fn user(&self, job: &Job) -> u32 {
        self.attribute(&self.users, job).unwrap_or(job.class)
    }

    /// The place in the trace of a job that arrives; jobs arrive in order of their numbers.
    pub fn place(&mut self, place: u64) {
        if !self.users.is_empty() || !self.constants.is_empty() {
            self.places.push(place);
        }
    }

    fn attribute<T: Copy>(&self, attributes: &[T], job: &Job) -> Option<T> {
        self.places.get(job.number as usize).and_then(|&place| attributes.get(place as usize)).copied()
    }

    /// The priority of a waiting job, a whole number of at least 1.
    pub fn of(&self, job: &Job, need: u32, now: f64) -> u64 {
        let weights = &self.weights;
        let share = f64::from(need) / self.servers;
        let size = if weights.priority_favor_small { 1.0 - share } else { share };
        let age = ((now - job.arrival) / weights.priority_max_age).min(1.0);
        let sum = weights.priority_weight_age * age
            + weights.priority_weight_fairshare * self.fair_share(self.user(job))
            + weights.priority_weight_job_size * size
            + self.attribute(&self.constants, job).unwrap_or(0.0);
        (sum as u64).max(1)
    }

    /// `2^(-U / S)`, where `U` is the user's share of the usage, and `S` the share of a user if all have equal shares: the
    /// classic formula in Slurm's manual.
    fn fair_share(&self, user: u32) -> f64 {
        if self.weights.priority_weight_fairshare == 0.0 || self.total == 0.0 {
            return 1.0;
        }
        let usage = self.usage[user as usize].decayed / self.total;
        (-usage * self.usage.len() as f64).exp2()
    }

    /// Priorities change with time, and a new period has begun since the last recalculation.
    pub fn due(&self, now: f64) -> bool {
        let Weights { priority_weight_age, priority_weight_fairshare, priority_calc_period, .. } = self.weights;
        let period = |time: f64| (time / priority_calc_period).floor();
        (priority_weight_age > 0.0 || priority_weight_fairshare > 0.0) && period(now) > period(self.calculated)
    }

    /// Brings the usage up to date.
    pub fn recalculate(&mut self, now: f64) {
        let half_life = self.weights.priority_decay_half_life;
        let decay = if half_life > 0.0 { (-(now - self.calculated) / half_life).exp2() } else { 1.0 };
        self.calculated = now;
        self.total = 0.0;
        for usage in &mut self.usage {
            usage.settle(now);
            usage.decayed = usage.decayed * decay + usage.recent;
            usage.recent = 0.0;
            self.total += usage.decayed;
        }
    }

    /// A job of the user takes servers.
    pub fn take(&mut self, user: u32, servers: u32, now: f64) {
        let usage = &mut self.usage[user as usize];
        usage.settle(now);
        usage.held += servers;
    }

    /// A job of the user gives servers back.
    pub fn give_back(&mut self, user: u32, servers: u32, now: f64) {
        let usage = &mut self.usage[user as usize];
        usage.settle(now);
        usage.held -= servers;
    }
}

impl Usage {
    fn settle(&mut self, now: f64) {
        self.recent += f64::from(self.held) * (now - self.since);
        self.since = now;
    }
}
