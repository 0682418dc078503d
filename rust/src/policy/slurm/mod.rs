//! The scheduling of Slurm, by its manuals: jobs in order of priority, and two ways in which they start.
//!
//! Priority: a weighted sum of factors (`priorities.rs`), rounded down, at least 1; with equal priorities the older job is
//! first. A job gets its priority when it arrives. All are calculated again at the first decision of each period of
//! `priority_calc_period`.
//!
//! A waiting job *may reserve* if it has waited for `bf_min_age_reserve` and has a priority of at least
//! `bf_min_prio_reserve`.
//!
//! 1. Main loop, after arrivals and completions: the first `default_queue_depth` jobs in order of priority start if they fit,
//!    until one does not fit that may reserve.
//! 2. Backfill cycle, `bf_interval` after the last one, or later, as soon as a job has arrived, started or ended since the last
//!    one. In order of priority the first `bf_max_job_test` jobs are tested, but at most `bf_max_job_user` of a user:
//!    - A job starts if its servers are free now and, in the profile, for its time limit.
//!    - Otherwise, if it may reserve and fewer than `bf_job_part_count_reserve` jobs have a reservation, it gets the earliest
//!      one that begins within `bf_window`, for its time limit.
//!
//!    The profile is the number of servers without a reservation at each future time. It begins with the jobs in service, which
//!    hold their servers until their time limits; one beyond its limit is taken to end now. Reservations last until the end of the
//!    cycle. Ends of jobs in service are rounded down, and lengths of reservations up, to multiples of `bf_resolution`.

mod priorities;

use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};

use serde::Deserialize;

use super::shared::{Profile, until};
use super::{Choice, Parameters, Policy, PolicyVisitor, Sight, View};
use crate::book::Slot;
use crate::error::Error;
use priorities::{Priorities, Weights};

pub(super) fn build<V: PolicyVisitor>(parameters: &Parameters<'_>, visitor: V) -> Result<V::Output, Error> {
    let settings: Settings = serde_json::from_value(parameters.spec.clone().into())?;
    let weights: Weights = serde_json::from_value(parameters.spec.clone().into())?;
    let system = parameters.system();
    Ok(visitor.visit(Slurm {
        settings,
        priorities: Priorities::new(weights, system.servers, system.classes.len()),
        waiting: BTreeMap::new(),
        given: Vec::new(),
        starts: VecDeque::new(),
        in_service: Profile::new(system.servers),
        profile: Profile::new(system.servers),
        tests: Vec::new(),
        tests_of: Vec::new(),
        put_off: Vec::new(),
        late: Vec::new(),
        event: false,
        changed: false,
        last_cycle: f64::NEG_INFINITY,
    }))
}

/// Parameters; times in seconds.
#[derive(Clone, Debug, Deserialize)]
struct Settings {
    default_queue_depth: usize,
    /// None without backfilling.
    bf_interval: Option<f64>,
    bf_window: f64,
    bf_resolution: f64,
    bf_max_job_test: usize,
    /// 0 without a limit.
    bf_max_job_user: u32,
    /// 0 without a limit.
    bf_job_part_count_reserve: usize,
    bf_min_age_reserve: f64,
    bf_min_prio_reserve: u64,
}

/// The order of the waiting jobs: priority, number.
type Key = (Reverse<u64>, u64);

#[derive(Clone, Copy, Debug)]
struct WaitingJob {
    slot: Slot,
    need: u32,
    user: u32,
    arrival: f64,
    limit: f64,
}

/// A reservation to make: servers, seconds, and a time before which it does not begin.
#[derive(Clone, Copy, Debug)]
struct Reservation {
    need: u32,
    length: f64,
    least: f64,
}

/// Slurm.
#[derive(Clone)]
struct Slurm {
    settings: Settings,
    priorities: Priorities,
    waiting: BTreeMap<Key, WaitingJob>,
    /// Priority of each waiting job, by slot.
    given: Vec<u64>,
    /// Jobs that start now.
    starts: VecDeque<Slot>,
    /// The profile at the beginning of a cycle, and in it.
    in_service: Profile,
    profile: Profile,
    /// The jobs to test in a cycle, and whether they may reserve; numbers of tests by user.
    tests: Vec<(WaitingJob, bool)>,
    tests_of: Vec<u32>,
    /// The reservations that are put off in a cycle, in order, and those from which others are known to begin late.
    put_off: Vec<Reservation>,
    late: Vec<Reservation>,
    /// Jobs have arrived or completed since the last main loop.
    event: bool,
    /// Jobs have arrived, started or ended since the last cycle.
    changed: bool,
    /// Time of the last cycle, seconds.
    last_cycle: f64,
}

impl Settings {
    fn may_reserve(&self, priority: u64, job: &WaitingJob, now: f64) -> bool {
        now - job.arrival >= self.bf_min_age_reserve && priority >= self.bf_min_prio_reserve
    }

    fn rounded_down(&self, time: f64) -> f64 {
        (time / self.bf_resolution).floor() * self.bf_resolution
    }

    fn rounded_up(&self, time: f64) -> f64 {
        (time / self.bf_resolution).ceil() * self.bf_resolution
    }
}

impl Slurm {
    /// Gives all waiting jobs their priorities again.
    fn recalculate(&mut self, view: View<'_>) {
        let now = view.station.now();
        self.priorities.recalculate(now);
        let waiting = std::mem::take(&mut self.waiting);
        self.waiting = waiting.into_values().map(|job| (self.prioritise(view, &job), job)).collect();
    }

    /// Gives a waiting job its priority, and returns its place in the order.
    fn prioritise(&mut self, view: View<'_>, waiting: &WaitingJob) -> Key {
        let job = view.book.job(waiting.slot);
        let priority = self.priorities.of(job, waiting.need, view.station.now());
        self.given[waiting.slot as usize] = priority;
        (Reverse(priority), job.number)
    }

    fn main_loop(&mut self, now: f64, mut free: u32) {
        for (&(Reverse(priority), _), job) in self.waiting.iter().take(self.settings.default_queue_depth) {
            if job.need <= free {
                free -= job.need;
                self.starts.push_back(job.slot);
            } else if free == 0 || self.settings.may_reserve(priority, job, now) {
                break;
            }
        }
    }

    fn cycle_is_due(&self, now: f64) -> bool {
        self.changed && self.settings.bf_interval.is_some_and(|interval| now >= self.last_cycle + interval)
    }

    /// Decides which jobs start in a backfill cycle.
    ///
    /// A job that fits starts unless a reservation of a job before it is in its way. Therefore the reservations before it are
    /// made first, except those that begin after its end, which are put off until one of them matters. What starts in the
    /// meantime ends before they begin, so they are the same as if they had been made in order.
    ///
    /// `least` of a job that is put off comes from a search in the profile without the others that are put off, or it is that
    /// of a job before it that needs no more servers for no more time: servers only become fewer within a cycle.
    fn cycle(&mut self, now: f64, mut free: u32) {
        self.select(now);
        self.profile.clone_from(&self.in_service);
        let Self { settings, profile, tests, starts, put_off, late, .. } = self;
        put_off.clear();
        late.clear();
        let latest = (now + settings.bf_window).next_up();
        let most = Some(settings.bf_job_part_count_reserve).filter(|&most| most > 0).unwrap_or(usize::MAX);
        let earliest = |profile: &Profile, from: f64, need: u32, length: f64| {
            profile.earliest(from, need, length, f64::INFINITY, latest).unwrap_or(f64::INFINITY)
        };
        let (mut reserved, mut made, mut next, mut candidate) = (0, 0, 0, 0);
        while let Some(found) = (candidate..tests.len()).find(|&at| {
            let job = &tests[at].0;
            job.need <= free && profile.fits(now, job.need, job.limit)
        }) {
            candidate = found;
            let fitting = tests[candidate].0;
            let end = until(now, fitting.limit);
            let mut fits = true;
            let mut wanted = put_off.iter().rposition(|job| job.least < end).map_or(0, |last| last + 1);
            while fits && (made < wanted || next < candidate) {
                let (need, length, start) = if made < wanted {
                    let Reservation { need, length, least } = put_off[made];
                    made += 1;
                    (need, length, earliest(profile, least, need, length))
                } else {
                    let (job, may_reserve) = tests[next];
                    next += 1;
                    if !may_reserve || reserved == most {
                        continue;
                    }
                    let (need, length) = (job.need, settings.rounded_up(job.limit));
                    let known = late.iter().rev().find(|j| j.least >= end && j.need <= need && j.length <= length);
                    let least = known.map_or_else(|| earliest(profile, now, need, length), |job| job.least);
                    let begins_late = least >= end && most == usize::MAX; // each counts if their number is limited
                    let reservation = Reservation { need, length, least };
                    if begins_late && known.is_none() {
                        late.push(reservation);
                    }
                    if begins_late || made < put_off.len() {
                        put_off.push(reservation);
                        if least < end {
                            wanted = put_off.len();
                        }
                        continue;
                    }
                    (need, length, least)
                };
                if start < f64::INFINITY {
                    profile.reserve(start, start + length, need);
                    reserved += 1;
                    fits = start >= end || profile.fits(now, fitting.need, fitting.limit);
                }
            }
            if fits {
                starts.push_back(fitting.slot);
                free -= fitting.need;
                profile.reserve(now, settings.rounded_down(now + fitting.limit), fitting.need);
                next = candidate + 1;
                candidate = next;
            }
        }
    }

    /// Selects the jobs to test.
    fn select(&mut self, now: f64) {
        let Self { settings, waiting, tests, tests_of, .. } = self;
        tests.clear();
        tests_of.resize(self.priorities.users(), 0);
        for (&(Reverse(priority), _), job) in waiting.iter() {
            if tests.len() == settings.bf_max_job_test {
                break;
            }
            if settings.bf_max_job_user > 0 {
                let tested = &mut tests_of[job.user as usize];
                if *tested == settings.bf_max_job_user {
                    continue;
                }
                *tested += 1;
            }
            tests.push((*job, settings.may_reserve(priority, job, now)));
        }
        if settings.bf_max_job_user > 0 {
            tests.iter().for_each(|(job, _)| tests_of[job.user as usize] = 0);
        }
    }
}

impl Policy for Slurm {
    const HOOKS: bool = true;
    const ENDS: bool = true;
    const TIMERS: bool = true;

    fn attributes(&mut self, users: &[u32], priorities: &[f64]) {
        self.priorities.attributes(users, priorities);
    }

    fn place(&mut self, place: u64) {
        self.priorities.place(place);
    }

    fn sight(&self) -> Sight {
        Sight::Jobs
    }

    #[inline]
    fn next(&mut self, view: View<'_>) -> Choice {
        let (now, free) = (view.station.now(), view.station.free());
        if self.starts.is_empty() && self.priorities.due(now) {
            self.recalculate(view);
        }
        // without a job that fits, neither way starts one
        let fits = |view: View<'_>| view.station.largest_fitting().is_some();
        if self.starts.is_empty() && std::mem::take(&mut self.event) && fits(view) {
            self.main_loop(now, free);
        }
        if self.starts.is_empty() && self.cycle_is_due(now) {
            self.changed = false;
            self.last_cycle = now;
            if fits(view) {
                self.cycle(now, free);
            }
        }
        self.starts.pop_front().map_or(Choice::Wait, Choice::Job)
    }

    #[inline]
    fn arrived(&mut self, view: View<'_>, class: u32, slot: Slot) {
        if self.given.len() <= slot as usize {
            self.given.resize(slot as usize + 1, 0);
        }
        let job = view.book.job(slot);
        let (need, user) = (view.station.need(class), self.priorities.user(job));
        let waiting = WaitingJob { slot, need, user, arrival: job.arrival, limit: job.expected };
        let place = self.prioritise(view, &waiting);
        self.waiting.insert(place, waiting);
        (self.event, self.changed) = (true, true);
    }

    #[inline]
    fn starting(&mut self, view: View<'_>, class: u32, slot: Slot) {
        let (job, need, now) = (view.book.job(slot), view.station.need(class), view.station.now());
        self.waiting.remove(&(Reverse(self.given[slot as usize]), job.number));
        self.in_service.forget(now);
        self.in_service.reserve(now, self.settings.rounded_down(now + job.expected), need);
        self.priorities.take(self.priorities.user(job), need, now);
        self.changed = true;
    }

    #[inline]
    fn ended(&mut self, view: View<'_>, class: u32, slot: Slot) {
        let (job, need, now) = (view.book.job(slot), view.station.need(class), view.station.now());
        self.in_service.release(now, self.settings.rounded_down(job.start + job.expected), need);
        self.priorities.give_back(self.priorities.user(job), need, now);
        (self.event, self.changed) = (true, true);
    }

    fn corrected(&mut self, view: View<'_>, class: u32, slot: Slot, old: f64) {
        let (job, need, now) = (view.book.job(slot), view.station.need(class), view.station.now());
        self.in_service.release(now, self.settings.rounded_down(job.start + old), need);
        self.in_service.reserve(now, self.settings.rounded_down(job.start + job.expected), need);
    }

    /// The next cycle.
    #[inline]
    fn wake_at(&mut self, view: View<'_>) -> f64 {
        match self.settings.bf_interval {
            Some(interval) if self.changed && !self.waiting.is_empty() => {
                (self.last_cycle + interval).max(view.station.now().next_up())
            }
            _ => f64::INFINITY,
        }
    }

    fn restore(&mut self, _: &[i64], _: View<'_>) -> Result<(), Error> {
        Err(Error::Unsupported("policy slurm uses estimated sizes, which a state does not contain"))
    }
}
