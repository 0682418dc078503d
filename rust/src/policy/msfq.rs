//! MSFQ on a one-or-all system: light jobs need one server, heavy jobs need all `k`; `N` is the number of light jobs in
//! the system, `l` the threshold.
//!
//! `drain = on_demand`: light jobs start whenever a server is free, unless the system drains. After all light jobs that
//! can start have started, the drain begins as soon as a heavy job waits and `N <= l`; then no job starts. After the last
//! light job has completed, heavy jobs are served until none is left; then light jobs may start again.
//!
//! `drain = always`, the paper's four phases: a visit to the light jobs starts `min(n, k)` of the `n` waiting ones, and
//! further ones while `N > l` (phase 2 while `N >= k`, then phase 3). Once `N <= l` no light job starts, whether or not a
//! heavy job waits, until those in service have completed (phase 4). Then heavy jobs are served until none is left (phase
//! 1), and the cycle repeats. In an empty system the next arrival begins the phase of its class.
//!
//! With backfilling, light jobs start while they drain and a heavy job waits, if they are unlikely to delay it.

use super::shared::{Backfill, Drain, Never, Rule};
use super::{Choice, Parameters, Policy, PolicyVisitor, Sight, View};
use crate::book::Slot;
use crate::counters::Phases;
use crate::error::Error;
use crate::station::Station;

const LIGHT: u32 = 0;
const HEAVY: u32 = 1;

const IDLE: usize = 0;
const HEAVIES: usize = 1;
const LIGHTS_FULL: usize = 2;
const LIGHTS: usize = 3;
const DRAIN: usize = 4;

pub(super) fn build<V: PolicyVisitor>(parameters: &Parameters<'_>, visitor: V) -> Result<V::Output, Error> {
    Ok(match Rule::of(parameters)? {
        Rule::Never => visitor.visit(Msfq::new(parameters, Never)?),
        Rule::ByDistributions(rule) => visitor.visit(Msfq::new(parameters, rule)?),
        Rule::ByAges(rule) => visitor.visit(Msfq::new(parameters, rule)?),
        Rule::ByEstimates(rule) => visitor.visit(Msfq::new(parameters, rule)?),
    })
}

/// MSFQ.
#[derive(Clone)]
struct Msfq<B> {
    threshold: u32,
    always: bool,
    /// Lights of the batch that a visit must still start (`always` only).
    batch: u32,
    phases: Phases,
    backfill: B,
}

impl<B: Backfill> Msfq<B> {
    fn new(parameters: &Parameters<'_>, backfill: B) -> Result<Self, Error> {
        let system = parameters.system();
        let needs: Vec<u32> = system.classes.iter().map(|c| c.need).collect();
        if needs != [1, system.servers] || system.servers < 2 {
            return Err(Error::argument("needs", needs, format!("[1, {}] under MSFQ", system.servers)));
        }
        let always = parameters.choose("drain", ["on_demand", "always"])? == 1;
        let threshold: u32 = parameters.get("threshold")?;
        let largest = system.servers - u32::from(always);
        if threshold > largest {
            return Err(Error::argument("threshold", threshold, format!("from 0 to {largest}")));
        }
        let phases = Phases::new(if always { IDLE } else { LIGHTS });
        Ok(Self { threshold, always, batch: 0, phases, backfill })
    }

    /// The answer if the phase continues, which is the common case.
    #[inline]
    fn within_phase(&self, station: &Station) -> Option<Choice> {
        match self.phases.current() {
            HEAVIES if station.running(HEAVY) > 0 => Some(Choice::Wait),
            HEAVIES if station.waiting(HEAVY) > 0 => Some(Choice::Head(HEAVY)),
            DRAIN if !B::ON && station.running(LIGHT) > 0 => Some(Choice::Wait),
            phase @ (LIGHTS_FULL | LIGHTS) => {
                if station.free() > 0 {
                    if station.waiting(LIGHT) > 0 {
                        return if self.always { None } else { Some(Choice::Head(LIGHT)) };
                    }
                    if phase == LIGHTS_FULL {
                        return None;
                    }
                }
                if station.present(LIGHT) > self.threshold { Some(Choice::Wait) } else { None }
            }
            _ => None,
        }
    }

    /// Changes the phase until a job starts, or no job can.
    #[inline(never)]
    fn change_phase(&mut self, view: View<'_>) -> Choice {
        let station = view.station;
        loop {
            match self.phases.current() {
                IDLE => match station.oldest_waiting() {
                    None => return Choice::Wait,
                    Some(HEAVY) => self.phases.enter(HEAVIES, station.now()),
                    Some(_) => self.visit(view),
                },
                HEAVIES if station.running(HEAVY) > 0 => return Choice::Wait,
                HEAVIES if station.waiting(HEAVY) > 0 => return Choice::Head(HEAVY),
                HEAVIES if self.always && station.waiting(LIGHT) == 0 => self.phases.enter(IDLE, station.now()),
                HEAVIES => self.visit(view),
                DRAIN if station.running(LIGHT) > 0 => {
                    let needed = B::ON && station.waiting(HEAVY) > 0;
                    return if needed { self.backfill.next(view, Drain::of(HEAVY)) } else { Choice::Wait };
                }
                DRAIN => self.phases.enter(HEAVIES, station.now()),
                phase => {
                    let lights = station.present(LIGHT);
                    let can_start = station.waiting(LIGHT) > 0 && station.free() > 0;
                    if self.batch > 0 {
                        self.batch -= 1;
                        return Choice::Head(LIGHT);
                    }
                    // on demand, the light jobs that can start do so before the threshold is checked
                    if can_start && (!self.always || lights > self.threshold) {
                        return Choice::Head(LIGHT);
                    }
                    if phase == LIGHTS_FULL && lights < station.servers() {
                        self.phases.enter(LIGHTS, station.now());
                    }
                    if lights > self.threshold || !(self.always || station.waiting(HEAVY) > 0) {
                        return Choice::Wait;
                    }
                    if self.phases.current() == LIGHTS_FULL {
                        // with l = k a drain may begin while N = k; then phase 3 takes no time
                        self.phases.enter(LIGHTS, station.now());
                    }
                    self.phases.enter(DRAIN, station.now());
                }
            }
        }
    }

    fn visit(&mut self, view: View<'_>) {
        if self.always {
            self.batch = view.station.waiting(LIGHT).min(view.station.servers());
        }
        self.phases.enter(LIGHTS_FULL, view.station.now());
    }
}

impl<B: Backfill> Policy for Msfq<B> {
    const HOOKS: bool = B::ON;
    const ENDS: bool = B::ON;

    fn sight(&self) -> Sight {
        // the order matters if a light and a heavy arrive at an empty system in one instant
        B::SIGHT.max(if self.always { Sight::Heads } else { Sight::Counts })
    }

    fn remembers_order(&self) -> bool {
        false
    }

    /// Invariant: no light job waits for a free server in the phases of the light jobs.
    #[inline]
    fn admits(&mut self, station: &Station, class: u32) -> bool {
        let lights = matches!(self.phases.current(), LIGHTS_FULL | LIGHTS);
        !self.always && lights && class == LIGHT && station.free() > 0
    }

    #[inline]
    fn next(&mut self, view: View<'_>) -> Choice {
        self.within_phase(view.station).unwrap_or_else(|| self.change_phase(view))
    }

    /// The job belongs to the phase, or is backfilled while the light jobs drain.
    fn permits(&self, view: View<'_>, class: u32, slot: Slot) -> bool {
        match self.phases.current() {
            DRAIN => self.backfill.permits(view, Drain::of(HEAVY), class, slot),
            phase => (phase == HEAVIES) == (class == HEAVY),
        }
    }

    #[inline]
    fn arrived(&mut self, view: View<'_>, class: u32, slot: Slot) {
        self.backfill.arrived(view, class, slot);
    }

    #[inline]
    fn starting(&mut self, view: View<'_>, class: u32, slot: Slot) {
        self.backfill.starting(view, class, slot);
    }

    #[inline]
    fn ended(&mut self, view: View<'_>, class: u32, slot: Slot) {
        self.backfill.ended(view, class, slot);
    }

    fn corrected(&mut self, view: View<'_>, class: u32, slot: Slot, old: f64) {
        self.backfill.corrected(view, class, slot, old);
    }

    fn phases(&mut self) -> Option<&mut Phases> {
        Some(&mut self.phases)
    }

    /// The phase and the light jobs left of the batch. No decision differs between phases 2 and 3, so both are saved as 3.
    fn save(&self) -> Vec<i64> {
        let phase = if self.phases.current() == LIGHTS_FULL { LIGHTS } else { self.phases.current() };
        vec![phase as i64, i64::from(self.batch)]
    }

    fn restore(&mut self, state: &[i64], view: View<'_>) -> Result<(), Error> {
        let &[phase @ 0..=4, batch @ 0..=0xFFFF_FFFF] = state else {
            return Err(Error::argument("policy state", state, "(phase from 0 to 4, lights left of the batch)"));
        };
        self.phases.reset(phase as usize, view.station.now());
        self.batch = batch as u32;
        self.backfill.restore(view)
    }
}
