//! Estimates of the jobs of a trace by the run times of earlier jobs of their users.
//!
//! The estimate of a job is the mean size of the last two jobs of its user that have completed when it arrives, or the size
//! of the only one, and at most the time that the user requested. A job in service that outlives its estimate gets a longer
//! one at the next instant, by ever longer steps, up to the requested time. Source: Tsafrir, Etsion, Feitelson,
//! "Backfilling using system-generated predictions rather than user runtime estimates", IEEE Trans. Parallel Distrib.
//! Syst. 18 (2007).

use std::collections::BTreeSet;

use crate::book::Slot;

const MINUTE: f64 = 60.0;
const HOUR: f64 = 60.0 * MINUTE;

/// Seconds by which an estimate is raised, the first time, the second time and so on; the last step is repeated.
const STEPS: [f64; 11] = [
    MINUTE,
    5.0 * MINUTE,
    15.0 * MINUTE,
    30.0 * MINUTE,
    HOUR,
    2.0 * HOUR,
    5.0 * HOUR,
    10.0 * HOUR,
    20.0 * HOUR,
    50.0 * HOUR,
    100.0 * HOUR,
];

/// The jobs of a trace and what is known of them.
#[derive(Clone, Debug)]
pub struct Predictions {
    /// User of each job; `u32::MAX` if the user is not known.
    users: Vec<u32>,
    /// Requested time of each job, seconds; infinite if it is not known.
    requested: Vec<f64>,
    /// How often the estimate of each job was raised.
    raises: Vec<u8>,
    /// Per user, the sizes of the last job completed and of the one before, seconds; none is nan.
    last: Vec<[f64; 2]>,
    /// Estimated ends of the jobs in service (bits of seconds, which are in the order of their values).
    ends: BTreeSet<(u64, Slot)>,
    /// Jobs with a prediction so far.
    made: u64,
}

impl Predictions {
    /// No job has arrived.
    pub fn new(users: Vec<u32>, requested: Vec<f64>) -> Self {
        let known = users.iter().filter(|&&user| user != u32::MAX).map(|&user| user as usize + 1);
        let last = vec![[f64::NAN; 2]; known.max().unwrap_or(0)];
        Self { raises: vec![0; users.len()], users, requested, last, ends: BTreeSet::new(), made: 0 }
    }

    /// The estimate of a job that arrives, seconds; None if no job of its user has completed.
    pub fn estimate(&mut self, job: u64) -> Option<f64> {
        let &[last, previous] = self.last.get(self.users[job as usize] as usize)?;
        let mean = if previous.is_nan() { last } else { f64::midpoint(last, previous) };
        if mean.is_nan() {
            return None;
        }
        self.made += 1;
        Some(mean.min(self.requested[job as usize]))
    }

    /// The number of jobs with a prediction.
    pub fn made(&self) -> u64 {
        self.made
    }

    /// A job has started, or has another estimated end, seconds.
    pub fn started(&mut self, slot: Slot, end: f64) {
        self.ends.insert((end.to_bits(), slot));
    }

    /// A job has completed.
    pub fn completed(&mut self, slot: Slot, job: u64, end: f64, size: f64) {
        self.ends.remove(&(end.to_bits(), slot));
        if let Some(last) = self.last.get_mut(self.users[job as usize] as usize) {
            *last = [size, last[0]];
        }
    }

    /// A job whose estimated end is past, returned once.
    pub fn outlived(&mut self, now: f64) -> Option<Slot> {
        let first = *self.ends.first().filter(|&&(end, _)| f64::from_bits(end) <= now)?;
        self.ends.remove(&first);
        Some(first.1)
    }

    /// The next estimate of a job, seconds; None if the present one is the requested time.
    pub fn raised(&mut self, job: u64, estimate: f64) -> Option<f64> {
        let (raises, requested) = (&mut self.raises[job as usize], self.requested[job as usize]);
        let step = STEPS[usize::from(*raises).min(STEPS.len() - 1)];
        *raises = raises.saturating_add(1);
        (estimate < requested).then(|| requested.min(estimate + step))
    }
}
