//! The servers without a reservation as a function of future time.

/// The end of what begins at `start` and takes `length`, seconds; later than the start even for a size of 0.
#[inline]
pub fn until(start: f64, length: f64) -> f64 {
    (start + length).max(start.next_up())
}

/// Steps of a chunk, at most.
const CHUNK: usize = 128;

/// From this time on, seconds, this many servers are free (minus the sum of its chunk).
type Step = (f64, i64);

/// Some steps that follow one another.
#[derive(Clone, Debug)]
struct Chunk {
    steps: Vec<Step>,
    /// The sum to add to each of its steps.
    added: i64,
    least: i64,
    most: i64,
}

impl Chunk {
    fn new(steps: Vec<Step>, added: i64) -> Self {
        let mut chunk = Self { steps, added, least: 0, most: 0 };
        chunk.measure();
        chunk
    }

    fn measure(&mut self) {
        (self.least, self.most) =
            self.steps.iter().fold((i64::MAX, i64::MIN), |(least, most), s| (least.min(s.1), most.max(s.1)));
    }

    fn free(&self, at: usize) -> i64 {
        self.steps[at].1 + self.added
    }
}

/// A step function of time in sorted chunks with their minima and maxima.
#[derive(Clone, Debug)]
pub struct Profile {
    servers: i64,
    chunks: Vec<Chunk>,
    /// Start of each chunk, seconds; separate, since a search skips most chunks.
    starts: Vec<f64>,
}

impl Profile {
    /// All servers are free from time 0 on.
    pub fn new(servers: u32) -> Self {
        let servers = i64::from(servers);
        Self { servers, chunks: vec![Chunk::new(vec![(0.0, servers)], 0)], starts: vec![0.0] }
    }

    /// All servers are free from `now` on, seconds.
    pub fn clear(&mut self, now: f64) {
        self.chunks.clear();
        self.chunks.push(Chunk::new(vec![(now, self.servers)], 0));
        self.starts.clear();
        self.starts.push(now);
    }

    /// Drops the chunks that end before `now`.
    pub fn forget(&mut self, now: f64) {
        let past = self.starts.iter().skip(1).take_while(|&&start| start <= now).count();
        self.chunks.drain(..past);
        self.starts.drain(..past);
    }

    /// Reserves `need` servers from one time to another, seconds.
    pub fn reserve(&mut self, from: f64, to: f64, need: u32) {
        self.add(from, to, -i64::from(need));
    }

    /// Releases a reservation.
    pub fn release(&mut self, from: f64, to: f64, need: u32) {
        self.add(from, to, i64::from(need));
    }

    /// The first time from `now` on, and before `limit` and `last`, at which `need` servers are free, and from which on they
    /// are free for `length`, or until `limit`; all in seconds.
    pub fn earliest(&self, now: f64, need: u32, length: f64, limit: f64, last: f64) -> Option<f64> {
        let (need, last) = (i64::from(need), last.min(limit));
        let (mut place, mut at) = self.find(now);
        loop {
            let begin = self.seek::<true>(place, at, need, last)?;
            let start = self.chunks[begin.0].steps[begin.1].0.max(now);
            match self.seek::<false>(begin.0, begin.1, need, until(start, length).min(limit)) {
                None => return Some(start),
                Some(end) => (place, at) = end,
            }
        }
    }

    /// Whether `need` servers are free from `now` on for `length`, seconds.
    pub fn fits(&self, now: f64, need: u32, length: f64) -> bool {
        let (place, at) = self.find(now);
        self.seek::<false>(place, at, need.into(), until(now, length)).is_none()
    }

    /// The first step from that one on, and before that time, at which enough servers are free, or too few. Chunks that have
    /// none are passed over.
    #[inline]
    fn seek<const ENOUGH: bool>(
        &self,
        mut place: usize,
        mut at: usize,
        need: i64,
        before: f64,
    ) -> Option<(usize, usize)> {
        while self.starts.get(place).is_some_and(|&start| start < before) {
            let chunk = &self.chunks[place];
            let need = need - chunk.added;
            if if ENOUGH { chunk.most >= need } else { chunk.least < need } {
                let found = chunk.steps[at..].iter().position(|step| (step.1 >= need) == ENOUGH || step.0 >= before);
                if let Some(found) = found {
                    at += found;
                    return (chunk.steps[at].0 < before).then_some((place, at));
                }
            }
            (place, at) = (place + 1, 0);
        }
        None
    }

    /// `by` more servers have become free from one time to another, seconds. Reports the needs (above the first, at most the
    /// second) that now fit and did not fit before, with the interval of time, in order of time; only if `wanted`. To save
    /// time, the reported range may be up to twice as wide as it must be.
    pub fn risen(
        &self,
        from: f64,
        to: f64,
        by: u32,
        wanted: impl Fn(i64, i64) -> bool,
        mut report: impl FnMut(i64, i64, f64, f64),
    ) {
        let by = i64::from(by);
        let (mut place, mut at) = self.find(from);
        let mut begin = from;
        while begin < to {
            let chunk = &self.chunks[place];
            let end = self.starts.get(place + 1).map_or(to, |next| next.min(to));
            let (least, most) = (chunk.least + chunk.added, chunk.most + chunk.added);
            if wanted(least - by, most) {
                if most - least <= by {
                    report(least - by, most, begin, end);
                } else {
                    // steps of about the same height go together
                    let (mut start, mut low, mut high) = (begin, chunk.free(at), chunk.free(at));
                    let steps = chunk.steps[at + 1..].iter().map(|step| (step.0, step.1 + chunk.added));
                    for (time, free) in steps.take_while(|step| step.0 < end).chain([(end, i64::MAX)]) {
                        if free <= low + by && free >= high - by {
                            (low, high) = (low.min(free), high.max(free));
                            continue;
                        }
                        if wanted(low - by, high) {
                            report(low - by, high, start, time);
                        }
                        (start, low, high) = (time, free, free);
                    }
                }
            }
            (place, at, begin) = (place + 1, 0, end);
        }
    }

    fn add(&mut self, from: f64, to: f64, servers: i64) {
        if from >= to {
            return;
        }
        let (mut first, mut begin) = self.split(from);
        let chunks = self.chunks.len();
        let (last, end) = self.split(to);
        if self.chunks.len() > chunks {
            (first, begin) = self.find(from); // the second split has divided a chunk
        }
        for place in first..=last {
            let chunk = &mut self.chunks[place];
            let begin = if place == first { begin } else { 0 };
            let end = if place == last { end } else { chunk.steps.len() };
            if end - begin == chunk.steps.len() {
                chunk.added += servers;
            } else if begin < end {
                chunk.steps[begin..end].iter_mut().for_each(|step| step.1 += servers);
                chunk.measure();
            }
        }
        // the later one first so that the earlier one stays where it is
        self.join(last, end);
        self.join(first, begin);
    }

    /// The chunk and the step that a time falls into.
    fn find(&self, time: f64) -> (usize, usize) {
        let place = self.starts.partition_point(|&start| start <= time).max(1) - 1;
        let at = self.chunks[place].steps.partition_point(|step| step.0 <= time).max(1) - 1;
        (place, at)
    }

    /// Makes a step at that time, if there is none; where it is.
    fn split(&mut self, time: f64) -> (usize, usize) {
        let (place, at) = self.find(time);
        let chunk = &mut self.chunks[place];
        if chunk.steps[at].0 >= time {
            return (place, at);
        }
        chunk.steps.insert(at + 1, (time, chunk.steps[at].1));
        if chunk.steps.len() <= CHUNK {
            return (place, at + 1);
        }
        let behind = Chunk::new(chunk.steps.split_off(CHUNK / 2), chunk.added);
        chunk.measure();
        self.starts.insert(place + 1, behind.steps[0].0);
        self.chunks.insert(place + 1, behind);
        if at + 1 < CHUNK / 2 { (place, at + 1) } else { (place + 1, at + 1 - CHUNK / 2) }
    }

    /// Removes that step, if nothing changes there.
    fn join(&mut self, place: usize, at: usize) {
        let before = match (place, at) {
            (0, 0) => return,
            (_, 0) => self.chunks[place - 1].free(self.chunks[place - 1].steps.len() - 1),
            _ => self.chunks[place].free(at - 1),
        };
        let chunk = &mut self.chunks[place];
        if chunk.free(at) == before {
            chunk.steps.remove(at);
            let Some(first) = chunk.steps.first() else {
                self.chunks.remove(place);
                self.starts.remove(place);
                return;
            };
            self.starts[place] = first.0;
            chunk.measure();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SPAN: usize = 1000;

    proptest! {
        #[test]
        fn it_is_that_of_a_plain_table(
            moves in prop::collection::vec((0usize..SPAN, 0usize..300, 1u32..40), 0..400),
            now in 0usize..SPAN, need in 1u32..100, length in 0usize..60, room in 1usize..SPAN, chance in 1usize..SPAN,
        ) {
            let (mut profile, limit, last) = (Profile::new(100), now + room, now + chance);
            let mut table = [100i64; 3 * SPAN];
            let mut taken = Vec::new();
            for &(from, length, need) in &moves {
                if taken.len() > 3 && length % 3 == 0 {
                    let (from, to, need) = taken.swap_remove(length % taken.len());
                    profile.release(from as f64, to as f64, need);
                    table[from..to].iter_mut().for_each(|free| *free += i64::from(need));
                } else {
                    profile.reserve(from as f64, (from + length) as f64, need);
                    table[from..from + length].iter_mut().for_each(|free| *free -= i64::from(need));
                    taken.push((from, from + length, need));
                }
            }
            profile.forget(now as f64);
            let fits = |start: usize| {
                let end = (start + length).min(limit).max(start + 1);
                table[start..end].iter().all(|&free| free >= i64::from(need))
            };
            let expected = (now..limit.min(last)).find(|&start| fits(start)).map(|start| start as f64);
            prop_assert_eq!(profile.earliest(now as f64, need, length as f64, limit as f64, last as f64), expected);
            let free = table[now..now + length.max(1)].iter().all(|&free| free >= i64::from(need));
            prop_assert_eq!(profile.fits(now as f64, need, length as f64), free);
            let mut reported = [false; 3 * SPAN];
            let (by, end) = (length as u32 % 7 + 1, now + room);
            let wanted = |low, high| low < i64::from(need) && i64::from(need) <= high;
            profile.risen(now as f64, end as f64, by, wanted, |low, high, from, to| {
                assert!(wanted(low, high) && now as f64 <= from && to <= end as f64);
                reported[from as usize..to as usize].fill(true);
            });
            for at in now..end {
                let rises = wanted(table[at] - i64::from(by), table[at]);
                let near = wanted(table[at] - 2 * i64::from(by), table[at] + i64::from(by));
                prop_assert!(reported[at] || !rises, "not reported at {}", at);
                prop_assert!(near || !reported[at], "reported without need at {}", at);
            }
            for chunk in &profile.chunks {
                let values = || chunk.steps.iter().map(|step| step.1);
                prop_assert_eq!((values().min(), values().max()), (Some(chunk.least), Some(chunk.most)));
            }
        }
    }
}
