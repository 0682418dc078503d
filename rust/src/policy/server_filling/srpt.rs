//! The prefix in order of need times remaining size; of equal needs, the smaller remaining size first. Ties go to the older
//! job.
//!
//! The jobs that are not in service are in an ordered set. The ranks of the jobs in service change with time, so these are
//! sorted at each event; there are at most `k` of them.

use std::collections::BTreeSet;

use crate::book::Slot;
use crate::policy::{Change, Preemptive, View};
use crate::system::System;

/// Need times remaining size (as bits, which are in the order of their values), number of the job, and its place.
type Rank = (u64, u64, Slot);

#[derive(Clone, Copy)]
struct Member {
    rank: Rank,
    need: u32,
    runs: bool,
}

/// ServerFilling-SRPT.
#[derive(Clone)]
pub struct BySize {
    servers: u32,
    stopped: BTreeSet<Rank>,
    running: Vec<Slot>,
    /// Scratch: jobs in service by rank, and M.
    ranked: Vec<Member>,
    members: Vec<Member>,
}

fn rank(view: View<'_>, slot: Slot, done: f64) -> Rank {
    let job = view.book.job(slot);
    // rounding must not make it negative
    let remaining = (job.expected - done).max(0.0);
    ((f64::from(view.station.need(job.class)) * remaining).to_bits(), job.number, slot)
}

impl BySize {
    pub(super) fn new(system: &System) -> Self {
        Self {
            servers: system.servers,
            stopped: BTreeSet::new(),
            running: Vec::new(),
            ranked: Vec::new(),
            members: Vec::new(),
        }
    }

    /// Takes M out of both orders, merged.
    fn choose(&mut self, view: View<'_>) {
        let need = |slot| view.station.need(view.book.job(slot).class);
        let now = view.station.now();
        self.ranked.clear();
        self.ranked.extend(self.running.iter().map(|&slot| Member {
            rank: rank(view, slot, now - view.book.job(slot).start),
            need: need(slot),
            runs: true,
        }));
        self.ranked.sort_unstable_by_key(|member| member.rank);
        self.members.clear();
        let mut running = self.ranked.iter().copied().peekable();
        let mut stopped = self.stopped.iter().copied().peekable();
        let mut total = 0;
        while total < u64::from(self.servers) {
            let first = match (running.peek(), stopped.peek()) {
                (None, None) => break,
                (Some(member), other) if other.is_none_or(|&rank| member.rank < rank) => running.next(),
                _ => stopped.next().map(|rank| Member { rank, need: need(rank.2), runs: false }),
            };
            let Some(member) = first else { break };
            total += u64::from(member.need);
            self.members.push(member);
        }
        // each job in service that is not in M stops
        self.members.extend(running.map(|member| Member { need: u32::MAX, ..member }));
    }
}

impl Preemptive for BySize {
    #[inline]
    fn arrived(&mut self, view: View<'_>, slot: Slot) {
        self.stopped.insert(rank(view, slot, 0.0));
    }

    #[inline]
    fn completed(&mut self, _: View<'_>, slot: Slot) {
        if let Some(at) = self.running.iter().position(|&other| other == slot) {
            self.running.swap_remove(at);
        }
    }

    fn serve(&mut self, view: View<'_>, changes: &mut Vec<Change>) {
        self.choose(view);
        // stable: of equal needs in order of rank
        self.members.sort_by_key(|member| std::cmp::Reverse(member.need));
        self.running.clear();
        let mut free = self.servers;
        for member in &self.members {
            let slot = member.rank.2;
            let serves = member.need <= free;
            if serves {
                free -= member.need;
                self.running.push(slot);
            }
            match (member.runs, serves) {
                (false, true) => {
                    self.stopped.remove(&member.rank);
                    changes.push(Change::Run(slot));
                }
                (true, false) => {
                    self.stopped.insert(member.rank);
                    changes.push(Change::Pause(slot));
                }
                _ => {}
            }
        }
    }
}
