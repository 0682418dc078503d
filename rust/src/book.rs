//! The book of jobs present: one record a job, chained in the order in which the engines and policies need them.

use std::collections::VecDeque;
use std::hint::black_box;

/// Place of a job in the book.
pub type Slot = u32;

/// No job.
pub const NO_JOB: Slot = u32::MAX;

/// Number of a record that is not in use.
const UNUSED: u64 = u64::MAX;

/// A job in the system: one line of the cache.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub struct Job {
    /// Arrival time, seconds.
    pub arrival: f64,
    /// Size (service duration), seconds. Policies do not use it.
    pub size: f64,
    /// What policies may use, seconds: the estimated size or, in the preemptive engine, the remaining size at `start`.
    pub expected: f64,
    /// Start of service, seconds; in the preemptive engine, when the work of the present turn starts.
    pub start: f64,
    /// Number of the job in order of arrival.
    pub number: u64,
    /// Class.
    pub class: u32,
    /// Stamp of its valid entry in the calendar (preemptive engine).
    pub stamp: u32,
    links: [Link; 2],
}

/// Stamp of a job that is not in service.
pub const STOPPED: u32 = 0;

impl Job {
    /// Whether it is in service (preemptive engine).
    #[inline]
    pub fn in_service(&self) -> bool {
        self.stamp != STOPPED
    }

    /// Remaining size, seconds (preemptive engine).
    #[inline]
    pub fn remaining(&self, now: f64) -> f64 {
        if !self.in_service() {
            return self.expected;
        }
        // a job that resumes may not have started its work, and rounding must not make the rest negative
        (self.expected - (now - self.start).max(0.0)).max(0.0)
    }
}

#[derive(Clone, Copy, Debug)]
struct Link {
    next: Slot,
    previous: Slot,
}

const UNLINKED: Link = Link { next: NO_JOB, previous: NO_JOB };

/// A chain of jobs, oldest first.
#[derive(Clone, Copy, Debug)]
pub struct Chain {
    first: Slot,
    last: Slot,
}

impl Chain {
    /// Its first job.
    #[inline]
    pub fn first(self) -> Option<Slot> {
        (self.first != NO_JOB).then_some(self.first)
    }

    /// Its last job.
    #[inline]
    pub fn last(self) -> Option<Slot> {
        (self.last != NO_JOB).then_some(self.last)
    }
}

const EMPTY: Chain = Chain { first: NO_JOB, last: NO_JOB };

/// Which of a job's two links a chain uses: that of its lane, or that of the overall order.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Via {
    Lane = 0,
    Order = 1,
}

/// A waiting job in a book that is not listed: what its record needs when it starts.
#[derive(Clone, Copy, Debug)]
struct QueuedJob {
    arrival: f64,
    size: f64,
    number: u64,
}

/// All jobs present.
///
/// If no single jobs are looked at (the book is not *listed*), waiting jobs are in plain queues, a third of
/// the size and side by side in memory, and only those in service have a record.
#[derive(Clone, Debug)]
pub struct Book {
    queues: Vec<VecDeque<QueuedJob>>,
    jobs: Vec<Job>,
    /// In a listed book reused in the order in which they were freed: jobs that arrive one after the other then lie close
    /// together. Otherwise the last one first, as it is in the cache.
    unused: VecDeque<Slot>,
    lanes: Vec<Chain>,
    order: Chain,
    running: Chain,
    listed: bool,
}

impl Book {
    /// An empty book with this many lanes (one per class, or one per level). `listed` maintains the overall order as well.
    pub fn new(lanes: usize, listed: bool) -> Self {
        Self {
            queues: vec![VecDeque::new(); if listed { 0 } else { lanes }],
            jobs: Vec::new(),
            unused: VecDeque::new(),
            lanes: vec![EMPTY; lanes],
            order: EMPTY,
            running: EMPTY,
            listed,
        }
    }

    /// A job present.
    #[inline]
    pub fn job(&self, slot: Slot) -> &Job {
        &self.jobs[slot as usize]
    }

    /// A job present, to be changed.
    #[inline]
    pub fn job_mut(&mut self, slot: Slot) -> &mut Job {
        &mut self.jobs[slot as usize]
    }

    /// Fetches a job into the cache.
    #[inline]
    pub fn fetch(&self, slot: Slot) {
        black_box(self.jobs[slot as usize].arrival);
    }

    /// Number of jobs present.
    #[inline]
    pub fn len(&self) -> usize {
        self.jobs.len() - self.unused.len() + self.queues.iter().map(VecDeque::len).sum::<usize>()
    }

    /// No job is present.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The jobs of a lane, oldest first.
    #[inline]
    pub fn lane(&self, lane: usize) -> Chain {
        self.lanes[lane]
    }

    /// All jobs in order of arrival: those that wait (or, in a preemptive engine, all). Only if listed.
    #[inline]
    pub fn order(&self) -> Chain {
        self.order
    }

    /// The jobs in service in order of their start. Only if listed, and not in a preemptive engine.
    #[inline]
    pub fn running(&self) -> Chain {
        self.running
    }

    /// The job behind in its lane.
    #[inline]
    pub fn next_in_lane(&self, slot: Slot) -> Option<Slot> {
        Some(self.jobs[slot as usize].links[0].next).filter(|&s| s != NO_JOB)
    }

    /// The job before in its lane.
    #[inline]
    pub fn previous_in_lane(&self, slot: Slot) -> Option<Slot> {
        Some(self.jobs[slot as usize].links[0].previous).filter(|&s| s != NO_JOB)
    }

    /// The job behind in the order (or among those in service).
    #[inline]
    pub fn next(&self, slot: Slot) -> Option<Slot> {
        Some(self.jobs[slot as usize].links[1].next).filter(|&s| s != NO_JOB)
    }

    /// The job behind in the order; the oldest job behind [`NO_JOB`].
    #[inline]
    pub fn next_or_oldest(&self, slot: Slot) -> Option<Slot> {
        if slot == NO_JOB { self.order.first() } else { self.next(slot) }
    }

    /// The job before in the order (or among those in service).
    #[inline]
    pub fn previous(&self, slot: Slot) -> Option<Slot> {
        Some(self.jobs[slot as usize].links[1].previous).filter(|&s| s != NO_JOB)
    }

    /// Walks a chain of the overall order or of the jobs in service.
    pub fn walk(&self, chain: Chain) -> impl Iterator<Item = (Slot, &Job)> {
        std::iter::successors(chain.first(), |&slot| self.next(slot)).map(|slot| (slot, self.job(slot)))
    }

    /// Every job has an estimate. Only if listed.
    pub fn estimated(&self) -> bool {
        [self.order, self.running].into_iter().all(|chain| self.walk(chain).all(|(_, job)| !job.expected.is_nan()))
    }

    /// A job arrives and waits behind the others of its class. Returns its place if the book is listed, otherwise [`NO_JOB`].
    #[inline]
    pub fn queue(&mut self, class: u32, number: u64, arrival: f64, size: f64, expected: f64) -> Slot {
        if self.listed {
            return self.enter(class, class as usize, number, arrival, size, expected);
        }
        self.queues[class as usize].push_back(QueuedJob { arrival, size, number });
        NO_JOB
    }

    /// The head of line of a class, if the book is listed, otherwise [`NO_JOB`].
    #[inline]
    pub fn head(&self, class: u32) -> Slot {
        self.lanes[class as usize].first
    }

    /// Number of the head of line of a class.
    #[inline]
    pub fn head_number(&self, class: u32) -> Option<u64> {
        if self.listed {
            return self.lane(class as usize).first().map(|slot| self.job(slot).number);
        }
        self.queues[class as usize].front().map(|job| job.number)
    }

    /// A waiting job of a class is in service from now on: the one at `slot`, or the head of line of a book that is not
    /// listed. A job of the class must wait.
    #[inline]
    pub fn serve(&mut self, class: u32, slot: Slot) -> Slot {
        if self.listed {
            self.begin(class as usize, slot);
            return slot;
        }
        let Some(QueuedJob { arrival, size, number }) = self.queues[class as usize].pop_front() else { return NO_JOB };
        self.record(class, number, arrival, size, size)
    }

    /// Inserts a job that arrives at the end of its lane and of the order.
    #[inline]
    pub fn enter(&mut self, class: u32, lane: usize, number: u64, arrival: f64, size: f64, expected: f64) -> Slot {
        let slot = self.record(class, number, arrival, size, expected);
        append(&mut self.jobs, &mut self.lanes[lane], Via::Lane, slot);
        if self.listed {
            append(&mut self.jobs, &mut self.order, Via::Order, slot);
        }
        slot
    }

    #[inline]
    fn record(&mut self, class: u32, number: u64, arrival: f64, size: f64, expected: f64) -> Slot {
        let job = Job { arrival, size, expected, start: f64::NAN, number, class, stamp: STOPPED, links: [UNLINKED; 2] };
        let slot = if self.listed { self.unused.pop_front() } else { self.unused.pop_back() };
        if let Some(slot) = slot {
            self.jobs[slot as usize] = job;
            slot
        } else {
            self.jobs.push(job);
            (self.jobs.len() - 1) as Slot
        }
    }

    /// A waiting job leaves the queues and is in service.
    #[inline]
    pub fn begin(&mut self, lane: usize, slot: Slot) {
        detach(&mut self.jobs, &mut self.lanes[lane], Via::Lane, slot);
        if self.listed {
            detach(&mut self.jobs, &mut self.order, Via::Order, slot);
            append(&mut self.jobs, &mut self.running, Via::Order, slot);
        }
    }

    /// Removes a job in service.
    #[inline]
    pub fn leave(&mut self, slot: Slot) {
        if self.listed {
            detach(&mut self.jobs, &mut self.running, Via::Order, slot);
        }
        self.erase(slot);
    }

    /// Removes a job that was never taken out of the queues (preemptive engine).
    #[inline]
    pub fn leave_queued(&mut self, lane: usize, slot: Slot) {
        detach(&mut self.jobs, &mut self.lanes[lane], Via::Lane, slot);
        if self.listed {
            detach(&mut self.jobs, &mut self.order, Via::Order, slot);
        }
        self.erase(slot);
    }

    #[inline]
    fn erase(&mut self, slot: Slot) {
        self.jobs[slot as usize].number = UNUSED;
        self.unused.push_back(slot);
    }

    /// Per class, the times since the arrival of the jobs present, added up.
    pub fn ages(&self, classes: usize, now: f64) -> Vec<f64> {
        let mut ages = vec![0.0; classes];
        for job in self.jobs.iter().filter(|job| job.number != UNUSED) {
            ages[job.class as usize] += now - job.arrival;
        }
        for (class, queues) in self.queues.iter().enumerate() {
            ages[class] += queues.iter().map(|job| now - job.arrival).sum::<f64>();
        }
        ages
    }
}

#[inline]
fn append(jobs: &mut [Job], chain: &mut Chain, via: Via, slot: Slot) {
    let last = chain.last;
    jobs[slot as usize].links[via as usize] = Link { next: NO_JOB, previous: last };
    if last == NO_JOB {
        chain.first = slot;
    } else {
        jobs[last as usize].links[via as usize].next = slot;
    }
    chain.last = slot;
}

#[inline]
fn detach(jobs: &mut [Job], chain: &mut Chain, via: Via, slot: Slot) {
    let Link { next, previous } = jobs[slot as usize].links[via as usize];
    if previous == NO_JOB {
        chain.first = next;
    } else {
        jobs[previous as usize].links[via as usize].next = next;
    }
    if next == NO_JOB {
        chain.last = previous;
    } else {
        jobs[next as usize].links[via as usize].previous = previous;
    }
}
