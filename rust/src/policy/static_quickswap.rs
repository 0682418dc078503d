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
//!
//! With groups, a group takes the place of a class.

use super::shared::{Backfill, Classes, Drain, Groups, Lines, Never, Rule};
use super::{Choice, Parameters, Policy, PolicyVisitor, Sight, View};
use crate::book::Slot;
use crate::error::Error;
use crate::station::{Bits, Station};

pub(super) fn build<V: PolicyVisitor>(parameters: &Parameters<'_>, visitor: V) -> Result<V::Output, Error> {
    Ok(match (Groups::of(parameters)?, Rule::of(parameters)?) {
        (None, Rule::Never) => visitor.visit(StaticQuickswap::new(parameters, Classes, Never)?),
        (None, Rule::ByDistributions(rule)) => visitor.visit(StaticQuickswap::new(parameters, Classes, rule)?),
        (None, Rule::ByAges(rule)) => visitor.visit(StaticQuickswap::new(parameters, Classes, rule)?),
        (None, Rule::ByEstimates(rule)) => visitor.visit(StaticQuickswap::new(parameters, Classes, rule)?),
        (Some(groups), Rule::Never) => visitor.visit(StaticQuickswap::new(parameters, groups, Never)?),
        (Some(_), _) => return Err(Error::Unsupported("backfilling requires classes without groups")),
    })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// The line visited is admitted.
    Open,
    /// Its jobs complete and no job starts (`exclusive`).
    Drain,
    /// The system is empty (`exclusive`).
    Idle,
}

/// Static Quickswap.
#[derive(Clone)]
struct StaticQuickswap<L, B> {
    exclusive: bool,
    lines: L,
    /// Line at each place of the cycle, and place of each line.
    order: Vec<u32>,
    place: Vec<u32>,
    /// Per line, in servers.
    thresholds: Vec<u32>,
    /// Places whose line has waiting jobs.
    open: Bits,
    /// The line visited.
    current: u32,
    stage: Stage,
    backfill: B,
}

impl<L: Lines, B: Backfill> StaticQuickswap<L, B> {
    fn new(parameters: &Parameters<'_>, lines: L, backfill: B) -> Result<Self, Error> {
        let system = parameters.system();
        let inner = system.inner(); // groups require classes in ascending order of need, so it is the identity
        let needs = lines.needs(system);
        let given: Vec<usize> = parameters.get("order")?;
        let slots: Vec<u32> = parameters.get("thresholds")?;
        let mut sorted = given.clone();
        sorted.sort_unstable();
        if !sorted.into_iter().eq(0..needs.len()) {
            return Err(Error::argument("order", given, "each class once"));
        }
        if slots.len() != needs.len() {
            return Err(Error::argument("thresholds", slots, "one number for each class"));
        }
        let order: Vec<u32> = given.iter().map(|&line| inner[line]).collect();
        let (mut place, mut thresholds) = (vec![0; needs.len()], vec![0; needs.len()]);
        for (at, &line) in (0..).zip(&order) {
            place[line as usize] = at;
        }
        for (&slots, &line) in slots.iter().zip(&inner) {
            let need = needs[line as usize];
            let most = system.servers / need - 1;
            if slots > most {
                return Err(Error::argument("threshold", slots, format!("from 0 to {most} for a need of {need}")));
            }
            thresholds[line as usize] = slots * need;
        }
        let exclusive = parameters.choose("drain", ["overlap", "exclusive"])? == 1;
        let stage = if exclusive { Stage::Idle } else { Stage::Open };
        let (current, open) = (order[0], Bits::new(order.len()));
        Ok(Self { exclusive, lines, order, place, thresholds, open, current, stage, backfill })
    }

    /// The next line of the cycle with waiting jobs, the line visited itself last.
    #[inline]
    fn next_waiting(&self) -> Option<u32> {
        let after = self.place[self.current as usize] as usize + 1;
        let place = self.open.first_from(after).or_else(|| self.open.first())?;
        Some(self.order[place])
    }

    /// No job of another line is in service, if the jobs of the visited line hold this many servers.
    #[inline]
    fn alone(&self, station: &Station, held: u32) -> bool {
        station.free() + held == station.servers()
    }

    /// The current drain, if any. Where jobs are backfilled, a line is a class.
    #[inline]
    fn drain(&self, station: &Station) -> Option<Drain> {
        if !self.exclusive {
            let target = self.lines.head(station, self.current)?;
            return (!self.alone(station, self.lines.held(station, self.current))).then(|| Drain::of(target));
        }
        let target = self.next_waiting().filter(|_| self.stage == Stage::Drain)?;
        Some(Drain { target, leaving: Some(self.current) })
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
            let line = self.current;
            let head = self.lines.head(station, line);
            if let Some(class) = head.filter(|&class| station.need(class) <= station.free()) {
                return Choice::Head(class);
            }
            let held = self.lines.held(station, line);
            let due = held <= self.thresholds[line as usize];
            let others_wait = station.total_waiting() > u64::from(self.lines.waiting(station, line));
            if !(due && others_wait && (head.is_none() || self.alone(station, held))) {
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
            let line = self.current;
            match self.stage {
                Stage::Open => {
                    let head = self.lines.head(station, line);
                    if let Some(class) = head.filter(|&class| station.need(class) <= station.free()) {
                        return Choice::Head(class);
                    }
                    let held = self.lines.held(station, line);
                    let blocked = B::ON && head.is_some() && !self.alone(station, held);
                    if blocked || held > self.thresholds[line as usize] {
                        return Choice::Wait;
                    }
                    self.stage = Stage::Drain;
                }
                Stage::Drain if self.lines.held(station, line) > 0 => return self.wait(view),
                Stage::Drain => match self.next_waiting() {
                    Some(next) => (self.current, self.stage) = (next, Stage::Open),
                    None => self.stage = Stage::Idle,
                },
                Stage::Idle => match station.oldest_waiting() {
                    Some(class) => (self.current, self.stage) = (self.lines.of(class), Stage::Open),
                    None => return Choice::Wait,
                },
            }
        }
    }
}

impl<L: Lines, B: Backfill> Policy for StaticQuickswap<L, B> {
    const HOOKS: bool = true;
    const ENDS: bool = B::ON;

    fn sight(&self) -> Sight {
        // the order matters if jobs of several classes arrive at an empty system in one instant
        L::SIGHT.max(B::SIGHT).max(if self.exclusive { Sight::Heads } else { Sight::Counts })
    }

    fn remembers_order(&self) -> bool {
        L::SIGHT == Sight::Heads
    }

    #[inline]
    fn next(&mut self, view: View<'_>) -> Choice {
        if self.exclusive { self.exclusive(view) } else { self.overlap(view) }
    }

    /// The job belongs to the line visited, or is backfilled during a drain.
    fn permits(&self, view: View<'_>, class: u32, slot: Slot) -> bool {
        let visited = self.lines.of(class) == self.current && self.stage == Stage::Open;
        visited || self.drain(view.station).is_some_and(|drain| self.backfill.permits(view, drain, class, slot))
    }

    #[inline]
    fn arrived(&mut self, view: View<'_>, class: u32, slot: Slot) {
        self.open.insert(self.place[self.lines.of(class) as usize] as usize);
        self.backfill.arrived(view, class, slot);
    }

    #[inline]
    fn starting(&mut self, view: View<'_>, class: u32, slot: Slot) {
        let line = self.lines.of(class);
        if self.lines.waiting(view.station, line) == 1 {
            self.open.remove(self.place[line as usize] as usize);
        }
        self.backfill.starting(view, class, slot);
    }

    #[inline]
    fn ended(&mut self, view: View<'_>, class: u32, slot: Slot) {
        self.backfill.ended(view, class, slot);
    }

    fn corrected(&mut self, view: View<'_>, class: u32, slot: Slot, old: f64) {
        self.backfill.corrected(view, class, slot, old);
    }

    /// The place in the cycle, and whether it is open (0), drains (1) or is idle (2).
    fn save(&self) -> Vec<i64> {
        vec![i64::from(self.place[self.current as usize]), self.stage as i64]
    }

    fn restore(&mut self, state: &[i64], view: View<'_>) -> Result<(), Error> {
        let saved = match state.iter().map(|&number| usize::try_from(number)).collect::<Result<Vec<_>, _>>().as_deref()
        {
            Ok(&[place, stage]) => self.order.get(place).zip([Stage::Open, Stage::Drain, Stage::Idle].get(stage)),
            _ => None,
        };
        let Some((&line, &stage)) = saved else {
            let allowed = format!("(place from 0 to {}, stage from 0 to 2)", self.order.len() - 1);
            return Err(Error::argument("policy state", state, allowed));
        };
        (self.current, self.stage) = (line, stage);
        self.open = Bits::new(self.order.len());
        for (at, &line) in self.order.iter().enumerate() {
            if self.lines.waiting(view.station, line) > 0 {
                self.open.insert(at);
            }
        }
        self.backfill.restore(view)
    }
}
