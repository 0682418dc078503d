//! The lines in which jobs wait under Static and Adaptive Quickswap: one for each class, or one for each group of classes.
//!
//! A group is a range of needs. It is served in order of arrival: only its oldest waiting job may start, if its own need
//! fits. Where the rules count slots of a class, a group has slots of its largest need. With a group for each need these
//! are the policies on classes.

use std::ops::Range;

use crate::error::Error;
use crate::policy::{Parameters, Sight};
use crate::station::Station;
use crate::system::System;

/// The lines of a policy, numbered by ascending need.
pub trait Lines: Clone + Send + Sync {
    /// What the policy must use of the state.
    const SIGHT: Sight;

    /// The largest need of each line.
    fn needs(&self, system: &System) -> Vec<u32>;

    /// The line of a class.
    fn of(&self, class: u32) -> u32;

    /// Jobs that wait in a line.
    fn waiting(&self, station: &Station, line: u32) -> u32;

    /// Servers that the jobs of a line hold.
    fn held(&self, station: &Station, line: u32) -> u32;

    /// The class of the oldest waiting job of a line.
    fn head(&self, station: &Station, line: u32) -> Option<u32>;

    /// The class of the head of the largest line whose head fits.
    fn largest_fitting(&self, station: &Station) -> Option<u32>;

    /// The class of the head of the largest line with waiting jobs.
    fn largest_waiting(&self, station: &Station) -> Option<u32>;

    /// Jobs wait, and no line with waiting jobs is in service.
    fn waits_only_outside_service(&self, station: &Station) -> bool;
}

/// A line for each class; where only the largest need matters, classes of equal need are one line.
#[derive(Clone)]
pub struct Classes;

impl Lines for Classes {
    const SIGHT: Sight = Sight::Counts;

    fn needs(&self, system: &System) -> Vec<u32> {
        system.classes.iter().map(|class| class.need).collect()
    }

    #[inline]
    fn of(&self, class: u32) -> u32 {
        class
    }

    #[inline]
    fn waiting(&self, station: &Station, line: u32) -> u32 {
        station.waiting(line)
    }

    #[inline]
    fn held(&self, station: &Station, line: u32) -> u32 {
        station.need(line) * station.running(line)
    }

    #[inline]
    fn head(&self, station: &Station, line: u32) -> Option<u32> {
        (station.waiting(line) > 0).then_some(line)
    }

    #[inline]
    fn largest_fitting(&self, station: &Station) -> Option<u32> {
        station.largest_fitting()
    }

    #[inline]
    fn largest_waiting(&self, station: &Station) -> Option<u32> {
        station.largest_waiting()
    }

    #[inline]
    fn waits_only_outside_service(&self, station: &Station) -> bool {
        station.waits_only_outside_service()
    }
}

/// A line for each group of classes.
#[derive(Clone)]
pub struct Groups {
    /// First class of each group, and the end of the last.
    edges: Vec<u32>,
}

impl Groups {
    /// The groups of the parameters, if there are any.
    pub fn of(parameters: &Parameters<'_>) -> Result<Option<Self>, Error> {
        let system = parameters.system();
        let Some(mut edges) = parameters.get::<Option<Vec<u32>>>("groups")? else { return Ok(None) };
        if !system.given.is_sorted() {
            let allowed = "in ascending order of need, for a policy with groups";
            return Err(Error::argument("classes", &system.given, allowed));
        }
        let end = system.classes.len() as u32;
        if edges.first() != Some(&0) || !edges.is_sorted_by(|a, b| a < b) || edges.last() >= Some(&end) {
            return Err(Error::argument("groups", edges, "the first class of each group, ascending, from 0"));
        }
        edges.push(end);
        Ok(Some(Self { edges }))
    }

    /// The classes of a line.
    pub fn classes(&self, line: u32) -> Range<u32> {
        self.edges[line as usize]..self.edges[line as usize + 1]
    }

    /// The lines in ascending order of need.
    pub fn lines(&self) -> Range<u32> {
        0..self.edges.len() as u32 - 1
    }

    fn largest_first(&self) -> impl Iterator<Item = u32> {
        self.lines().rev()
    }
}

impl Lines for Groups {
    const SIGHT: Sight = Sight::Heads;

    fn needs(&self, system: &System) -> Vec<u32> {
        self.edges[1..].iter().map(|&end| system.classes[end as usize - 1].need).collect()
    }

    fn of(&self, class: u32) -> u32 {
        self.edges.partition_point(|&first| first <= class) as u32 - 1
    }

    fn waiting(&self, station: &Station, line: u32) -> u32 {
        self.classes(line).map(|class| station.waiting(class)).sum()
    }

    fn held(&self, station: &Station, line: u32) -> u32 {
        self.classes(line).map(|class| station.need(class) * station.running(class)).sum()
    }

    fn head(&self, station: &Station, line: u32) -> Option<u32> {
        let classes = self.classes(line);
        station.oldest_waiting_of(classes.start, classes.end)
    }

    fn largest_fitting(&self, station: &Station) -> Option<u32> {
        let fits = |class: &u32| station.need(*class) <= station.free();
        self.largest_first().find_map(|line| self.head(station, line).filter(fits))
    }

    fn largest_waiting(&self, station: &Station) -> Option<u32> {
        self.largest_first().find_map(|line| self.head(station, line))
    }

    fn waits_only_outside_service(&self, station: &Station) -> bool {
        let mut waiting = self.largest_first().filter(|&line| self.head(station, line).is_some());
        station.total_waiting() > 0 && waiting.all(|line| self.held(station, line) == 0)
    }
}
