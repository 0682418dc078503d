//! The measurements of a run, in memory that does not grow with its length.
//!
//! A run is cut into *blocks* of equally many completions. When there are as many as the memory holds, neighbours are
//! merged and blocks become twice as long. Sums are kept per block; distributions per *segment* of several blocks.

mod distributions;
mod histogram;
mod phases;
mod quantiles;
mod trajectory;

pub use distributions::Distributions;
pub use histogram::Scale;
pub use phases::{PHASE_COLUMNS, PHASES, Phases};
pub use quantiles::Quantiles;
pub use trajectory::Trajectory;

use std::borrow::Cow;

use crate::station::Station;

/// Quantities of a job: their sums and distributions are kept.
pub const METRICS: [&str; 4] = ["response_time", "waiting_time", "slowdown", "bounded_slowdown"];
/// Columns of a class in the row of a block. `_squared` is a sum of squares; an area is an integral over time.
pub const CLASS_COLUMNS: [&str; 12] = [
    "completions",
    "arrivals",
    "response_time",
    "response_time_squared",
    "waiting_time",
    "waiting_time_squared",
    "slowdown",
    "slowdown_squared",
    "bounded_slowdown",
    "bounded_slowdown_squared",
    "area_in_system",
    "area_waiting",
];
/// Columns of the whole system, which follow those of the classes: duration of the block in seconds, integral of the
/// idle servers while jobs wait, jobs in the system at the end of the block, integral of the work present, and integrals
/// of work present times idle servers, by the [`Idle`] reason.
///
/// The work present is in server-seconds: in `jumps` the expected work of the jobs present, in `events` what remains of
/// them.
pub const SYSTEM_COLUMNS: [&str; 7] =
    ["duration", "wasted", "in_system_at_end", "work", "work_idle_empty", "work_idle_unfit", "work_idle_held"];
/// Sums of a block over all classes, from which the statistics choose warm-up and batches; see [`Counters::blocks`].
pub const BLOCK_COLUMNS: [&str; 5] = ["duration", "in_system_at_end", "completions", "arrivals", "response_time"];
/// Number of columns of a class.
pub const PER_CLASS: usize = CLASS_COLUMNS.len();
/// Number of columns of the whole system.
pub const OVERALL: usize = SYSTEM_COLUMNS.len();

const COMPLETIONS: usize = 0;
const ARRIVALS: usize = 1;
const RESPONSE_TIME: usize = 2;
const AREA_IN_SYSTEM: usize = 10;
const DURATION: usize = 0;
const IN_SYSTEM_AT_END: usize = 2;

/// Why servers are idle.
#[derive(Clone, Copy)]
enum Idle {
    /// No job waits.
    Empty,
    /// Jobs wait, and none of them fits.
    Unfit,
    /// A job that waits would fit, but the policy does not start it: it drains, or holds it back.
    Held,
}

/// Sizes of the measurements.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Completions in a block at first.
    pub block_jobs: u64,
    /// Most points of the trajectory (0: none).
    pub trajectory: usize,
    /// Bounded slowdown is `max(1, response / max(size, this))`, seconds.
    pub slowdown_bound: f64,
}

/// The numbers in system of one class in the current block.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(32))]
struct Flow {
    arrivals: u64,
    /// Sum over changes of the number in system (waiting) of change times time since the block began.
    present_shift: f64,
    waiting_shift: f64,
}

/// The completed jobs of one class in the current block.
#[derive(Clone, Debug, Default)]
#[repr(align(64))]
struct Record {
    completions: u64,
    sums: [f64; METRICS.len()],
    squares: [f64; METRICS.len()],
    /// Of the current segment.
    distributions: Distributions,
}

impl Record {
    /// A new block begins; the distributions go on.
    fn clear(&mut self) {
        self.completions = 0;
        (self.sums, self.squares) = ([0.0; METRICS.len()], [0.0; METRICS.len()]);
    }

    /// Counts a job.
    #[inline(always)]
    fn count(&mut self, job: Completion, slowdown_bound: f64, scale: Scale) {
        let Completion { response, waiting, size, .. } = job;
        self.completions += 1;
        // a job of size zero that did not wait was not slowed down
        let slowdown = if response > 0.0 { response / size } else { 1.0 };
        let bounded = (response / if size > slowdown_bound { size } else { slowdown_bound }).max(1.0);
        let values = [response, waiting, slowdown, bounded];
        for (metric, value) in values.into_iter().enumerate() {
            self.sums[metric] += value;
            self.squares[metric] += value * value;
        }
        self.distributions.count(values, scale);
    }
}

/// A completed job, seconds.
#[derive(Clone, Copy, Debug)]
struct Completion {
    class: u32,
    response: f64,
    waiting: f64,
    size: f64,
}

/// Completed jobs that are counted together, in a short loop of their own: faster than one between two events.
const TOGETHER: usize = 64;

/// The distributions of one segment, per class.
type Segment = Vec<Distributions>;

/// All measurements of one replication.
#[derive(Clone, Debug)]
pub struct Counters {
    plan: Plan,
    max_blocks: usize,
    segment_blocks: usize,
    scale: Scale,
    flows: Vec<Flow>,
    classes: Vec<Record>,
    /// Completed jobs that are not yet counted in `classes`.
    uncounted: Vec<Completion>,
    closed_segments: Vec<Segment>,
    rows: Vec<f64>,
    completed: u64,
    /// Completions before the current block.
    completed_before: u64,
    /// The same if jobs completed one at a time. Several completions in one instant may extend a block, but the next block
    /// ends at the same count, so the blocks of two policies hold nearly the same jobs.
    nominal_before: u64,
    present: u64,
    origin: f64,
    wasted: f64,
    /// Work present, server-seconds.
    work: f64,
    work_area: f64,
    work_idle: [f64; 3],
    trajectory: Trajectory,
    phases: bool,
}

impl Counters {
    /// Nothing measured yet. `phases`: the policy has phases.
    pub fn new(classes: usize, plan: Plan, phases: bool, mean_gap: f64) -> Self {
        // fewer blocks and coarser distributions where there are many classes, so memory stays bounded
        let (max_blocks, segments, bits) = match classes {
            0..=64 => (512, 16, 6),
            65..=512 => (128, 8, 5),
            _ => (64, 4, 4),
        };
        Self {
            plan,
            max_blocks,
            segment_blocks: max_blocks / segments,
            scale: Scale::new(bits),
            flows: vec![Flow::default(); classes],
            classes: vec![Record::default(); classes],
            uncounted: Vec::with_capacity(TOGETHER),
            closed_segments: Vec::new(),
            rows: Vec::new(),
            completed: 0,
            completed_before: 0,
            nominal_before: 0,
            present: 0,
            origin: 0.0,
            wasted: 0.0,
            work: 0.0,
            work_area: 0.0,
            work_idle: [0.0; 3],
            trajectory: Trajectory::new(classes, plan.trajectory, mean_gap),
            phases,
        }
    }

    /// Numbers in a row.
    pub fn width(&self) -> usize {
        self.classes.len() * PER_CLASS + OVERALL + if self.phases { Phases::WIDTH } else { 0 }
    }

    /// Completions so far.
    #[inline]
    pub fn completed(&self) -> u64 {
        self.completed
    }

    /// Arrivals so far.
    #[inline]
    pub fn arrived(&self) -> u64 {
        self.completed + self.present
    }

    /// Jobs present.
    #[inline]
    pub fn present(&self) -> u64 {
        self.present
    }

    /// Time passes up to the next instant with events; `station` is the state that held until then. `remaining`: the work
    /// present is what remains of the jobs, so busy servers reduce it all the time.
    #[inline(always)]
    pub fn clock(&mut self, station: &Station, now: f64, remaining: bool) {
        if self.trajectory.due(now) {
            self.trajectory.sample(station, now);
        }
        let elapsed = now - station.now();
        let mut work = self.work * elapsed;
        if remaining {
            let done = f64::from(station.servers() - station.free()) * elapsed;
            work -= 0.5 * done * elapsed;
            self.work -= done;
        }
        self.work_area += work;
        if station.free() > 0 {
            let free = f64::from(station.free());
            let reason = if station.total_waiting() == 0 {
                Idle::Empty
            } else {
                self.wasted += free * elapsed;
                if station.some_fit() { Idle::Held } else { Idle::Unfit }
            };
            self.work_idle[reason as usize] += free * work;
        }
    }

    /// A job that brings this work arrives, server-seconds.
    #[inline]
    pub fn arrive(&mut self, class: u32, now: f64, work: f64) {
        let elapsed = now - self.origin;
        let flow = &mut self.flows[class as usize];
        flow.arrivals += 1;
        flow.present_shift += elapsed;
        flow.waiting_shift += elapsed;
        self.present += 1;
        self.work += work;
    }

    /// A job that brings this work arrives and starts immediately.
    #[inline]
    pub fn admit(&mut self, class: u32, now: f64, work: f64) {
        let flow = &mut self.flows[class as usize];
        flow.arrivals += 1;
        flow.present_shift += now - self.origin;
        self.present += 1;
        self.work += work;
    }

    /// A job starts (or resumes).
    #[inline]
    pub fn start(&mut self, class: u32, now: f64) {
        self.flows[class as usize].waiting_shift -= now - self.origin;
    }

    /// A job is stopped and waits again.
    #[inline]
    pub fn pause(&mut self, class: u32, now: f64) {
        self.flows[class as usize].waiting_shift += now - self.origin;
    }

    /// A job completes, and with it ends what is left of its work, server-seconds.
    #[inline]
    pub fn complete(&mut self, class: u32, now: f64, [response, waiting, size]: [f64; 3], work: f64) {
        self.flows[class as usize].present_shift -= now - self.origin;
        self.uncounted.push(Completion { class, response, waiting, size });
        if self.uncounted.len() >= TOGETHER {
            self.settle();
        }
        self.completed += 1;
        self.present -= 1;
        // rounding must not accumulate
        self.work = if self.present == 0 { 0.0 } else { self.work - work };
    }

    /// Counts the completed jobs that are not yet counted. Must be called before the measurements are read.
    #[inline(never)]
    pub fn settle(&mut self) {
        for job in self.uncounted.drain(..) {
            self.classes[job.class as usize].count(job, self.plan.slowdown_bound, self.scale);
        }
    }

    /// Completions in all at which the current block is full: [`Counters::close`] is then due, once the instant is
    /// over.
    pub fn block_end(&self) -> u64 {
        self.nominal_before + self.plan.block_jobs
    }

    /// Ends a block.
    #[cold]
    pub fn close(&mut self, station: &Station, phases: Option<&mut Phases>) {
        self.settle();
        let mut rows = std::mem::take(&mut self.rows);
        self.push_row(&mut rows, station, phases.as_deref());
        self.rows = rows;
        if let Some(phases) = phases {
            phases.clear();
        }
        self.classes.iter_mut().for_each(Record::clear);
        self.flows.fill(Flow::default());
        self.completed_before = self.completed;
        self.nominal_before = self.completed - self.completed % self.plan.block_jobs;
        (self.wasted, self.work_area, self.work_idle) = (0.0, 0.0, [0.0; 3]);
        self.origin = station.now();
        let blocks = self.rows.len() / self.width();
        if blocks.is_multiple_of(self.segment_blocks) {
            self.closed_segments
                .push(self.classes.iter_mut().map(|record| record.distributions.next_segment()).collect());
        }
        if blocks == self.max_blocks {
            self.merge();
        }
    }

    /// Appends the row of the current block.
    fn push_row(&self, row: &mut Vec<f64>, station: &Station, phases: Option<&Phases>) {
        row.reserve(self.width());
        let duration = station.now() - self.origin;
        let mut total = 0;
        for (class, (record, flow)) in self.classes.iter().zip(&self.flows).enumerate() {
            let (present, waiting) = (station.present(class as u32), station.waiting(class as u32));
            total += u64::from(present);
            row.extend([record.completions as f64, flow.arrivals as f64]);
            row.extend(record.sums.iter().zip(&record.squares).flat_map(|(&sum, &square)| [sum, square]));
            row.push(f64::from(present) * duration - flow.present_shift);
            row.push(f64::from(waiting) * duration - flow.waiting_shift);
        }
        row.extend([duration, self.wasted, total as f64, self.work_area]);
        row.extend(self.work_idle);
        if let Some(phases) = phases {
            row.extend(phases.row());
        }
    }

    /// The row of the current block.
    fn row(&self, station: &Station, phases: Option<&Phases>) -> Vec<f64> {
        let mut row = Vec::new();
        self.push_row(&mut row, station, phases);
        row
    }

    fn merge(&mut self) {
        let width = self.width();
        let in_system = self.classes.len() * PER_CLASS + IN_SYSTEM_AT_END;
        let merged = self.rows.chunks_exact(2 * width).flat_map(|pair| {
            (0..width).map(move |i| if i == in_system { pair[width + i] } else { pair[i] + pair[width + i] })
        });
        self.rows = merged.collect();
        self.plan.block_jobs *= 2;
        let scale = self.scale;
        let mut segments = std::mem::take(&mut self.closed_segments).into_iter();
        while let (Some(mut first), Some(second)) = (segments.next(), segments.next()) {
            first.iter_mut().zip(second).for_each(|(a, b)| a.merge(b, scale));
            self.closed_segments.push(first);
        }
    }

    /// Rows of all blocks, the one that is running last (if anything completed in it).
    fn rows(&self, station: &Station, phases: Option<&Phases>) -> impl Iterator<Item = Cow<'_, [f64]>> {
        let running = (self.completed > self.completed_before).then(|| Cow::Owned(self.row(station, phases)));
        self.rows.chunks_exact(self.width()).map(Cow::Borrowed).chain(running)
    }

    /// `BLOCK_COLUMNS` of all blocks.
    pub fn blocks(&self, station: &Station, phases: Option<&Phases>) -> Vec<f64> {
        let classes = self.classes.len() * PER_CLASS;
        let block = |row: Cow<'_, [f64]>| {
            let mut sums = [0.0; 3];
            for class in row[..classes].chunks_exact(PER_CLASS) {
                sums[0] += class[COMPLETIONS];
                sums[1] += class[ARRIVALS];
                sums[2] += class[RESPONSE_TIME];
            }
            let [completions, arrivals, response_time] = sums;
            [row[classes + DURATION], row[classes + IN_SYSTEM_AT_END], completions, arrivals, response_time]
        };
        self.rows(station, phases).flat_map(block).collect()
    }

    /// Sums of the rows of neighbouring blocks, a row for each two edges in turn; blocks before the first edge are left out.
    pub fn sums(&self, station: &Station, phases: Option<&Phases>, edges: &[usize]) -> Vec<f64> {
        let width = self.width();
        let mut sums = vec![0.0; edges.len().saturating_sub(1) * width];
        for (block, row) in self.rows(station, phases).enumerate() {
            let batch = edges.partition_point(|&edge| edge <= block);
            if (1..edges.len()).contains(&batch) {
                sums[(batch - 1) * width..][..width].iter_mut().zip(&*row).for_each(|(sum, value)| *sum += value);
            }
        }
        sums
    }

    /// Full blocks in a full segment.
    pub fn segment_blocks(&self) -> usize {
        self.segment_blocks
    }

    /// Scale of the histograms.
    pub fn scale(&self) -> Scale {
        self.scale
    }

    /// Distributions per segment and class; the current segment last (if anything completed in it).
    pub fn segments(&self) -> Vec<Vec<&Distributions>> {
        let mut segments: Vec<Vec<_>> = self.closed_segments.iter().map(|segment| segment.iter().collect()).collect();
        if self.classes.iter().any(|record| !record.distributions.is_empty()) {
            segments.push(self.classes.iter().map(|record| &record.distributions).collect());
        }
        segments
    }

    /// The trajectory.
    pub fn trajectory(&self) -> &Trajectory {
        &self.trajectory
    }

    /// Little's law on the path: per class, the area under the number in system equals the time that its jobs, completed
    /// and present, have spent there. Returns the largest relative gap. `ages` are the times of the jobs present.
    pub fn little_gap(&self, station: &Station, phases: Option<&Phases>, ages: &[f64]) -> f64 {
        let width = self.width();
        let mut rows = self.rows.clone();
        rows.extend(self.row(station, phases));
        ages.iter()
            .enumerate()
            .map(|(class, age)| {
                let at = class * PER_CLASS;
                let (mut area, mut spent) = (0.0, *age);
                for row in rows.chunks_exact(width) {
                    spent += row[at + RESPONSE_TIME];
                    area += row[at + AREA_IN_SYSTEM];
                }
                (area - spent).abs() / area.max(spent).max(f64::MIN_POSITIVE)
            })
            .fold(0.0, f64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_where_they_are_read() {
        for (metric, sums) in METRICS.iter().zip(CLASS_COLUMNS[RESPONSE_TIME..].chunks_exact(2)) {
            assert_eq!(sums, [metric.to_string(), format!("{metric}_squared")]);
        }
        let of_class = [COMPLETIONS, ARRIVALS, AREA_IN_SYSTEM].map(|column| CLASS_COLUMNS[column]);
        assert_eq!(of_class, ["completions", "arrivals", "area_in_system"]);
        let of_system = [DURATION, IN_SYSTEM_AT_END].map(|column| SYSTEM_COLUMNS[column]);
        assert_eq!(of_system, BLOCK_COLUMNS[..2]);
    }
}
