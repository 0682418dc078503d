//! Preemptible jobs on the servers that all other jobs leave free.
//!
//! The servers left are given for all times, so the other jobs never notice the preemptible ones. At each instant, in this
//! order: jobs complete; while the jobs in service need more servers than are left, the one that started last is stopped;
//! jobs arrive; the oldest waiting job that fits starts, again and again. A stopped job waits at its place in the order of
//! arrival. It loses its work and starts again from the beginning, or keeps it and continues.

use std::collections::BTreeSet;
use std::iter::Peekable;
use std::vec;

use super::{Arrival, Source, Trace};
use crate::calendar::Calendar;
use crate::station::Heads;

/// A run of a job that was stopped: job, start and end in seconds.
pub type StoppedRun = (u64, f64, f64);

#[derive(Clone, Copy, Debug)]
struct Job {
    arrival: Arrival,
    start: f64,
    stamp: u32,
}

/// Stamp of a job that is not in service.
const WAITING: u32 = 0;

/// One run.
#[derive(Debug)]
pub struct Leftover {
    source: Source,
    /// Servers that jobs of each class need, ascending.
    needs: Vec<u32>,
    /// Servers left from each time on; of several entries at one time, each must be kept to, and the last one holds.
    left: Peekable<vec::IntoIter<(f64, u32)>>,
    capacity: u32,
    /// Whether stopped jobs keep their work.
    keeps_work: bool,
    used: u32,
    /// Jobs in the order in which the source released them.
    jobs: Vec<Job>,
    waiting: Vec<BTreeSet<u64>>,
    heads: Heads,
    calendar: Calendar,
    /// Number and stamp of the jobs in service in the order of their starts, among those of runs that are over.
    started: Vec<(u64, u32)>,
    in_service: usize,
    /// Start of the run in which each job of the trace completes, seconds.
    pub start: Vec<f64>,
    /// Its end.
    pub end: Vec<f64>,
    /// Runs that were stopped, in order of their ends.
    pub stopped: Vec<StoppedRun>,
}

impl Leftover {
    /// Nothing has happened. All jobs must fit on the servers that are left at last.
    pub fn new(trace: Trace, needs: Vec<u32>, servers: u32, left: Vec<(f64, u32)>, keeps_work: bool) -> Self {
        let jobs = trace.arrival.len();
        Self {
            source: Source::Trace { trace, next: 0 },
            waiting: vec![BTreeSet::new(); needs.len()],
            heads: Heads::new(needs.len()),
            needs,
            left: left.into_iter().peekable(),
            capacity: servers,
            keeps_work,
            used: 0,
            jobs: Vec::with_capacity(jobs),
            calendar: Calendar::default(),
            started: Vec::new(),
            in_service: 0,
            start: vec![f64::NAN; jobs],
            end: vec![f64::NAN; jobs],
            stopped: Vec::new(),
        }
    }

    /// Continues for a number of instants; false if nothing is left to do.
    pub fn advance(&mut self, instants: u32) -> bool {
        (0..instants).all(|_| self.step())
    }

    fn step(&mut self) -> bool {
        let change = self.left.peek().map_or(f64::INFINITY, |&(time, _)| time);
        let now = self.next_completion().min(self.source.next_time()).min(change);
        if now == f64::INFINITY {
            return false;
        }
        while self.next_completion() <= now {
            let Some((slot, _)) = self.calendar.pop(|_| ()) else { break };
            self.complete(u64::from(slot), now);
        }
        while let Some((_, servers)) = self.left.next_if(|&(time, _)| time <= now) {
            self.capacity = servers;
            while self.used > servers
                && let Some((number, stamp)) = self.started.pop()
            {
                if self.jobs[number as usize].stamp == stamp {
                    self.stop(number, now);
                }
            }
        }
        while let Some(job) = self.source.release() {
            self.arrive(job);
        }
        while self.source.next_time() <= now {
            if let Some(job) = self.source.take() {
                self.arrive(job);
            }
        }
        while let Some(class) = self.oldest_fitting() {
            self.serve(class, now);
        }
        if self.calendar.len().max(self.started.len()) > 2 * self.in_service + 64 {
            let jobs = &self.jobs;
            self.calendar.retain(|slot, stamp| jobs[slot as usize].stamp == stamp);
            self.started.retain(|&(number, stamp)| jobs[number as usize].stamp == stamp);
        }
        true
    }

    /// Drops the entries of runs that were stopped.
    fn next_completion(&mut self) -> f64 {
        while let Some((slot, stamp)) = self.calendar.peek() {
            if self.jobs[slot as usize].stamp == stamp {
                break;
            }
            self.calendar.pop(|_| ());
        }
        self.calendar.next_time()
    }

    fn arrive(&mut self, arrival: Arrival) {
        let number = self.jobs.len() as u64;
        self.jobs.push(Job { arrival, start: f64::NAN, stamp: WAITING });
        self.wait(number, arrival.class);
    }

    fn wait(&mut self, number: u64, class: u32) {
        self.waiting[class as usize].insert(number);
        self.set_head(class);
    }

    fn set_head(&mut self, class: u32) {
        let head = self.waiting[class as usize].first();
        self.heads.set(class, head.copied().unwrap_or(Heads::NONE));
    }

    /// The class of the oldest waiting job that fits.
    fn oldest_fitting(&self) -> Option<u32> {
        let free = self.capacity - self.used;
        self.heads.oldest(0, self.needs.partition_point(|&need| need <= free))
    }

    fn serve(&mut self, class: u32, now: f64) {
        let Some(number) = self.waiting[class as usize].pop_first() else { return };
        self.set_head(class);
        let job = &mut self.jobs[number as usize];
        job.start = now;
        job.stamp = self.calendar.push(now + job.arrival.size, number as u32);
        self.started.push((number, job.stamp));
        self.used += self.needs[class as usize];
        self.in_service += 1;
    }

    /// Ends a run; returns the job.
    fn leave(&mut self, number: u64) -> Job {
        let job = &mut self.jobs[number as usize];
        job.stamp = WAITING;
        self.used -= self.needs[job.arrival.class as usize];
        self.in_service -= 1;
        *job
    }

    fn complete(&mut self, number: u64, now: f64) {
        let job = self.leave(number);
        self.source.complete(number);
        let place = self.source.number(number) as usize;
        (self.start[place], self.end[place]) = (job.start, now);
    }

    fn stop(&mut self, number: u64, now: f64) {
        let job = self.leave(number);
        self.stopped.push((self.source.number(number), job.start, now));
        if self.keeps_work {
            self.jobs[number as usize].arrival.size = (job.arrival.size - (now - job.start)).max(0.0);
        }
        self.wait(number, job.arrival.class);
    }
}
