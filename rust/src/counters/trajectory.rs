//! Number in system per class against time, thinned so that memory is bounded.

use crate::station::Station;

/// The state at equally spaced times; when there are too many points every second one is dropped.
#[derive(Clone, Debug)]
pub struct Trajectory {
    classes: usize,
    most: usize,
    step: f64,
    next: f64,
    counts: Vec<u32>,
}

impl Trajectory {
    /// Keeps between `most / 2` and `most` points (none if 0). At first they are a small part of `gap` apart, which is
    /// the time until the first arrival: it may be much longer than later ones.
    pub fn new(classes: usize, most: usize, gap: f64) -> Self {
        let step = (gap * 2f64.powi(-20)).max(f64::MIN_POSITIVE);
        let next = if most == 0 { f64::INFINITY } else { 0.0 };
        Self { classes, most: most.next_multiple_of(2), step, next, counts: Vec::new() }
    }

    /// A point lies before (or at) this time.
    #[inline]
    pub fn due(&self, now: f64) -> bool {
        self.next <= now
    }

    /// Takes all points up to `now`, at which the state held until then ends.
    #[cold]
    pub fn sample(&mut self, station: &Station, now: f64) {
        while self.next <= now {
            self.counts.extend((0..self.classes).map(|class| station.present(class as u32)));
            if self.counts.len() == self.most * self.classes {
                self.thin();
            }
            self.next = (self.counts.len() / self.classes) as f64 * self.step;
        }
    }

    fn thin(&mut self) {
        self.step *= 2.0;
        let width = self.classes;
        let kept = self.counts.chunks_exact(2 * width).flat_map(|pair| pair[..width].iter().copied());
        self.counts = kept.collect();
    }

    /// Seconds between points, and the counts of all classes at each point; the first point is at time 0.
    pub fn points(&self) -> (f64, &[u32]) {
        (self.step, &self.counts)
    }
}
