//! Balanced Splitting: each class has *slots*, servers that only its jobs use, and all classes share the other servers, the
//! *helpers*. A job stays on the servers on which it has started.
//!
//! The head of line of a class with a free slot starts there; of several, the one of the largest need first. Otherwise the
//! oldest waiting job starts on the helpers if enough of them are free (head-of-line blocking). Jobs that need more
//! servers than there are helpers only wait for a slot.

use super::{Choice, Parameters, Policy, PolicyVisitor, Sight, View};
use crate::book::Slot;
use crate::error::Error;
use crate::station::Bits;

pub(super) fn build<V: PolicyVisitor>(parameters: &Parameters<'_>, visitor: V) -> Result<V::Output, Error> {
    Ok(visitor.visit(BalancedSplitting::new(parameters)?))
}

/// Balanced Splitting.
#[derive(Clone)]
struct BalancedSplitting {
    /// Free slots per class.
    slots: Vec<u32>,
    /// Classes with a free slot.
    open: Bits,
    /// Helpers that are free.
    helpers: u32,
    /// Jobs of the classes below this one may start on the helpers.
    helped: u32,
    /// Whether the job at each place of the book is on the helpers.
    outside: Vec<bool>,
}

impl BalancedSplitting {
    fn new(parameters: &Parameters<'_>) -> Result<Self, Error> {
        let (system, given) = (parameters.system(), parameters.get::<Vec<u32>>("slots")?);
        let slots: Option<Vec<u32>> = system.given.iter().map(|&class| given.get(class).copied()).collect();
        let Some(slots) = slots else {
            return Err(Error::argument("slots", given, "one number for each class"));
        };
        let used: u64 = slots.iter().zip(&system.classes).map(|(&n, c)| u64::from(n) * u64::from(c.need)).sum();
        let Some(helpers) = u64::from(system.servers).checked_sub(used) else {
            return Err(Error::argument("slots", given, format!("slots of at most {} servers", system.servers)));
        };
        let helpers = helpers as u32;
        let helped = system.classes.partition_point(|class| class.need <= helpers);
        if slots[helped..].contains(&0) {
            return Err(Error::argument("slots", given, "a slot for each class whose jobs do not fit on the helpers"));
        }
        let mut open = Bits::new(slots.len());
        (0..slots.len()).filter(|&class| slots[class] > 0).for_each(|class| open.insert(class));
        Ok(Self { slots, open, helpers, helped: helped as u32, outside: Vec::new() })
    }

    /// A job of a class starts in a slot, or on the helpers.
    fn place(&mut self, class: u32, need: u32, slot: Slot, outside: bool) {
        if outside {
            self.helpers -= need;
        } else {
            let free = &mut self.slots[class as usize];
            *free -= 1;
            if *free == 0 {
                self.open.remove(class as usize);
            }
        }
        let at = slot as usize;
        if at >= self.outside.len() {
            self.outside.resize(at + 1, false);
        }
        self.outside[at] = outside;
    }
}

impl Policy for BalancedSplitting {
    const ENDS: bool = true;

    fn sight(&self) -> Sight {
        Sight::Jobs
    }

    fn next(&mut self, view: View<'_>) -> Choice {
        let station = view.station;
        let inside = station.largest_fitting_of(&self.open);
        let Some(class) = inside.or_else(|| station.oldest_waiting_of(0, self.helped)) else { return Choice::Wait };
        let need = station.need(class);
        if inside.is_none() && need > self.helpers {
            return Choice::Wait;
        }
        self.place(class, need, view.book.head(class), inside.is_none());
        Choice::Head(class)
    }

    fn ended(&mut self, view: View<'_>, class: u32, slot: Slot) {
        if self.outside[slot as usize] {
            self.helpers += view.station.need(class);
        } else {
            self.slots[class as usize] += 1;
            self.open.insert(class as usize);
        }
    }

    fn save(&self) -> Vec<i64> {
        self.slots.iter().map(|&free| free.into()).collect()
    }

    fn restore(&mut self, state: &[i64], view: View<'_>) -> Result<(), Error> {
        let fault = || Error::argument("policy state", state, "free slots of each class that suit the jobs in service");
        // of a class, the jobs that started first are in its slots
        for (slot, job) in view.book.walk(view.book.running()) {
            let (class, need) = (job.class as usize, view.station.need(job.class));
            let outside = state.get(class).is_none_or(|&free| i64::from(self.slots[class]) <= free);
            if outside && need > self.helpers {
                return Err(fault());
            }
            self.place(job.class, need, slot, outside);
        }
        if self.save() == state { Ok(()) } else { Err(fault()) }
    }
}
