//! The prefix in order of arrival; of equal needs the older job first.
//!
//! M and the jobs served are kept from event to event: of each level of need the oldest jobs are served.

use crate::book::{NO_JOB, Slot};
use crate::policy::shared::ServedPrefixes;
use crate::policy::{Change, Preemptive, View};
use crate::station::Bits;
use crate::system::System;

#[derive(Clone, Copy)]
struct Level {
    need: u32,
    /// Jobs of the level in M.
    members: u32,
}

/// ServerFilling.
#[derive(Clone)]
pub struct ByArrival {
    servers: u64,
    levels: Vec<Level>,
    prefixes: ServedPrefixes,
    /// Levels that have members or jobs in service.
    active: Bits,
    /// Needs of the members added up.
    total: u64,
    /// The youngest member.
    last: Slot,
}

impl ByArrival {
    pub(super) fn new(system: &System) -> Self {
        let mut needs: Vec<u32> = system.classes.iter().map(|c| c.need).collect();
        needs.dedup();
        Self {
            servers: system.servers.into(),
            active: Bits::new(needs.len()),
            prefixes: ServedPrefixes::new(needs.len()),
            levels: needs.iter().map(|&need| Level { need, members: 0 }).collect(),
            total: 0,
            last: NO_JOB,
        }
    }
}

impl Preemptive for ByArrival {
    #[inline]
    fn arrived(&mut self, view: View<'_>, slot: Slot) {
        self.prefixes.arrived(view.station.level(view.book.job(slot).class), slot);
    }

    #[inline]
    fn completed(&mut self, view: View<'_>, slot: Slot, selected: bool) {
        // a job that has been selected remains a member
        let at = view.station.level(view.book.job(slot).class);
        self.prefixes.completed(view, at, slot, selected);
        let level = &mut self.levels[at];
        level.members -= 1;
        self.total -= u64::from(level.need);
        if self.last == slot {
            self.last = view.book.previous(slot).unwrap_or(NO_JOB);
        }
    }

    fn serve(&mut self, view: View<'_>, changes: &mut Vec<Change>) {
        while self.total < self.servers {
            let Some(slot) = view.book.next_or_oldest(self.last) else { break };
            let at = view.station.level(view.book.job(slot).class);
            let level = &mut self.levels[at];
            level.members += 1;
            self.total += u64::from(level.need);
            self.active.insert(at);
            self.last = slot;
        }
        let mut free = self.servers as u32;
        let mut end = self.levels.len();
        while let Some(at) = self.active.last_below(end) {
            end = at;
            let Level { need, members } = self.levels[at];
            let target = members.min(free / need);
            free -= target * need;
            self.prefixes.serve(view, at, target, changes);
            if members == 0 {
                self.active.remove(at);
            }
        }
    }
}
