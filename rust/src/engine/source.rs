//! Sources of jobs: random arrival processes, or a trace.

use crate::error::Error;
use crate::random::{Arrivals, Process, Sampler, Stream, exponential, streams};
use crate::station::Heads;
use crate::system::System;

use rand_distr::Distribution;
use rand_distr::weighted::WeightedAliasIndex;

use super::gate::Gate;
use super::service::alias;

/// A job as it arrives.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// Class.
    pub class: u32,
    /// Size, seconds.
    pub size: f64,
    /// Estimated size, seconds.
    pub estimate: f64,
}

/// Jobs in order of arrival.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// Arrival times, seconds, not decreasing.
    pub arrival: Vec<f64>,
    /// Classes.
    pub class: Vec<u32>,
    /// Sizes, seconds.
    pub size: Vec<f64>,
    /// Estimated sizes, seconds.
    pub estimate: Vec<f64>,
    /// Users, numbered from 0; empty if unknown.
    pub user: Vec<u32>,
    /// Parts of the priorities that do not change; empty if unknown.
    pub priority: Vec<f64>,
    /// Limits on the jobs of groups.
    pub gate: Option<Gate>,
}

impl Trace {
    fn job(&self, job: usize) -> Arrival {
        Arrival { class: self.class[job], size: self.size[job], estimate: self.estimate[job] }
    }
}

/// Future jobs. The j-th job is the same under every policy: policies do not draw from these streams.
#[derive(Clone, Debug)]
pub enum Source {
    /// Superposed Poisson processes: one stream for gaps, one for classes, one for sizes. A change of the rate therefore
    /// leaves classes and sizes as they are.
    Poisson {
        /// Time of the next arrival, seconds.
        next: f64,
        /// Mean time between arrivals, seconds.
        gap: f64,
        /// Draws the class.
        classes: WeightedAliasIndex<f64>,
        /// Size distributions per class.
        sizes: Vec<Sampler>,
        /// Gaps, classes, sizes.
        streams: [Stream; 3],
    },
    /// A process for each class.
    General {
        /// Time of the next arrival of each class (bits of seconds, which are in the order of their values).
        next: Heads,
        /// Arrival processes and size distributions per class.
        classes: Vec<(Arrivals, Sampler)>,
        /// Times, sizes.
        streams: [Stream; 2],
    },
    /// Random jobs whose estimates are not their sizes. The stream of the estimates is one more, so all else is as without.
    Estimated {
        /// The jobs.
        jobs: Box<Source>,
        /// Distributions of the ratio of estimate to size per class; none if it is 1.
        ratios: Vec<Option<Sampler>>,
        /// Ratios.
        stream: Stream,
    },
    /// A trace.
    Trace {
        /// Its jobs.
        trace: Trace,
        /// Number of the next job.
        next: usize,
    },
}

impl Source {
    /// Random arrivals, sizes and estimates of a system.
    pub fn random(system: &System, (seed, replication): (u64, u32)) -> Result<Self, Error> {
        let jobs = Self::with_exact_estimates(system, (seed, replication))?;
        if system.classes.iter().all(|class| class.estimate.is_none()) {
            return Ok(jobs);
        }
        let ratios = system.classes.iter().map(|class| class.estimate.as_ref().map(Sampler::new).transpose());
        let [_, _, _, stream] = streams(seed, replication);
        Ok(Self::Estimated { jobs: Box::new(jobs), ratios: ratios.collect::<Result<_, _>>()?, stream })
    }

    fn with_exact_estimates(system: &System, (seed, replication): (u64, u32)) -> Result<Self, Error> {
        let sizes = system.classes.iter().map(|c| Sampler::new(&c.size)).collect::<Result<Vec<_>, _>>()?;
        let rates: Option<Vec<f64>> = system
            .classes
            .iter()
            .map(|c| if let Process::Poisson { rate } = c.arrivals { Some(rate) } else { None })
            .collect();
        if let Some(rates) = rates {
            let mut streams = streams(seed, replication);
            let gap = 1.0 / rates.iter().sum::<f64>();
            let next = gap * exponential(&mut streams[0]);
            let classes = alias(rates.into_iter());
            return Ok(Self::Poisson { next, gap, classes, sizes, streams });
        }
        let mut streams: [Stream; 2] = streams(seed, replication);
        let arrivals = system.classes.iter().map(|c| Arrivals::new(&c.arrivals)).collect::<Result<Vec<_>, _>>()?;
        let mut classes: Vec<_> = arrivals.into_iter().zip(sizes).collect();
        let mut next = Heads::new(classes.len());
        for (class, (process, _)) in classes.iter_mut().enumerate() {
            next.set(class as u32, process.advance(&mut streams[0]).to_bits());
        }
        Ok(Self::General { next, classes, streams })
    }

    /// Time of the next arrival, seconds; infinite if there is none.
    #[inline]
    pub fn next_time(&self) -> f64 {
        match self {
            Self::Poisson { next, .. } => *next,
            Self::General { next, classes, .. } => {
                next.oldest(0, classes.len()).and_then(|class| next.key(class)).map_or(f64::INFINITY, f64::from_bits)
            }
            Self::Estimated { jobs, .. } => jobs.next_time(),
            Self::Trace { trace, next } => trace.arrival.get(*next).copied().unwrap_or(f64::INFINITY),
        }
    }

    /// Takes the next job; none if it is held back.
    #[inline]
    pub fn take(&mut self) -> Option<Arrival> {
        Some(match self {
            Self::Poisson { next, gap, classes, sizes, streams } => {
                *next += *gap * exponential(&mut streams[0]);
                let class = classes.sample(&mut streams[1]);
                let size = sizes[class].draw(&mut streams[2]);
                Arrival { class: class as u32, size, estimate: size }
            }
            Self::General { next, classes, streams } => {
                let class = next.oldest(0, classes.len()).unwrap_or(0);
                let (process, sizes) = &mut classes[class as usize];
                next.set(class, process.advance(&mut streams[0]).to_bits());
                let size = sizes.draw(&mut streams[1]);
                Arrival { class, size, estimate: size }
            }
            Self::Estimated { jobs, ratios, stream } => {
                let job = jobs.take()?;
                let ratio = ratios[job.class as usize].as_mut().map_or(1.0, |ratio| ratio.draw(stream));
                Arrival { estimate: ratio * job.size, ..job }
            }
            Self::Trace { trace, next } => {
                let job = *next;
                *next += 1;
                if trace.gate.as_mut().is_some_and(|gate| !gate.pass(job)) {
                    return None;
                }
                trace.job(job)
            }
        })
    }

    /// Takes the oldest job that is no longer held back.
    #[inline]
    pub fn release(&mut self) -> Option<Arrival> {
        match self {
            Self::Trace { trace, .. } => trace.gate.as_mut()?.release().map(|job| trace.job(job)),
            _ => None,
        }
    }

    /// Notes the completion of the job that was taken as this number.
    #[inline]
    pub fn complete(&mut self, number: u64) {
        if let Self::Trace { trace: Trace { gate: Some(gate), .. }, .. } = self {
            gate.complete(number);
        }
    }

    /// The number in the trace of the job that was taken as this number.
    #[inline]
    pub fn number(&self, taken: u64) -> u64 {
        match self {
            Self::Trace { trace: Trace { gate: Some(gate), .. }, .. } => gate.job(taken) as u64,
            _ => taken,
        }
    }
}
