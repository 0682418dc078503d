//! The prefix in order of need times the remaining size, or times its Gittins rank by the age of the job, the service that it
//! has received. With equal needs the smaller product is first; ties go to the older job.
//!
//! The jobs that are not in service are in an ordered set. The ranks of the jobs in service change with time, so these are
//! sorted at each event, together with the selected jobs.

use std::collections::BTreeSet;

use serde::Deserialize;

use crate::book::Slot;
use crate::error::Error;
use crate::policy::{Change, Parameters, Preemptive, View};
use crate::system::System;

/// Need times remaining size or Gittins rank (as bits, which are in the order of their values), number of the job, and its place.
type Rank = (u64, u64, Slot);

#[derive(Clone, Copy)]
struct Member {
    rank: Rank,
    need: u32,
    selected: bool,
}

/// The Gittins rank of a class by age, at some ages. Between two of them it falls in a straight line, or remains as it was if
/// it is higher at the second: a job then rises at that age.
#[derive(Clone, Deserialize)]
pub(super) struct Ranks {
    /// Seconds, ascending from 0.
    ages: Vec<f64>,
    /// Seconds.
    ranks: Vec<f64>,
    /// For each of the ages, the next one at which a job rises, seconds.
    #[serde(skip)]
    rises: Vec<f64>,
}

impl Ranks {
    /// Those of all classes.
    pub(super) fn of_classes(parameters: &Parameters<'_>) -> Result<Vec<Self>, Error> {
        let given: Vec<Self> = parameters.get("ranks")?;
        let system = parameters.system();
        let valid = |each: &Self| each.ages.len() == each.ranks.len() && each.ages.first() == Some(&0.0);
        if given.len() != system.classes.len() || !given.iter().all(valid) {
            return Err(Error::argument("ranks", given.len(), "ages from 0 and as many ranks for each class"));
        }
        let with_rises = |class: &usize| {
            let mut each = given[*class].clone();
            let mut next = f64::INFINITY;
            for at in (0..each.ages.len()).rev() {
                each.rises.push(next);
                if at > 0 && each.ranks[at] > each.ranks[at - 1] {
                    next = each.ages[at];
                }
            }
            each.rises.reverse();
            each
        };
        Ok(system.given.iter().map(with_rises).collect())
    }

    /// The last of the ages that is reached, but for rounding.
    fn reached(&self, age: f64) -> usize {
        self.ages.partition_point(|&each| each * (1.0 - 1e-9) <= age) - 1
    }

    #[inline(never)]
    fn at(&self, age: f64) -> f64 {
        let at = self.reached(age);
        let (from, rank) = (self.ages[at], self.ranks[at]);
        match (self.ages.get(at + 1), self.ranks.get(at + 1)) {
            (Some(&to), Some(&next)) if next < rank => rank + (next - rank) * (age - from) / (to - from),
            _ => rank,
        }
    }

    /// The time until a job in service rises, seconds.
    fn until_rise(&self, age: f64) -> f64 {
        self.rises[self.reached(age)] - age
    }
}

/// ServerFilling-SRPT and ServerFilling-Gittins.
#[derive(Clone)]
pub struct ByRank {
    servers: u32,
    /// For each class; none for the remaining size.
    ranks: Option<Vec<Ranks>>,
    stopped: BTreeSet<Rank>,
    selected: Vec<Slot>,
    /// No longer selected, but perhaps still in service.
    others: Vec<Slot>,
    /// Scratch: all of these by rank, and M.
    ranked: Vec<Member>,
    members: Vec<Member>,
}

#[inline(always)]
fn rank(ranks: Option<&[Ranks]>, view: View<'_>, slot: Slot) -> Rank {
    let job = view.book.job(slot);
    let remaining = job.remaining(view.station.now());
    let seconds = ranks.map_or(remaining, |ranks| ranks[job.class as usize].at(job.size - remaining));
    ((f64::from(view.station.need(job.class)) * seconds).to_bits(), job.number, slot)
}

impl ByRank {
    pub(super) fn new(system: &System, ranks: Option<Vec<Ranks>>) -> Self {
        Self {
            servers: system.servers,
            ranks,
            stopped: BTreeSet::new(),
            selected: Vec::new(),
            others: Vec::new(),
            ranked: Vec::new(),
            members: Vec::new(),
        }
    }

    /// Takes M out of both orders, merged.
    fn choose(&mut self, view: View<'_>) {
        let need = |slot| view.station.need(view.book.job(slot).class);
        let (stopped, ranks) = (&mut self.stopped, self.ranks.as_deref());
        self.others.retain(|&slot| view.book.job(slot).in_service() || !stopped.insert(rank(ranks, view, slot)));
        self.ranked.clear();
        let member =
            |selected| move |&slot: &Slot| Member { rank: rank(ranks, view, slot), need: need(slot), selected };
        self.ranked.extend(self.selected.iter().map(member(true)));
        self.ranked.extend(self.others.iter().map(member(false)));
        self.ranked.sort_unstable_by_key(|member| member.rank);
        self.members.clear();
        let mut ranked = self.ranked.iter().copied().peekable();
        let mut stopped = self.stopped.iter().copied().peekable();
        let mut total = 0;
        while total < u64::from(self.servers) {
            let first = match (ranked.peek(), stopped.peek()) {
                (None, None) => break,
                (Some(member), other) if other.is_none_or(|&rank| member.rank < rank) => ranked.next(),
                _ => stopped.next().map(|rank| Member { rank, need: need(rank.2), selected: false }),
            };
            let Some(member) = first else { break };
            total += u64::from(member.need);
            self.members.push(member);
        }
        // no other job is selected
        self.members.extend(ranked.map(|member| Member { need: u32::MAX, ..member }));
    }
}

impl Preemptive for ByRank {
    #[inline]
    fn arrived(&mut self, view: View<'_>, slot: Slot) {
        self.stopped.insert(rank(self.ranks.as_deref(), view, slot));
    }

    #[inline]
    fn completed(&mut self, _: View<'_>, slot: Slot, selected: bool) {
        let slots = if selected { &mut self.selected } else { &mut self.others };
        if let Some(at) = slots.iter().position(|&other| other == slot) {
            slots.swap_remove(at);
        }
    }

    fn serve(&mut self, view: View<'_>, changes: &mut Vec<Change>) {
        self.choose(view);
        // stable: of equal needs in order of rank
        self.members.sort_by_key(|member| std::cmp::Reverse(member.need));
        self.selected.clear();
        let mut free = self.servers;
        for member in &self.members {
            let slot = member.rank.2;
            let serves = member.need <= free;
            if serves {
                free -= member.need;
                self.selected.push(slot);
            }
            match (member.selected, serves) {
                (false, true) => {
                    if !self.stopped.remove(&member.rank) {
                        self.others.retain(|&other| other != slot);
                    }
                    changes.push(Change::Run(slot));
                }
                (true, false) => {
                    self.others.push(slot);
                    changes.push(Change::Pause(slot));
                }
                _ => {}
            }
        }
    }
    fn wake_at(&self, view: View<'_>) -> f64 {
        let Some(ranks) = &self.ranks else { return f64::INFINITY };
        if self.stopped.is_empty() && self.others.is_empty() {
            return f64::INFINITY;
        }
        let now = view.station.now();
        let running = self.selected.iter().map(|&slot| view.book.job(slot)).filter(|job| job.in_service());
        let rises = running.map(|job| {
            let age = job.size - job.remaining(now);
            let time = now.max(job.start) + ranks[job.class as usize].until_rise(age);
            // ages have rounding errors, and time must pass
            time.max(now + 4.0 * f64::EPSILON * (now + job.size))
        });
        rises.fold(f64::INFINITY, f64::min)
    }
}
