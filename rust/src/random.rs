//! Random streams, distributions and arrival processes.

use crate::error::Error;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Exp1, Gamma, LogNormal, Pareto, Weibull};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::Deserialize;

/// The generator of every stream.
pub type Stream = Xoshiro256PlusPlus;

/// Streams of one replication: far apart (2^192 draws between replications, 2^128 between streams), so they never overlap.
pub fn streams<const N: usize>(seed: u64, replication: u32) -> [Stream; N] {
    let mut root = Stream::seed_from_u64(seed);
    for _ in 0..replication {
        root.long_jump();
    }
    std::array::from_fn(|_| {
        let stream = root.clone();
        root.jump();
        stream
    })
}

/// An exponential of mean 1 (ziggurat).
#[inline]
pub fn exponential(rng: &mut Stream) -> f64 {
    Exp1.sample(rng)
}

/// A uniform number in [0, 1).
#[inline]
pub fn uniform(rng: &mut Stream) -> f64 {
    rng.random()
}

/// Distribution of a job size or of the time between two arrivals, by its natural parameters.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "distribution", rename_all = "snake_case", deny_unknown_fields)]
#[allow(missing_docs, reason = "the parameters are those of the model file and documented there")]
pub enum DistributionSpec {
    Exponential {
        mean: f64,
    },
    Deterministic {
        value: f64,
    },
    Uniform {
        low: f64,
        high: f64,
    },
    Erlang {
        phases: u32,
        mean: f64,
    },
    Gamma {
        shape: f64,
        scale: f64,
    },
    Hyperexponential {
        probabilities: Vec<f64>,
        rates: Vec<f64>,
    },
    #[serde(rename = "lognormal")]
    LogNormal {
        mu: f64,
        sigma: f64,
    },
    Weibull {
        shape: f64,
        scale: f64,
    },
    Pareto {
        shape: f64,
        scale: f64,
    },
    BoundedPareto {
        shape: f64,
        low: f64,
        high: f64,
    },
    Empirical {
        values: Vec<f64>,
        weights: Vec<f64>,
    },
}

/// A distribution prepared for drawing.
#[derive(Clone, Debug)]
pub enum Sampler {
    /// Mean.
    Exponential(f64),
    /// Value.
    Deterministic(f64),
    /// Low end and width.
    Uniform(f64, f64),
    /// Gamma, Erlang.
    Gamma(Gamma<f64>),
    /// Cumulated probabilities and means of the phases.
    Hyperexponential(Vec<f64>, Vec<f64>),
    /// Lognormal.
    LogNormal(LogNormal<f64>),
    /// Weibull.
    Weibull(Weibull<f64>),
    /// Pareto.
    Pareto(Pareto<f64>),
    /// low^-a, high^-a, -1/a.
    BoundedPareto(f64, f64, f64),
    /// Cumulated probabilities and values.
    Empirical(Vec<f64>, Vec<f64>),
}

fn cumulated(weights: &[f64]) -> Vec<f64> {
    let total: f64 = weights.iter().sum();
    let mut sum = 0.0;
    weights
        .iter()
        .map(|w| {
            sum += w / total;
            sum
        })
        .collect()
}

fn pick(cumulated: &[f64], u: f64) -> usize {
    cumulated.partition_point(|&c| c <= u).min(cumulated.len() - 1)
}

impl Sampler {
    /// Prepares a distribution; an error names the parameter that is not allowed.
    pub fn new(spec: &DistributionSpec) -> Result<Self, Error> {
        let invalid = |allowed: String| Error::argument("distribution", spec, allowed);
        let positive = |name: &'static str, value: f64| {
            if value.is_finite() && value > 0.0 {
                Ok(value)
            } else {
                Err(Error::argument(name, value, "finite and positive"))
            }
        };
        Ok(match spec {
            DistributionSpec::Exponential { mean } => Self::Exponential(positive("mean", *mean)?),
            DistributionSpec::Deterministic { value } => Self::Deterministic(positive("value", *value)?),
            DistributionSpec::Uniform { low, high } => Self::Uniform(*low, positive("high - low", high - low)?),
            DistributionSpec::Erlang { phases, mean } => {
                let n = f64::from(*phases);
                Self::Gamma(Gamma::new(n, mean / n).map_err(|e| invalid(e.to_string()))?)
            }
            DistributionSpec::Gamma { shape, scale } => {
                Self::Gamma(Gamma::new(*shape, *scale).map_err(|e| invalid(e.to_string()))?)
            }
            DistributionSpec::Hyperexponential { probabilities, rates } => {
                if probabilities.len() != rates.len() || rates.is_empty() {
                    return Err(invalid("given with as many probabilities as rates, at least one".into()));
                }
                let means = rates.iter().map(|&r| positive("rate", r).map(|r| 1.0 / r)).collect::<Result<_, _>>()?;
                Self::Hyperexponential(cumulated(probabilities), means)
            }
            DistributionSpec::LogNormal { mu, sigma } => {
                Self::LogNormal(LogNormal::new(*mu, *sigma).map_err(|e| invalid(e.to_string()))?)
            }
            DistributionSpec::Weibull { shape, scale } => {
                Self::Weibull(Weibull::new(*scale, *shape).map_err(|e| invalid(e.to_string()))?)
            }
            DistributionSpec::Pareto { shape, scale } => {
                Self::Pareto(Pareto::new(*scale, *shape).map_err(|e| invalid(e.to_string()))?)
            }
            DistributionSpec::BoundedPareto { shape, low, high } => {
                let (shape, low) = (positive("shape", *shape)?, positive("low", *low)?);
                positive("high - low", high - low)?;
                Self::BoundedPareto(low.powf(-shape), high.powf(-shape), -1.0 / shape)
            }
            DistributionSpec::Empirical { values, weights } => {
                if values.len() != weights.len() || values.is_empty() {
                    return Err(invalid("given with as many weights as values, at least one".into()));
                }
                Self::Empirical(cumulated(weights), values.clone())
            }
        })
    }

    /// One draw.
    #[inline]
    pub fn draw(&self, rng: &mut Stream) -> f64 {
        match self {
            Self::Exponential(mean) => mean * exponential(rng),
            Self::Deterministic(value) => *value,
            Self::Uniform(low, width) => low + width * uniform(rng),
            Self::Gamma(gamma) => gamma.sample(rng),
            Self::Hyperexponential(cumulated, means) => {
                let phase = pick(cumulated, uniform(rng));
                means[phase] * exponential(rng)
            }
            Self::LogNormal(distribution) => distribution.sample(rng),
            Self::Weibull(distribution) => distribution.sample(rng),
            Self::Pareto(distribution) => distribution.sample(rng),
            // inverse of the distribution function: x^-a is uniform between low^-a and high^-a
            Self::BoundedPareto(low, high, power) => (low - uniform(rng) * (low - high)).powf(*power),
            Self::Empirical(cumulated, values) => values[pick(cumulated, uniform(rng))],
        }
    }
}

/// Arrival process of a class.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "process", rename_all = "snake_case", deny_unknown_fields)]
#[allow(missing_docs, reason = "the parameters are those of the model file and documented there")]
pub enum Process {
    Poisson { rate: f64 },
    Renewal { interarrival: DistributionSpec },
    Mmpp { rates: Vec<f64>, switching: Vec<Vec<f64>> },
}

/// The state of an arrival process, which generates the times of its arrivals.
#[derive(Clone, Debug)]
pub struct Arrivals {
    state: ProcessState,
    now: f64,
}

#[derive(Clone, Debug)]
enum ProcessState {
    Poisson {
        mean: f64,
    },
    Renewal {
        gap: Sampler,
    },
    /// `phase` is the state of the modulating chain.
    Mmpp {
        rates: Vec<f64>,
        switching: Vec<Vec<f64>>,
        phase: usize,
    },
}

impl Arrivals {
    /// Starts the process at time 0; a modulated one in its first phase (the warm-up removes the effect).
    pub fn new(process: &Process) -> Result<Self, Error> {
        let state = match process {
            Process::Poisson { rate } => ProcessState::Poisson { mean: 1.0 / rate },
            Process::Renewal { interarrival } => ProcessState::Renewal { gap: Sampler::new(interarrival)? },
            Process::Mmpp { rates, switching } => {
                let n = rates.len();
                if n == 0 || switching.len() != n || switching.iter().any(|row| row.len() != n) {
                    return Err(Error::argument(
                        "switching",
                        switching,
                        format!("a matrix of {n} x {n} rates, at least 1 x 1"),
                    ));
                }
                let mut switching = switching.clone();
                for (i, row) in switching.iter_mut().enumerate() {
                    row[i] = 0.0;
                }
                ProcessState::Mmpp { rates: rates.clone(), switching, phase: 0 }
            }
        };
        Ok(Self { state, now: 0.0 })
    }

    /// Time of the next arrival (infinite if a modulated process has no further arrivals).
    pub fn advance(&mut self, rng: &mut Stream) -> f64 {
        match &mut self.state {
            ProcessState::Poisson { mean } => self.now += *mean * exponential(rng),
            ProcessState::Renewal { gap } => self.now += gap.draw(rng),
            ProcessState::Mmpp { rates, switching, phase } => loop {
                let leave: f64 = switching[*phase].iter().sum();
                let total = leave + rates[*phase];
                self.now += exponential(rng) / total;
                let mut x = uniform(rng) * total;
                if x < rates[*phase] || !self.now.is_finite() {
                    break;
                }
                x -= rates[*phase];
                let row = &switching[*phase];
                let mut next = *phase;
                for (i, &rate) in row.iter().enumerate() {
                    if rate > 0.0 {
                        next = i;
                        if x < rate {
                            break;
                        }
                        x -= rate;
                    }
                }
                *phase = next;
            },
        }
        self.now
    }
}
