//! The random numbers of a policy, from a separate stream: the jobs do not depend on what the policy draws.

use crate::error::Error;
use crate::policy::Parameters;
use crate::random::{self, Stream, streams};

/// Source of the random numbers.
#[derive(Clone)]
pub enum RandomNumbers {
    /// None yet: the engine sets the stream.
    Unseeded,
    /// A stream.
    Stream(Stream),
    /// A list of numbers, repeated (with the position of the next one), for tests.
    Script(Vec<f64>, usize),
}

impl RandomNumbers {
    /// Unseeded, unless the description holds a script.
    pub fn new(parameters: &Parameters<'_>) -> Result<Self, Error> {
        match parameters.get::<Option<Vec<f64>>>("script")? {
            None => Ok(Self::Unseeded),
            Some(script) if script.iter().all(|&x| x > 0.0) && !script.is_empty() => Ok(Self::Script(script, 0)),
            Some(script) => Err(Error::argument("script", script, "one or more positive numbers")),
        }
    }

    /// Sets the stream of a seed and a replication, after the streams of the jobs.
    pub fn seed(&mut self, (seed, replication): (u64, u32)) {
        if matches!(self, Self::Unseeded) {
            let [_, _, _, stream] = streams(seed, replication);
            *self = Self::Stream(stream);
        }
    }

    fn draw(&mut self, from: impl FnOnce(&mut Stream) -> f64) -> f64 {
        match self {
            Self::Unseeded => f64::INFINITY,
            Self::Stream(stream) => from(stream),
            Self::Script(script, place) => {
                let drawn = script[*place];
                *place = (*place + 1) % script.len();
                drawn
            }
        }
    }

    /// An exponential of mean 1.
    pub fn exponential(&mut self) -> f64 {
        self.draw(random::exponential)
    }

    /// A uniform number in [0, 1).
    pub fn uniform(&mut self) -> f64 {
        self.draw(random::uniform)
    }
}
