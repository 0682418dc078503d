//! Durations of the phases of a policy.

/// Phases of MSFQ: an empty system, then the four phases of the paper.
pub const PHASES: [&str; 5] = ["empty", "heavies", "lights_full", "lights", "drain"];
/// Columns of a phase, which follow those of the system: completed phases, sum and sum of squares of their durations.
pub const PHASE_COLUMNS: [&str; 3] = ["visits", "duration", "duration_squared"];

#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    count: u64,
    sum: f64,
    square: f64,
}

/// The current phase and the durations of completed ones; the policy changes the phase.
#[derive(Clone, Debug)]
pub struct Phases {
    current: usize,
    since: f64,
    tallies: [Tally; PHASES.len()],
}

impl Phases {
    /// Numbers in a row.
    pub const WIDTH: usize = PHASES.len() * PHASE_COLUMNS.len();

    /// Starts in a phase at time 0.
    pub fn new(phase: usize) -> Self {
        Self { current: phase, since: 0.0, tallies: [Tally::default(); PHASES.len()] }
    }

    /// The current phase.
    #[inline]
    pub fn current(&self) -> usize {
        self.current
    }

    /// A phase ends, another begins.
    #[inline]
    pub fn enter(&mut self, phase: usize, now: f64) {
        let (duration, tally) = (now - self.since, &mut self.tallies[self.current]);
        tally.count += 1;
        tally.sum += duration;
        tally.square += duration * duration;
        self.current = phase;
        self.since = now;
    }

    /// Restores a phase; no duration is counted.
    pub fn reset(&mut self, phase: usize, now: f64) {
        self.current = phase;
        self.since = now;
    }

    /// Forgets the durations counted.
    pub fn clear(&mut self) {
        self.tallies = [Tally::default(); PHASES.len()];
    }

    /// The durations counted.
    pub fn row(&self) -> impl Iterator<Item = f64> {
        self.tallies.iter().flat_map(|t| [t.count as f64, t.sum, t.square])
    }
}
