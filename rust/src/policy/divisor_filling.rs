//! DivisorFilling (preemptive), for needs that divide `k`: take M, the first `k` unfinished jobs in order of arrival (all
//! jobs if there are fewer); serve the subset of M with the largest sum of needs up to `k`. This sum is `k` if M has `k`
//! jobs. If there are several such subsets, take the one with the most jobs of the largest need, then of the next, and so
//! on, and the oldest jobs of each need.
//!
//! Bitsets, one per level, contain the sums that the smaller needs can reach; the members of a level enter in bundles of 1, 2,
//! 4 and so on. They are computed only if the largest needs first do not fill the servers.

use super::shared::ServedPrefixes;
use super::{Change, Costs, Parameters, PolicyVisitor, Preemptive, View};
use crate::book::{NO_JOB, Slot};
use crate::error::Error;

#[derive(Clone, Copy)]
struct Level {
    need: u32,
    /// Jobs of the level in M, and to be served.
    members: u32,
    target: u32,
}

pub(super) fn build<V: PolicyVisitor>(parameters: &Parameters<'_>, visitor: V) -> Result<V::Output, Error> {
    Ok(visitor.visit_preemptive(DivisorFilling::new(parameters)?, Costs::of(parameters)?))
}

/// DivisorFilling.
#[derive(Clone)]
struct DivisorFilling {
    servers: u32,
    levels: Vec<Level>,
    prefixes: ServedPrefixes,
    /// Jobs in M.
    members: u32,
    /// The youngest of them.
    last: Slot,
    /// Per level, the sums that members of smaller needs reach, up to the number of servers; and one more row for all.
    sums: Vec<u64>,
    /// Words in a row.
    words: usize,
}

impl DivisorFilling {
    fn new(parameters: &Parameters<'_>) -> Result<Self, Error> {
        let servers = parameters.system().servers;
        let mut needs: Vec<u32> = parameters.system().classes.iter().map(|c| c.need).collect();
        needs.dedup();
        if let Some(need) = needs.iter().find(|&&need| !servers.is_multiple_of(need)) {
            return Err(Error::argument(
                "need",
                need,
                format!("a divisor of the {servers} servers under DivisorFilling"),
            ));
        }
        Ok(Self {
            servers,
            prefixes: ServedPrefixes::new(needs.len()),
            levels: needs.iter().map(|&need| Level { need, members: 0, target: 0 }).collect(),
            members: 0,
            last: NO_JOB,
            sums: Vec::new(),
            words: servers as usize / 64 + 1,
        })
    }

    /// As many of the largest need as fit, then of the next. False if that leaves servers free and jobs of M unserved.
    fn largest_first(&mut self) -> bool {
        let mut free = self.servers;
        let mut served = 0;
        for level in self.levels.iter_mut().rev() {
            level.target = level.members.min(free / level.need);
            free -= level.target * level.need;
            served += level.target;
        }
        free == 0 || served == self.members
    }

    /// As many of the largest need as a best sum can have, then of the next.
    #[cold]
    fn best_sum(&mut self) {
        let (rows, words) = (self.levels.len() + 1, self.words);
        self.sums.clear();
        self.sums.resize(rows * words, 0);
        self.sums[0] = 1;
        for (at, level) in self.levels.iter().enumerate() {
            let (below, row) = self.sums[at * words..(at + 2) * words].split_at_mut(words);
            row.copy_from_slice(below);
            let mut left = level.members.min(self.servers / level.need);
            let mut bundle = 1;
            while left > 0 {
                let taken = left.min(bundle);
                add_shifted(row, (taken * level.need) as usize);
                (left, bundle) = (left - taken, bundle * 2);
            }
        }
        let reaches = |row: usize, sum: u32| self.sums[row * words + sum as usize / 64] >> (sum % 64) & 1 == 1;
        let mut rest = self.servers;
        while !reaches(rows - 1, rest) {
            rest -= 1;
        }
        for at in (0..self.levels.len()).rev() {
            let need = self.levels[at].need;
            let mut target = self.levels[at].members.min(rest / need);
            while !reaches(at, rest - target * need) {
                target -= 1;
            }
            rest -= target * need;
            self.levels[at].target = target;
        }
    }
}

/// Adds to a set of sums the same sums, each greater by `shift`; what is beyond the last word is dropped.
fn add_shifted(row: &mut [u64], shift: usize) {
    let (words, bits) = (shift / 64, shift % 64);
    for at in (words..row.len()).rev() {
        let mut moved = row[at - words] << bits;
        if bits > 0 && at > words {
            moved |= row[at - words - 1] >> (64 - bits);
        }
        row[at] |= moved;
    }
}

impl Preemptive for DivisorFilling {
    #[inline]
    fn arrived(&mut self, view: View<'_>, slot: Slot) {
        self.prefixes.arrived(view.station.level(view.book.job(slot).class), slot);
    }

    #[inline]
    fn completed(&mut self, view: View<'_>, slot: Slot, selected: bool) {
        // a job that has been selected remains a member
        let at = view.station.level(view.book.job(slot).class);
        self.prefixes.completed(view, at, slot, selected);
        self.levels[at].members -= 1;
        self.members -= 1;
        if self.last == slot {
            self.last = view.book.previous(slot).unwrap_or(NO_JOB);
        }
    }

    fn serve(&mut self, view: View<'_>, changes: &mut Vec<Change>) {
        while self.members < self.servers {
            let Some(slot) = view.book.next_or_oldest(self.last) else { break };
            self.levels[view.station.level(view.book.job(slot).class)].members += 1;
            self.members += 1;
            self.last = slot;
        }
        if !self.largest_first() {
            self.best_sum();
        }
        for (at, level) in self.levels.iter().enumerate() {
            self.prefixes.serve(view, at, level.target, changes);
        }
    }
}
