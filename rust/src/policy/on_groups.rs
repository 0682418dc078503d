//! Static and Adaptive Quickswap on groups of classes: a group takes the place of a class.
//!
//! A group is a range of needs. It is served in order of arrival: only its oldest waiting job may start, if its own need
//! fits. Where the rules count slots of a class, a group has slots of its largest need. With a group for each need these
//! are the policies on classes.

use super::static_quickswap::{Stage, restore_cycle};
use super::{Choice, Parameters, Policy, Sight, View};
use crate::error::Error;
use crate::station::Station;

/// Ranges of classes, by ascending need.
#[derive(Clone)]
struct ClassGroups {
    /// First class of each group, and the end of the last.
    edges: Vec<u32>,
}

impl ClassGroups {
    fn build(parameters: &Parameters<'_>) -> Result<Self, Error> {
        let system = parameters.system();
        if system.given.iter().enumerate().any(|(class, &given)| class != given) {
            return Err(Error::argument(
                "classes",
                &system.given,
                "in ascending order of need, for a policy with groups",
            ));
        }
        let mut edges: Vec<u32> = parameters.get("groups")?;
        let end = system.classes.len() as u32;
        if edges.first() != Some(&0) || edges.windows(2).any(|pair| pair[0] >= pair[1]) || edges.last() >= Some(&end) {
            return Err(Error::argument("groups", edges, "the first class of each group, ascending, from 0"));
        }
        edges.push(end);
        Ok(Self { edges })
    }

    fn len(&self) -> usize {
        self.edges.len() - 1
    }

    fn classes(&self, group: usize) -> std::ops::Range<u32> {
        self.edges[group]..self.edges[group + 1]
    }

    fn of(&self, class: u32) -> usize {
        self.edges.partition_point(|&first| first <= class) - 1
    }

    /// The class of the oldest waiting job of a group.
    fn head(&self, station: &Station, group: usize) -> Option<u32> {
        let classes = self.classes(group);
        station.oldest_waiting_of(classes.start, classes.end)
    }

    /// The same, if it fits.
    fn fitting(&self, station: &Station, group: usize) -> Option<u32> {
        self.head(station, group).filter(|&class| station.need(class) <= station.free())
    }

    /// Servers that a group holds.
    fn held(&self, station: &Station, group: usize) -> u32 {
        self.classes(group).map(|class| station.need(class) * station.running(class)).sum()
    }
}

/// Adaptive Quickswap on groups.
#[derive(Clone)]
pub struct AdaptiveOnGroups {
    groups: ClassGroups,
    draining: bool,
}

impl AdaptiveOnGroups {
    pub(super) fn build(parameters: &Parameters<'_>) -> Result<Self, Error> {
        Ok(Self { groups: ClassGroups::build(parameters)?, draining: false })
    }
}

impl Policy for AdaptiveOnGroups {
    fn sight(&self) -> Sight {
        Sight::Heads
    }

    fn next(&mut self, view: View<'_>) -> Choice {
        let (station, groups) = (view.station, &self.groups);
        if station.total_waiting() == 0 {
            // a drain ends when its target starts, so no drain is under way
            return Choice::Wait;
        }
        let largest_first = || (0..groups.len()).rev();
        if self.draining {
            let largest = largest_first().find(|&group| groups.head(station, group).is_some());
            let Some(class) = largest.and_then(|group| groups.fitting(station, group)) else { return Choice::Wait };
            self.draining = false;
            return Choice::Head(class);
        }
        if let Some(class) = largest_first().find_map(|group| groups.fitting(station, group)) {
            return Choice::Head(class);
        }
        let mut waiting = largest_first().filter(|&group| groups.head(station, group).is_some());
        self.draining = waiting.all(|group| groups.held(station, group) == 0);
        Choice::Wait
    }

    fn save(&self) -> Vec<i64> {
        vec![self.draining.into()]
    }

    fn restore(&mut self, state: &[i64], _: View<'_>) -> Result<(), Error> {
        let &[draining @ 0..=1] = state else {
            return Err(Error::argument("policy state", state, "(0,) or (1,)"));
        };
        self.draining = draining == 1;
        Ok(())
    }
}

/// Static Quickswap on groups.
#[derive(Clone)]
pub struct StaticOnGroups {
    groups: ClassGroups,
    exclusive: bool,
    /// Group at each place of the cycle.
    order: Vec<usize>,
    /// Servers that a group may still hold when its swap is due, per group.
    thresholds: Vec<u32>,
    /// Place in the cycle.
    place: usize,
    stage: Stage,
}

impl StaticOnGroups {
    pub(super) fn build(parameters: &Parameters<'_>) -> Result<Self, Error> {
        let groups = ClassGroups::build(parameters)?;
        let order: Vec<usize> = parameters.get("order")?;
        let mut sorted = order.clone();
        sorted.sort_unstable();
        if !sorted.into_iter().eq(0..groups.len()) {
            return Err(Error::argument("order", order, "each group once"));
        }
        let slots: Vec<u32> = parameters.get("thresholds")?;
        if slots.len() != groups.len() {
            return Err(Error::argument("thresholds", slots, "one number for each group"));
        }
        let needs = &parameters.system().classes;
        let largest = |group: usize| needs[groups.edges[group + 1] as usize - 1].need;
        let thresholds = slots.iter().enumerate().map(|(group, &slots)| slots * largest(group)).collect();
        let exclusive = parameters.choose("drain", ["overlap", "exclusive"])? == 1;
        let stage = if exclusive { Stage::Idle } else { Stage::Open };
        Ok(Self { groups, exclusive, order, thresholds, place: 0, stage })
    }

    /// The next place of the cycle whose group has waiting jobs, the present one last.
    fn next_waiting(&self, station: &Station) -> Option<usize> {
        let places = self.order.len();
        (1..=places)
            .map(|step| (self.place + step) % places)
            .find(|&place| self.groups.head(station, self.order[place]).is_some())
    }

    fn overlap(&mut self, station: &Station) -> Choice {
        loop {
            let group = self.order[self.place];
            if let Some(class) = self.groups.fitting(station, group) {
                return Choice::Head(class);
            }
            let Some(next) = self.next_waiting(station).filter(|&place| place != self.place) else {
                return Choice::Wait;
            };
            let held = self.groups.held(station, group);
            let alone = station.free() + held == station.servers();
            if held > self.thresholds[group] || !(alone || self.groups.head(station, group).is_none()) {
                return Choice::Wait;
            }
            self.place = next;
        }
    }

    fn exclusive(&mut self, station: &Station) -> Choice {
        loop {
            let group = self.order[self.place];
            match self.stage {
                Stage::Open => {
                    if let Some(class) = self.groups.fitting(station, group) {
                        return Choice::Head(class);
                    }
                    if self.groups.held(station, group) > self.thresholds[group] {
                        return Choice::Wait;
                    }
                    self.stage = Stage::Drain;
                }
                Stage::Drain if self.groups.held(station, group) > 0 => return Choice::Wait,
                Stage::Drain => match self.next_waiting(station) {
                    Some(next) => (self.place, self.stage) = (next, Stage::Open),
                    None => self.stage = Stage::Idle,
                },
                Stage::Idle => {
                    let Some(class) = station.oldest_waiting() else { return Choice::Wait };
                    let oldest = self.groups.of(class);
                    let place = self.order.iter().position(|&group| group == oldest);
                    (self.place, self.stage) = (place.unwrap_or(0), Stage::Open);
                }
            }
        }
    }
}

impl Policy for StaticOnGroups {
    fn sight(&self) -> Sight {
        Sight::Heads
    }

    fn next(&mut self, view: View<'_>) -> Choice {
        if self.exclusive { self.exclusive(view.station) } else { self.overlap(view.station) }
    }

    fn save(&self) -> Vec<i64> {
        vec![self.place as i64, self.stage as i64]
    }

    fn restore(&mut self, state: &[i64], _: View<'_>) -> Result<(), Error> {
        let (place, stage) = restore_cycle(state, self.order.len())?;
        (self.place, self.stage) = (place, stage);
        Ok(())
    }
}
