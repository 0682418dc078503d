//! The classes in service in the order of the times at which all their jobs are expected to complete.

/// Place of a class that is not in service.
const ABSENT: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Departure {
    time: f64,
    /// Servers that the class frees.
    held: u32,
    class: u32,
}

/// A sorted list. A start or an end moves one class, seldom far.
#[derive(Clone, Debug)]
pub struct Departures {
    list: Vec<Departure>,
    places: Vec<u32>,
}

impl Departures {
    /// No job is in service.
    pub fn new(classes: usize) -> Self {
        Self { list: Vec::with_capacity(classes), places: vec![ABSENT; classes] }
    }

    /// Removes all classes.
    pub fn clear(&mut self) {
        self.list.clear();
        self.places.fill(ABSENT);
    }

    /// The class holds `held` servers (0 without jobs in service) and is expected to have freed them after `time` seconds.
    #[inline]
    pub fn set(&mut self, class: u32, time: f64, held: u32) {
        let mut at = self.places[class as usize] as usize;
        if held == 0 {
            self.remove(at);
            self.places[class as usize] = ABSENT;
            return;
        }
        let here = Departure { time, held, class };
        if at == ABSENT as usize {
            at = self.list.len();
            self.list.push(here);
        }
        while at > 0 && self.list[at - 1].time > time {
            self.shift(at - 1, at);
            at -= 1;
        }
        while at + 1 < self.list.len() && self.list[at + 1].time < time {
            self.shift(at + 1, at);
            at += 1;
        }
        self.list[at] = here;
        self.places[class as usize] = at as u32;
    }

    #[inline]
    fn shift(&mut self, from: usize, to: usize) {
        let moved = self.list[from];
        self.list[to] = moved;
        self.places[moved.class as usize] = to as u32;
    }

    fn remove(&mut self, at: usize) {
        if at >= self.list.len() {
            return;
        }
        self.list.remove(at);
        for (place, other) in self.list.iter().enumerate().skip(at) {
            self.places[other.class as usize] = place as u32;
        }
    }

    /// The time after which a class is expected to have no job in service; 0 if it has none.
    pub fn gone(&self, class: u32) -> f64 {
        self.list.get(self.places[class as usize] as usize).map_or(0.0, |departure| departure.time)
    }

    /// The time after which `lacking` more servers are free, if classes free their servers one after another.
    #[inline]
    pub fn freed(&self, mut lacking: u32) -> f64 {
        for departure in &self.list {
            if departure.held >= lacking {
                return departure.time;
            }
            lacking -= departure.held;
        }
        f64::INFINITY
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn agrees_with_sorting(
            moves in prop::collection::vec((0u32..9, 0u32..6, 0u32..5), 1..80), lacking in 1u32..30,
        ) {
            let (mut departures, mut now) = (Departures::new(9), [(0.0, 0); 9]);
            for (class, time, held) in moves {
                departures.set(class, f64::from(time), held);
                now[class as usize] = (f64::from(time), held);
                let mut sorted: Vec<(f64, u32)> = now.into_iter().filter(|each| each.1 > 0).collect();
                sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
                let mut sum = 0;
                let reached = sorted.iter().find(|each| { sum += each.1; sum >= lacking });
                prop_assert_eq!(departures.freed(lacking), reached.map_or(f64::INFINITY, |each| each.0));
                for (class, &(time, held)) in (0..).zip(&now) {
                    prop_assert_eq!(departures.gone(class), if held > 0 { time } else { 0.0 });
                }
            }
        }
    }
}
