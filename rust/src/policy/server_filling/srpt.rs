//! The prefix in order of need times remaining size; of equal needs, the smaller remaining size first. Ties go to the older
//! job.
//!
//! The jobs that are not in service are in an ordered set. The ranks of the jobs in service change with time, so these are
//! sorted at each event, together with the selected jobs.

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
    selected: bool,
}

/// ServerFilling-SRPT.
#[derive(Clone)]
pub struct BySize {
    servers: u32,
    stopped: BTreeSet<Rank>,
    selected: Vec<Slot>,
    /// No longer selected, but perhaps still in service.
    others: Vec<Slot>,
    /// Scratch: all of these by rank, and M.
    ranked: Vec<Member>,
    members: Vec<Member>,
}

fn rank(view: View<'_>, slot: Slot) -> Rank {
    let job = view.book.job(slot);
    let remaining = job.remaining(view.station.now());
    ((f64::from(view.station.need(job.class)) * remaining).to_bits(), job.number, slot)
}

impl BySize {
    pub(super) fn new(system: &System) -> Self {
        Self {
            servers: system.servers,
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
        let stopped = &mut self.stopped;
        self.others.retain(|&slot| view.book.job(slot).in_service() || !stopped.insert(rank(view, slot)));
        self.ranked.clear();
        for (slots, selected) in [(&self.selected, true), (&self.others, false)] {
            let members = slots.iter().map(|&slot| Member { rank: rank(view, slot), need: need(slot), selected });
            self.ranked.extend(members);
        }
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

impl Preemptive for BySize {
    #[inline]
    fn arrived(&mut self, view: View<'_>, slot: Slot) {
        self.stopped.insert(rank(view, slot));
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
}
