//! Static Quickswap: the classes are visited in a cyclic order. A visit to class i starts class-i jobs only, up to
//! `c_i = floor(k / n_i)` at once. The swap is due when no waiting class-i job can be started and `u_i <= l_i`.
//!
//! `drain = overlap`: swap when it is due, some other class has waiting jobs, and either no other class is in service or
//! class i has no waiting jobs; go to the next class of the cycle with waiting jobs, which starts jobs as servers become
//! free.
//!
//! `drain = exclusive` (the paper's text): when it is due, class i drains, whether or not other jobs wait: no job starts
//! until all class-i jobs have completed. The next visit is to the next class of the cycle with waiting jobs, class i
//! itself last. In an empty system the next arrival begins a visit to its class.
//!
//! With backfilling, jobs of classes other than the next one start during a drain if they are unlikely to delay it. Under
//! `overlap` a drain lasts while the class visited waits for servers that other classes hold. Under `exclusive` a backfilled
//! job may outlast the drain; the next visit then ends only after that job, unless its class has no waiting jobs.

use super::backfill::{Backfill, Drain};
use super::{Choice, Parameters, Policy, Sight, View};
use crate::book::Slot;
use crate::error::Error;
use crate::station::{Bits, Station};

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// The class (or group) visited is admitted.
    Open,
    /// Its jobs complete and no job starts (`exclusive`).
    Drain,
    /// The system is empty (`exclusive`).
    Idle,
}

/// The place in a cycle of so many classes (or groups) and the stage that a saved state holds.
pub(super) fn restore_cycle(state: &[i64], length: usize) -> Result<(usize, Stage), Error> {
    let invalid =
        || Error::argument("policy state", state, format!("(place from 0 to {}, stage from 0 to 2)", length - 1));
    let &[place, stage] = state else { return Err(invalid()) };
    let stage = match stage {
        0 => Stage::Open,
        1 => Stage::Drain,
        2 => Stage::Idle,
        _ => return Err(invalid()),
    };
    match usize::try_from(place) {
        Ok(place) if place < length => Ok((place, stage)),
        _ => Err(invalid()),
    }
}

/// Static Quickswap.
#[derive(Clone)]
pub struct StaticQuickswap<B> {
    exclusive: bool,
    /// Class at each place of the cycle, and place of each class.
    order: Vec<u32>,
    place: Vec<u32>,
    /// Per class.
    thresholds: Vec<u32>,
    /// Places whose class has waiting jobs.
    open: Bits,
    current: u32,
    stage: Stage,
    backfill: B,
}

impl<B: Backfill> StaticQuickswap<B> {
    pub(super) fn build(parameters: &Parameters<'_>) -> Result<Self, Error> {
        let system = parameters.system();
        let (inner, classes) = (system.inner(), system.classes.len());
        let given: Vec<usize> = parameters.get("order")?;
        let levels: Vec<u32> = parameters.get("thresholds")?;
        let mut sorted = given.clone();
        sorted.sort_unstable();
        if !sorted.into_iter().eq(0..classes) {
            return Err(Error::argument("order", given, "each class once"));
        }
        let order: Vec<u32> = given.iter().map(|&class| inner[class]).collect();
        let mut place = vec![0; classes];
        for (i, &class) in (0..).zip(&order) {
            place[class as usize] = i;
        }
        if levels.len() != classes {
            return Err(Error::argument("thresholds", levels, "one number for each class"));
        }
        let thresholds: Vec<u32> = system.given.iter().map(|&given| levels[given]).collect();
        for (class, &threshold) in system.classes.iter().zip(&thresholds) {
            let slots = system.servers / class.need;
            if threshold >= slots {
                let allowed = format!("from 0 to {} for a class of need {}", slots - 1, class.need);
                return Err(Error::argument("threshold", threshold, allowed));
            }
        }
        let exclusive = parameters.choose("drain", ["overlap", "exclusive"])? == 1;
        let stage = if exclusive { Stage::Idle } else { Stage::Open };
        let (current, open, backfill) = (order[0], Bits::new(classes), B::build(parameters)?);
        Ok(Self { exclusive, order, place, thresholds, open, current, stage, backfill })
    }

    /// The next class of the cycle with waiting jobs, class `current` itself last.
    #[inline]
    fn next_waiting(&self) -> Option<u32> {
        let after = self.place[self.current as usize] as usize + 1;
        let place = self.open.first_from(after).or_else(|| self.open.first())?;
        Some(self.order[place])
    }

    /// The current drain, if any.
    #[inline]
    fn drain(&self, station: &Station) -> Option<Drain> {
        let class = self.current;
        if !self.exclusive {
            return (station.waiting(class) > 0 && !station.alone(class)).then(|| Drain::of(class));
        }
        let target = self.next_waiting().filter(|_| self.stage == Stage::Drain)?;
        Some(Drain { target, leaving: Some(class) })
    }

    /// The rule without backfilling starts no job.
    #[inline]
    fn wait(&mut self, view: View<'_>) -> Choice {
        if !B::ON {
            return Choice::Wait;
        }
        self.drain(view.station).map_or(Choice::Wait, |drain| self.backfill.next(view, drain))
    }

    #[inline]
    fn overlap(&mut self, view: View<'_>) -> Choice {
        let station = view.station;
        loop {
            let class = self.current;
            let waiting = station.waiting(class);
            if waiting > 0 && station.need(class) <= station.free() {
                return Choice::Head(class);
            }
            let due = station.running(class) <= self.thresholds[class as usize];
            let others_wait = station.total_waiting() > u64::from(waiting);
            if !(due && others_wait && (waiting == 0 || station.alone(class))) {
                return self.wait(view);
            }
            match self.next_waiting() {
                Some(next) => self.current = next,
                None => return Choice::Wait,
            }
        }
    }

    #[inline]
    fn exclusive(&mut self, view: View<'_>) -> Choice {
        let station = view.station;
        loop {
            match self.stage {
                Stage::Open => {
                    let class = self.current;
                    if station.waiting(class) > 0 && station.need(class) <= station.free() {
                        return Choice::Head(class);
                    }
                    let blocked = B::ON && station.waiting(class) > 0 && !station.alone(class);
                    if blocked || station.running(class) > self.thresholds[class as usize] {
                        return Choice::Wait;
                    }
                    self.stage = Stage::Drain;
                }
                Stage::Drain if station.running(self.current) > 0 => return self.wait(view),
                Stage::Drain => match self.next_waiting() {
                    Some(next) => (self.current, self.stage) = (next, Stage::Open),
                    None => self.stage = Stage::Idle,
                },
                Stage::Idle => match station.oldest_waiting() {
                    Some(class) => (self.current, self.stage) = (class, Stage::Open),
                    None => return Choice::Wait,
                },
            }
        }
    }
}

impl<B: Backfill> Policy for StaticQuickswap<B> {
    const HOOKS: bool = true;
    const ENDS: bool = B::ON;

    fn sight(&self) -> Sight {
        // the order matters if jobs of several classes arrive at an empty system in one instant
        B::SIGHT.max(if self.exclusive { Sight::Heads } else { Sight::Counts })
    }

    fn remembers_order(&self) -> bool {
        false
    }

    #[inline]
    fn next(&mut self, view: View<'_>) -> Choice {
        if self.exclusive { self.exclusive(view) } else { self.overlap(view) }
    }

    /// The job belongs to the visited class, or is backfilled during a drain.
    fn permits(&self, view: View<'_>, class: u32, slot: Slot) -> bool {
        let visited = class == self.current && self.stage == Stage::Open;
        visited || self.drain(view.station).is_some_and(|drain| self.backfill.permits(view, drain, class, slot))
    }

    #[inline]
    fn arrived(&mut self, view: View<'_>, class: u32, slot: Slot) {
        self.open.insert(self.place[class as usize] as usize);
        self.backfill.arrived(view, class, slot);
    }

    #[inline]
    fn starting(&mut self, view: View<'_>, class: u32, slot: Slot) {
        if view.station.waiting(class) == 1 {
            self.open.remove(self.place[class as usize] as usize);
        }
        self.backfill.starting(view, class, slot);
    }

    #[inline]
    fn ended(&mut self, view: View<'_>, class: u32, slot: Slot) {
        self.backfill.ended(view, class, slot);
    }

    /// The place in the cycle, and whether it is open (0), drains (1) or is idle (2).
    fn save(&self) -> Vec<i64> {
        vec![i64::from(self.place[self.current as usize]), self.stage as i64]
    }

    fn restore(&mut self, state: &[i64], view: View<'_>) -> Result<(), Error> {
        let (place, stage) = restore_cycle(state, self.order.len())?;
        (self.current, self.stage) = (self.order[place], stage);
        self.open = Bits::new(self.order.len());
        for (class, &place) in self.place.iter().enumerate() {
            if view.station.waiting(class as u32) > 0 {
                self.open.insert(place as usize);
            }
        }
        self.backfill.restore(view)
    }
}
