//! ServerFilling (preemptive): take M, the shortest prefix in order of arrival of all unfinished jobs whose needs add up to
//! at least `k` (all jobs if there are fewer); serve M in order of descending need, older first, as long as each fits.
//!
//! M and the jobs served are kept from event to event: of each level of need the oldest jobs are served, so that a count
//! and the first job not served say it all.

use super::{Change, Parameters, Preemptive, View};
use crate::book::{NOBODY, Slot};
use crate::station::Bits;

#[derive(Clone, Copy)]
struct Level {
    need: u32,
    /// Jobs of the level in M, and in service.
    members: u32,
    served: u32,
    /// The oldest job of the level that is not in service.
    cut: Slot,
}

/// ServerFilling.
#[derive(Clone)]
pub struct ServerFilling {
    servers: u64,
    levels: Vec<Level>,
    /// Levels that have members or jobs in service.
    active: Bits,
    /// Needs of the members added up.
    total: u64,
    /// The youngest member.
    last: Slot,
}

impl ServerFilling {
    pub(super) fn build(parameters: &Parameters<'_>) -> Result<Self, String> {
        let mut needs: Vec<u32> = parameters.system().classes.iter().map(|c| c.need).collect();
        needs.dedup();
        Ok(Self {
            servers: parameters.system().servers.into(),
            active: Bits::new(needs.len()),
            levels: needs.iter().map(|&need| Level { need, members: 0, served: 0, cut: NOBODY }).collect(),
            total: 0,
            last: NOBODY,
        })
    }

    fn admit(&mut self, view: View<'_>, slot: Slot) {
        let at = view.station.level(view.book.job(slot).class);
        let level = &mut self.levels[at];
        level.members += 1;
        self.total += u64::from(level.need);
        self.active.insert(at);
        self.last = slot;
    }
}

impl Preemptive for ServerFilling {
    fn arrived(&mut self, view: View<'_>, slot: Slot) {
        let level = &mut self.levels[view.station.level(view.book.job(slot).class)];
        if level.cut == NOBODY {
            level.cut = slot;
        }
    }

    fn completed(&mut self, view: View<'_>, slot: Slot) {
        // a job in service is a member, and lies before its level's cut
        let level = &mut self.levels[view.station.level(view.book.job(slot).class)];
        level.members -= 1;
        level.served -= 1;
        self.total -= u64::from(level.need);
        if self.last == slot {
            self.last = view.book.previous(slot).unwrap_or(NOBODY);
        }
    }

    fn serve(&mut self, view: View<'_>, changes: &mut Vec<Change>) {
        while self.total < self.servers {
            let next = if self.last == NOBODY { view.book.order().first() } else { view.book.next(self.last) };
            let Some(slot) = next else { break };
            self.admit(view, slot);
        }
        let mut free = self.servers as u32;
        let mut end = self.levels.len();
        while let Some(at) = self.active.last_below(end) {
            end = at;
            let level = &mut self.levels[at];
            let target = level.members.min(free / level.need);
            free -= target * level.need;
            while level.served < target {
                changes.push(Change::Run(level.cut));
                level.cut = view.book.next_in_lane(level.cut).unwrap_or(NOBODY);
                level.served += 1;
            }
            while level.served > target {
                level.cut = match level.cut {
                    NOBODY => view.book.lane(at).last().unwrap_or(NOBODY),
                    cut => view.book.previous_in_lane(cut).unwrap_or(NOBODY),
                };
                changes.push(Change::Pause(level.cut));
                level.served -= 1;
            }
            if level.members == 0 {
                self.active.remove(at);
            }
        }
    }
}
