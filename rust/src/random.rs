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
    PhaseType {
        probabilities: Vec<f64>,
        generator: Vec<Vec<f64>>,
    },
    Mixture {
        probabilities: Vec<f64>,
        distributions: Vec<DistributionSpec>,
    },
    Tabulated {
        log_odds: Vec<f64>,
        values: Vec<f64>,
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
    /// Cumulated probabilities of the first phase, and the phases.
    PhaseType(Vec<f64>, Vec<Jumps<Option<usize>>>),
    /// Cumulated probabilities and distributions.
    Mixture(Vec<f64>, Vec<Sampler>),
    /// Log-odds; the logarithm of the value at each, and its slope up to the next.
    Tabulated(Vec<f64>, Vec<(f64, f64)>),
}

/// The jumps of a Markov chain out of one of its states.
#[derive(Clone, Debug)]
pub struct Jumps<T> {
    /// Jumps per second.
    rate: f64,
    cumulated: Vec<f64>,
    to: Vec<T>,
}

impl<T: Copy> Jumps<T> {
    /// Jumps of positive rate; the others are left out.
    fn new(rates: impl Iterator<Item = (f64, T)>) -> Self {
        let (rates, to): (Vec<f64>, Vec<T>) = rates.filter(|&(rate, _)| rate > 0.0).unzip();
        Self { rate: rates.iter().sum(), cumulated: cumulated(&rates), to }
    }

    /// The time until the next jump, infinite if there is none, and where it leads.
    #[inline]
    fn next(&self, rng: &mut Stream) -> (f64, Option<T>) {
        if self.to.is_empty() {
            return (f64::INFINITY, None);
        }
        let time = exponential(rng) / self.rate;
        (time, Some(self.to[pick(&self.cumulated, uniform(rng))]))
    }
}

/// Checks that a matrix has as many rows and columns as needed.
fn square(name: &'static str, rows: &[Vec<f64>], size: usize) -> Result<(), Error> {
    if size == 0 || rows.len() != size || rows.iter().any(|row| row.len() != size) {
        return Err(Error::argument(name, rows, format!("a matrix of {size} x {size} rates, at least 1 x 1")));
    }
    Ok(())
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
            DistributionSpec::PhaseType { probabilities, generator } => {
                square("generator", generator, probabilities.len())?;
                let phase = |(i, row): (usize, &Vec<f64>)| {
                    let ends = (-row.iter().sum::<f64>(), None);
                    let others = row.iter().enumerate().filter(|&(j, _)| j != i);
                    Jumps::new(std::iter::once(ends).chain(others.map(|(j, &rate)| (rate, Some(j)))))
                };
                Self::PhaseType(cumulated(probabilities), generator.iter().enumerate().map(phase).collect())
            }
            DistributionSpec::Mixture { probabilities, distributions } => {
                if probabilities.len() != distributions.len() || probabilities.is_empty() {
                    return Err(invalid("given with as many probabilities as distributions, at least one".into()));
                }
                let samplers = distributions.iter().map(Self::new).collect::<Result<_, _>>()?;
                Self::Mixture(cumulated(probabilities), samplers)
            }
            DistributionSpec::Tabulated { log_odds, values } => {
                if log_odds.len() != values.len() || log_odds.len() < 2 {
                    return Err(invalid("given with as many values as log-odds, at least two".into()));
                }
                let pairs = log_odds.windows(2).zip(values.windows(2));
                let parts = pairs.map(|(z, x)| (x[0].ln(), (x[1].ln() - x[0].ln()) / (z[1] - z[0])));
                Self::Tabulated(log_odds[..log_odds.len() - 1].to_vec(), parts.collect())
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
            Self::PhaseType(..) | Self::Mixture(..) | Self::Tabulated(..) => self.draw_composite(rng),
        }
    }

    /// One draw, outside the code that is inlined into the loops.
    #[inline(never)]
    fn draw_composite(&self, rng: &mut Stream) -> f64 {
        match self {
            Self::PhaseType(cumulated, phases) => {
                let (mut total, mut phase) = (0.0, pick(cumulated, uniform(rng)));
                loop {
                    let (time, next) = phases[phase].next(rng);
                    total += time;
                    match next.flatten() {
                        Some(other) => phase = other,
                        None => return total,
                    }
                }
            }
            Self::Mixture(cumulated, samplers) => samplers[pick(cumulated, uniform(rng))].draw(rng),
            Self::Tabulated(log_odds, parts) => {
                // with survival probability e^-t, t exponential, the odds of not exceeding are e^t - 1
                let z = exponential(rng).exp_m1().ln();
                let part = log_odds.partition_point(|&each| each <= z).saturating_sub(1);
                let (log, slope) = parts[part];
                (log + slope * (z - log_odds[part])).exp()
            }
            simple => simple.draw(rng),
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
    Map { d0: Vec<Vec<f64>>, d1: Vec<Vec<f64>> },
    Batch { batches: Box<Process>, jobs: DistributionSpec },
    Piecewise { rates: Vec<f64>, durations: Vec<f64> },
    Given { times: Vec<f64>, period: f64 },
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
    /// Jumps of the modulating chain: the state they lead to, and whether a job arrives; `phase` is the state.
    Markov {
        states: Vec<Jumps<(usize, bool)>>,
        phase: usize,
    },
    /// `left` jobs of a batch have not arrived yet.
    Batch {
        batches: Box<Arrivals>,
        jobs: Sampler,
        left: u64,
    },
    /// Rates, and the times at which they end in the first cycle; `piece` is the current one, of the cycle that began
    /// at `origin`.
    Piecewise {
        rates: Vec<f64>,
        ends: Vec<f64>,
        piece: usize,
        origin: f64,
    },
    /// `next` is the number of the next arrival in the cycle that began at `origin`.
    Given {
        times: Vec<f64>,
        period: f64,
        next: usize,
        origin: f64,
    },
}

impl Arrivals {
    /// Starts the process at time 0; a modulated one in its first state (the warm-up removes the effect).
    pub fn new(process: &Process) -> Result<Self, Error> {
        let state = match process {
            Process::Poisson { rate } => ProcessState::Poisson { mean: 1.0 / rate },
            Process::Renewal { interarrival } => ProcessState::Renewal { gap: Sampler::new(interarrival)? },
            Process::Mmpp { rates, switching } => {
                square("switching", switching, rates.len())?;
                let state = |(i, row): (usize, &Vec<f64>)| {
                    let others = row.iter().enumerate().filter(|&(j, _)| j != i);
                    let arrival = std::iter::once((rates[i], (i, true)));
                    Jumps::new(arrival.chain(others.map(|(j, &rate)| (rate, (j, false)))))
                };
                ProcessState::Markov { states: switching.iter().enumerate().map(state).collect(), phase: 0 }
            }
            Process::Map { d0, d1 } => {
                square("d0", d0, d0.len())?;
                square("d1", d1, d0.len())?;
                let state = |(i, (hidden, arriving)): (usize, (&Vec<f64>, &Vec<f64>))| {
                    let jobs = arriving.iter().enumerate().map(|(j, &rate)| (rate, (j, true)));
                    let others = hidden.iter().enumerate().filter(|&(j, _)| j != i);
                    Jumps::new(jobs.chain(others.map(|(j, &rate)| (rate, (j, false)))))
                };
                ProcessState::Markov { states: d0.iter().zip(d1).enumerate().map(state).collect(), phase: 0 }
            }
            Process::Batch { batches, jobs } => {
                ProcessState::Batch { batches: Box::new(Self::new(batches)?), jobs: Sampler::new(jobs)?, left: 0 }
            }
            Process::Piecewise { rates, durations } => {
                if rates.len() != durations.len() || rates.iter().all(|&rate| rate <= 0.0) {
                    return Err(Error::argument("rates", rates, "one for each duration, at least one above 0"));
                }
                let mut end = 0.0;
                let ends = durations.iter().map(|duration| {
                    end += duration;
                    end
                });
                ProcessState::Piecewise { rates: rates.clone(), ends: ends.collect(), piece: 0, origin: 0.0 }
            }
            Process::Given { times, period } => {
                if times.is_empty() {
                    return Err(Error::argument("times", times, "at least one"));
                }
                ProcessState::Given { times: times.clone(), period: *period, next: 0, origin: 0.0 }
            }
        };
        Ok(Self { state, now: 0.0 })
    }

    /// Time of the next arrival (infinite if a modulated process has no further arrivals).
    pub fn advance(&mut self, rng: &mut Stream) -> f64 {
        match &mut self.state {
            ProcessState::Poisson { mean } => self.now += *mean * exponential(rng),
            ProcessState::Renewal { gap } => self.now += gap.draw(rng),
            ProcessState::Markov { states, phase } => loop {
                let (time, next) = states[*phase].next(rng);
                self.now += time;
                let Some((to, arrives)) = next else { break };
                *phase = to;
                if arrives {
                    break;
                }
            },
            ProcessState::Batch { batches, jobs, left } => {
                if *left == 0 {
                    self.now = batches.advance(rng);
                    *left = (jobs.draw(rng) as u64).max(1);
                }
                *left -= 1;
            }
            // the integral of the rate between two arrivals is exponential
            ProcessState::Piecewise { rates, ends, piece, origin } => {
                let mut integral = exponential(rng);
                loop {
                    let (rate, end) = (rates[*piece], *origin + ends[*piece]);
                    let area = rate * (end - self.now);
                    if integral < area {
                        self.now += integral / rate;
                        break;
                    }
                    integral -= area.max(0.0);
                    self.now = end;
                    *piece += 1;
                    if *piece == ends.len() {
                        (*piece, *origin) = (0, end);
                    }
                }
            }
            ProcessState::Given { times, period, next, origin } => {
                self.now = *origin + times[*next];
                *next += 1;
                if *next == times.len() {
                    (*next, *origin) = (0, *origin + *period);
                }
            }
        }
        self.now
    }
}
