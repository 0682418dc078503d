//! The station: how many jobs of each class wait and run, and the look-ups that policies decide with.
//!
//! A *level* is a set of classes of equal need. Levels and classes are numbered by ascending need, so "the largest need
//! that fits" is one bitset search, whatever the number of classes or servers.

mod bits;
mod heads;

pub use bits::Bits;
pub use heads::Heads;

use crate::system::System;

/// Counts of one class.
#[derive(Clone, Copy, Debug)]
struct Cell {
    need: u32,
    level: u32,
    waiting: u32,
    running: u32,
}

/// Counts of the whole system, maintained by the engine.
#[derive(Clone, Debug)]
pub struct Station {
    now: f64,
    servers: u32,
    free: u32,
    total_waiting: u64,
    /// Classes that have jobs both waiting and in service.
    mixed: u32,
    cells: Vec<Cell>,
    /// Per level: need, first class; one more entry closes the last level.
    levels: Vec<(u32, u32)>,
    /// Jobs waiting per level, kept only if some level has several classes.
    level_waiting: Vec<u64>,
    /// `fits[free]`: number of levels whose need is at most `free`.
    fits: Vec<u32>,
    open: Bits,
    heads: Heads,
    /// Some level has several classes.
    shared: bool,
    /// Order of the heads of line is kept.
    ordered: bool,
}

impl Station {
    /// An empty station. `ordered` maintains the arrival order of the heads of line.
    pub fn new(system: &System, ordered: bool) -> Self {
        let mut levels: Vec<(u32, u32)> = Vec::new();
        let mut cells = Vec::with_capacity(system.classes.len());
        for (class, spec) in system.classes.iter().enumerate() {
            if levels.last().is_none_or(|&(need, _)| need != spec.need) {
                levels.push((spec.need, class as u32));
            }
            cells.push(Cell { need: spec.need, level: levels.len() as u32 - 1, waiting: 0, running: 0 });
        }
        let count = levels.len();
        let shared = count < cells.len();
        let mut fits = vec![0; system.servers as usize + 1];
        for &(need, _) in &levels {
            fits[need as usize] = 1;
        }
        let mut sum = 0;
        for entry in &mut fits {
            sum += *entry;
            *entry = sum;
        }
        levels.push((u32::MAX, cells.len() as u32));
        Self {
            now: 0.0,
            servers: system.servers,
            free: system.servers,
            total_waiting: 0,
            mixed: 0,
            level_waiting: vec![0; if shared { count } else { 0 }],
            fits,
            open: Bits::new(count),
            heads: Heads::new(if ordered || shared { cells.len() } else { 0 }),
            shared,
            ordered: ordered || shared,
            cells,
            levels,
        }
    }

    /// Current time, seconds.
    #[inline]
    pub fn now(&self) -> f64 {
        self.now
    }

    /// Number of servers.
    #[inline]
    pub fn servers(&self) -> u32 {
        self.servers
    }

    /// Free servers.
    #[inline]
    pub fn free(&self) -> u32 {
        self.free
    }

    /// Number of classes.
    #[inline]
    pub fn classes(&self) -> usize {
        self.cells.len()
    }

    /// Need of a class, servers.
    #[inline]
    pub fn need(&self, class: u32) -> u32 {
        self.cells[class as usize].need
    }

    /// Jobs of a class that wait.
    #[inline]
    pub fn waiting(&self, class: u32) -> u32 {
        self.cells[class as usize].waiting
    }

    /// Jobs of a class in service.
    #[inline]
    pub fn running(&self, class: u32) -> u32 {
        self.cells[class as usize].running
    }

    /// Jobs of a class waiting or in service.
    #[inline]
    pub fn present(&self, class: u32) -> u32 {
        let cell = &self.cells[class as usize];
        cell.waiting + cell.running
    }

    /// Jobs that wait, all classes.
    #[inline]
    pub fn total_waiting(&self) -> u64 {
        self.total_waiting
    }

    /// Some job waits, and no class has jobs both waiting and in service.
    #[inline]
    pub fn waits_only_outside_service(&self) -> bool {
        self.total_waiting > 0 && self.mixed == 0
    }

    /// No other class is in service.
    #[inline]
    pub fn alone(&self, class: u32) -> bool {
        let cell = &self.cells[class as usize];
        self.free + cell.need * cell.running == self.servers
    }

    /// The class of the oldest waiting job among those of the largest need that fits.
    #[inline]
    pub fn largest_fitting(&self) -> Option<u32> {
        let fitting = self.fits[self.free as usize] as usize;
        let level = self.open.last_below(fitting)?;
        Some(self.oldest_of_level(level))
    }

    /// The same among these classes only.
    #[inline]
    pub fn largest_fitting_of(&self, classes: &Bits) -> Option<u32> {
        if !self.shared {
            let fitting = self.fits[self.free as usize] as usize;
            return self.open.last_of_both_below(classes, fitting).map(|level| level as u32);
        }
        let found = self.largest_fitting_by(|class| {
            let known = classes.contains(class as usize);
            known.then(|| (self.heads.key(class), class))
        });
        found.map(|(_, class)| class)
    }

    /// Among the classes with a waiting job that fits, those of the largest need first: the least of what `pick` gives
    /// for the classes of one need.
    #[inline]
    pub fn largest_fitting_by<T: Ord>(&self, mut pick: impl FnMut(u32) -> Option<T>) -> Option<T> {
        let mut end = self.fits[self.free as usize] as usize;
        while let Some(level) = self.open.last_below(end) {
            let found = if self.shared {
                let classes = self.levels[level].1..self.levels[level + 1].1;
                classes.filter(|&class| self.waiting(class) > 0).filter_map(&mut pick).min()
            } else {
                pick(level as u32)
            };
            if found.is_some() {
                return found;
            }
            end = level;
        }
        None
    }

    /// The class of the oldest waiting job among those of the largest need, fitting or not.
    #[inline]
    pub fn largest_waiting(&self) -> Option<u32> {
        let level = self.open.last_below(self.levels.len() - 1)?;
        Some(self.oldest_of_level(level))
    }

    /// The class of the oldest waiting job among those of the smallest need, fitting or not.
    #[inline]
    pub fn smallest_waiting(&self) -> Option<u32> {
        let level = self.open.first()?;
        Some(self.oldest_of_level(level))
    }

    /// Some waiting job fits.
    #[inline]
    pub fn some_fit(&self) -> bool {
        self.open.first().is_some_and(|level| level < self.fits[self.free as usize] as usize)
    }

    /// The class of the oldest waiting job. Needs the order of the heads.
    #[inline]
    pub fn oldest_waiting(&self) -> Option<u32> {
        self.heads.oldest_of_all()
    }

    /// The class of the oldest waiting job among classes `first..end`. Needs the order of the heads.
    #[inline]
    pub fn oldest_waiting_of(&self, first: u32, end: u32) -> Option<u32> {
        self.heads.oldest(first as usize, end as usize)
    }

    /// The class of the oldest waiting job among those that fit. Needs the order of the heads.
    #[inline]
    pub fn oldest_fitting(&self) -> Option<u32> {
        // mostly none fits, which `open` shows at once
        if !self.some_fit() {
            return None;
        }
        let end = self.classes_fitting();
        // often the oldest of all is among them
        self.heads.oldest_of_all().filter(|&class| (class as usize) < end).or_else(|| self.heads.oldest(0, end))
    }

    /// The class of the oldest job of the largest need that fits, among jobs not younger than `key`. Needs the order of the heads.
    #[inline]
    pub fn largest_fitting_until(&self, key: u64) -> Option<u32> {
        let class = self.heads.last_until(self.classes_fitting(), key)?;
        Some(self.oldest_of_level(self.cells[class as usize].level as usize))
    }

    /// Order key of the head of line of a class (arrival number or time, ascending with age lost). Needs the order of the heads.
    #[inline]
    pub fn head_key(&self, class: u32) -> Option<u64> {
        self.heads.key(class)
    }

    /// Level (rank of the need) of a class.
    #[inline]
    pub fn level(&self, class: u32) -> usize {
        self.cells[class as usize].level as usize
    }

    /// Needs of the levels, ascending, servers.
    pub fn level_needs(&self) -> Vec<u32> {
        self.levels[..self.levels.len() - 1].iter().map(|&(need, _)| need).collect()
    }

    #[inline]
    fn classes_fitting(&self) -> usize {
        self.levels[self.fits[self.free as usize] as usize].1 as usize
    }

    #[inline]
    fn oldest_of_level(&self, level: usize) -> u32 {
        if !self.shared {
            return level as u32;
        }
        let (first, end) = (self.levels[level].1, self.levels[level + 1].1);
        self.heads.oldest(first as usize, end as usize).unwrap_or(first)
    }

    /// Advances the clock.
    #[inline]
    pub fn set_now(&mut self, now: f64) {
        self.now = now;
    }

    /// Replaces all jobs. Per class: jobs waiting, jobs in service, and the order key of the head
    /// of line. The jobs in service must fit.
    pub fn replace(&mut self, waiting: &[u32], running: &[u32], keys: &[u64]) {
        (self.free, self.total_waiting, self.mixed) = (self.servers, 0, 0);
        self.open.clear();
        self.level_waiting.fill(0);
        for (class, (&waits, &runs)) in waiting.iter().zip(running).enumerate() {
            let cell = &mut self.cells[class];
            (cell.waiting, cell.running) = (waits, runs);
            self.free -= cell.need * runs;
            self.total_waiting += u64::from(waits);
            self.mixed += u32::from(waits > 0 && runs > 0);
            if self.ordered {
                self.heads.set(class as u32, if waits > 0 { keys[class] } else { Heads::NONE });
            }
            if waits > 0 {
                self.open.insert(cell.level as usize);
            }
            if self.shared {
                self.level_waiting[cell.level as usize] += u64::from(waits);
            }
        }
    }

    /// A job arrives and waits; `key` is its place in the order of arrival.
    #[inline(always)]
    pub fn arrive(&mut self, class: u32, key: u64) {
        let cell = &mut self.cells[class as usize];
        cell.waiting += 1;
        self.total_waiting += 1;
        if cell.waiting == 1 {
            self.mixed += u32::from(cell.running > 0);
            self.open_class(class, key);
        }
        if self.shared {
            self.open_level(class);
        }
    }

    /// A job arrives and starts immediately: it fits, and no job of its class waits.
    #[inline(always)]
    pub fn admit(&mut self, class: u32) {
        let cell = &mut self.cells[class as usize];
        cell.running += 1;
        self.free -= cell.need;
    }

    #[inline(never)]
    fn open_class(&mut self, class: u32, key: u64) {
        if self.ordered {
            self.heads.set(class, key);
        }
        if !self.shared {
            self.open.insert(class as usize);
        }
    }

    #[inline(never)]
    fn open_level(&mut self, class: u32) {
        let level = self.level(class);
        self.level_waiting[level] += 1;
        self.open.insert(level);
    }

    /// A job of the class waits and fits.
    #[inline]
    pub fn can_start(&self, class: u32) -> bool {
        self.cells.get(class as usize).is_some_and(|cell| cell.waiting > 0 && cell.need <= self.free)
    }

    /// A waiting job of a class starts; `next` returns the order key of the class's new head of line. False, and nothing
    /// is changed, if no job of the class waits or it does not fit.
    #[inline(always)]
    pub fn start(&mut self, class: u32, next: impl FnOnce() -> Option<u64>) -> bool {
        let Some(cell) = self.cells.get_mut(class as usize) else { return false };
        if cell.waiting == 0 || cell.need > self.free {
            return false;
        }
        cell.waiting -= 1;
        cell.running += 1;
        self.free -= cell.need;
        self.total_waiting -= 1;
        if cell.waiting == 0 {
            // it counted as mixed if a job of the class was in service before
            self.mixed -= u32::from(cell.running > 1);
            if !self.shared {
                self.open.remove(class as usize);
            }
        } else {
            self.mixed += u32::from(cell.running == 1);
        }
        if self.ordered {
            self.heads.set(class, next().unwrap_or(Heads::NONE));
            if self.shared {
                self.close_level(class);
            }
        }
        true
    }

    #[inline(never)]
    fn close_level(&mut self, class: u32) {
        let level = self.level(class);
        self.level_waiting[level] -= 1;
        if self.level_waiting[level] == 0 {
            self.open.remove(level);
        }
    }

    /// A job in service completes.
    #[inline]
    pub fn complete(&mut self, class: u32) {
        let cell = &mut self.cells[class as usize];
        cell.running -= 1;
        self.free += cell.need;
        if cell.running == 0 && cell.waiting > 0 {
            self.mixed -= 1;
        }
    }

    /// A job in service is stopped and waits again. For preemptive engines, which keep their own order.
    #[inline]
    pub fn pause(&mut self, class: u32) {
        self.complete(class);
        let key = self.heads.key(class).unwrap_or(0);
        self.arrive(class, key);
    }

    /// Servers in use, recomputed from the classes (for the checks of the debug mode).
    pub fn recount(&self) -> u64 {
        self.cells.iter().map(|c| u64::from(c.need) * u64::from(c.running)).sum()
    }
}
