//! A custom policy in native code: functions over a struct of C, compiled by Numba, or written in C, Cython or Rust.
//!
//! `src/quickswap/engine/quickswap_policy.h` declares the same struct, and says what the functions return.
#![allow(unsafe_code, reason = "the functions of the policy are called through pointers")]

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use rand::Rng;

use super::policy::{Fault, PythonPolicy, Reporter, check};
use crate::book::{Chain, Slot};
use crate::error::Error;
use crate::policy::{Choice, Groups, Policy, PolicyVisitor, Sight, View};
use crate::random::streams;
use crate::station::Station;
use crate::system::System;

/// Version of the struct.
const VERSION: i64 = 2;
/// Decisions that are compared with those of the same policy in Python.
const COMPARED: u32 = 1000;
/// The answer that no job starts.
const NONE: i64 = -1;
/// The answer of a policy that returned a negative number.
const NEGATIVE: i64 = -(1 << 62);
/// The answer of a policy that raised an exception.
const FAILED: i64 = i64::MIN;

/// A job, as the policy sees it.
#[repr(C)]
#[derive(Clone, Debug)]
struct NativeJob {
    number: i64,
    cls: i64,
    need: i64,
    arrival: f64,
    estimate: f64,
    start: f64,
    /// Its place in its list.
    place: i64,
}

/// The state of the system, as the policy sees it.
#[repr(C)]
struct NativeView {
    version: i64,
    time: f64,
    servers: i64,
    free: i64,
    classes: i64,
    needs: *const i64,
    waiting: *const i64,
    running: *const i64,
    heads: *const i64,
    waiting_jobs: i64,
    queue: *const NativeJob,
    jobs_in_service: i64,
    in_service: *const NativeJob,
    words: i64,
    state: *mut u64,
    random: *mut u64,
    head_needs: *const i64,
}

type Start = extern "C" fn(*const NativeView) -> i64;
type WakeAt = extern "C" fn(*const NativeView) -> f64;

/// The next of a sequence of uniform numbers in [0, 1), from the state of the generator (SplitMix64).
fn uniform(state: &mut u64) -> f64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    ((z ^ (z >> 31)) >> 11) as f64 * f64::exp2(-53.0)
}

/// The first state of the generator of a replication.
fn generator((seed, replication): (u64, u32)) -> u64 {
    let [mut stream] = streams(seed ^ 0x706F_6C69_6379, replication); // not the stream of the arrivals
    stream.next_u64()
}

/// The random numbers of a compiled policy, for the same policy in Python.
#[pyclass(module = "quickswap.engine._core")]
struct NativeRandom(u64);

#[pymethods]
impl NativeRandom {
    /// A uniform number in [0, 1).
    fn random(&mut self) -> f64 {
        uniform(&mut self.0)
    }

    fn __deepcopy__(&self, _memo: &Bound<'_, PyAny>) -> Self {
        Self(self.0)
    }
}

/// A policy in native code, and the same in Python if there is one.
#[pyclass(frozen, module = "quickswap.engine._core")]
pub struct NativePolicy {
    name: String,
    start: Start,
    wake_at: Option<WakeAt>,
    state: Vec<u64>,
    sight: Sight,
    remembers_order: bool,
    memoryless: bool,
    /// Whether it draws random numbers.
    #[pyo3(get)]
    draws: bool,
    original: Option<Py<PyAny>>,
    /// What holds the code in memory.
    _code: Py<PyAny>,
}

#[pymethods]
impl NativePolicy {
    /// `start` and `wake_at` are addresses of functions that `code` keeps in memory; `state` is the initial state in words of
    /// eight bytes.
    #[new]
    #[pyo3(signature = (name, start, wake_at, state, *, sees_heads, sees_jobs, remembers_order, memoryless, draws, original, code))]
    #[allow(clippy::too_many_arguments, reason = "the signature for Python")]
    fn new(
        name: String,
        start: usize,
        wake_at: Option<usize>,
        state: &Bound<'_, PyBytes>,
        sees_heads: bool,
        sees_jobs: bool,
        remembers_order: bool,
        memoryless: bool,
        draws: bool,
        original: Option<Py<PyAny>>,
        code: Py<PyAny>,
    ) -> Self {
        let words = state.as_bytes().as_chunks().0.iter().map(|&word| u64::from_ne_bytes(word));
        let sight = if sees_jobs {
            Sight::Jobs
        } else if sees_heads {
            Sight::Heads
        } else {
            Sight::Counts
        };
        // SAFETY: the caller gives addresses of functions of this signature, and `code` keeps them in memory.
        let (start, wake_at) = unsafe {
            (
                std::mem::transmute::<usize, Start>(start),
                wake_at.map(|address| std::mem::transmute::<usize, WakeAt>(address)),
            )
        };
        Self {
            name,
            start,
            wake_at,
            state: words.collect(),
            sight,
            remembers_order,
            memoryless,
            draws,
            original,
            _code: code,
        }
    }
}

/// Passes a custom policy to a visitor: one in native code, or a Python object. `groups`: the groups that it sees, if they
/// take the place of the classes. `idle_limit`: whether it fails if it never starts a job.
pub fn visit<V: PolicyVisitor>(
    object: &Py<PyAny>,
    system: &System,
    groups: Option<&Groups>,
    fault: &Fault,
    idle_limit: bool,
    visitor: V,
) -> V::Output {
    let native = Python::attach(|py| {
        object.bind(py).cast::<NativePolicy>().ok().map(|bound| {
            let policy = bound.get();
            let python = policy.original.as_ref().map(|original| PythonPolicy::new(original, system, groups, fault));
            (NativeCode::new(policy, system, groups, fault, idle_limit), python, policy.wake_at)
        })
    });
    match native {
        None => {
            let policy = PythonPolicy::new(object, system, groups, fault);
            visitor.visit(if idle_limit { policy.with_idle_limit(system.servers) } else { policy })
        }
        Some((code, python, None)) => visitor.visit(Compiled::<false> { code, python, left: COMPARED, wake_at: never }),
        Some((code, python, Some(wake_at))) => {
            visitor.visit(Compiled::<true> { code, python, left: COMPARED, wake_at })
        }
    }
}

extern "C" fn never(_: *const NativeView) -> f64 {
    f64::INFINITY
}

/// The function of a policy, and what it reads.
struct NativeCode {
    tables: Tables,
    /// Its pointers are to the elements of `tables`, which stay where they are when it moves.
    seen: NativeView,
}

// SAFETY: the pointers of `seen` are to what `tables` owns.
unsafe impl Send for NativeCode {}
// SAFETY: as above; nothing is written through a shared reference.
unsafe impl Sync for NativeCode {}

impl Clone for NativeCode {
    fn clone(&self) -> Self {
        Self::of(self.tables.clone())
    }
}

/// What the fields of the view point to, and how the answers are read.
#[derive(Clone)]
struct Tables {
    start: Start,
    servers: u32,
    needs: Vec<i64>,
    waiting: Vec<i64>,
    running: Vec<i64>,
    heads: Vec<i64>,
    /// Empty unless the policy sees groups: otherwise these are `needs`.
    head_needs: Vec<i64>,
    queue: Vec<NativeJob>,
    in_service: Vec<NativeJob>,
    state: Vec<u64>,
    /// The state of its generator, one word.
    random: Vec<u64>,
    /// Classes whose head of line has changed since the last call.
    changed: Vec<u32>,
    sight: Sight,
    remembers_order: bool,
    /// The answers follow from the view, so after the first decisions the policy is not asked while no waiting job fits.
    memoryless: bool,
    reporter: Reporter,
    /// Places of the jobs of `queue` in the book.
    slots: Vec<Slot>,
}

impl NativeCode {
    fn new(policy: &NativePolicy, system: &System, groups: Option<&Groups>, fault: &Fault, idle_limit: bool) -> Self {
        let mut reporter = Reporter::new(policy.name.clone(), system, groups, fault);
        if idle_limit && policy.wake_at.is_none() {
            reporter.limit_idling(system.servers);
        }
        let needs = reporter.seen.of_largest(|class| i64::from(system.classes[class as usize].need));
        let (classes, grouped) = (needs.len(), reporter.seen.grouped);
        Self::of(Tables {
            start: policy.start,
            servers: system.servers,
            head_needs: if grouped { needs.clone() } else { Vec::new() },
            needs,
            waiting: vec![0; classes],
            running: vec![0; classes],
            heads: vec![i64::MAX; classes],
            queue: Vec::new(),
            in_service: Vec::new(),
            state: policy.state.clone(),
            random: vec![0],
            changed: Vec::new(),
            sight: if grouped { policy.sight.max(Sight::Heads) } else { policy.sight },
            remembers_order: policy.remembers_order,
            memoryless: policy.memoryless,
            reporter,
            slots: Vec::new(),
        })
    }

    /// Points the view to the tables.
    fn of(mut tables: Tables) -> Self {
        let seen = NativeView {
            version: VERSION,
            time: 0.0,
            servers: i64::from(tables.servers),
            free: i64::from(tables.servers),
            classes: tables.needs.len() as i64,
            needs: tables.needs.as_ptr(),
            waiting: tables.waiting.as_ptr(),
            running: tables.running.as_ptr(),
            heads: tables.heads.as_ptr(),
            waiting_jobs: 0,
            queue: tables.queue.as_ptr(),
            jobs_in_service: 0,
            in_service: tables.in_service.as_ptr(),
            words: tables.state.len() as i64,
            state: tables.state.as_mut_ptr(),
            random: tables.random.as_mut_ptr(),
            head_needs: if tables.head_needs.is_empty() { &tables.needs } else { &tables.head_needs }.as_ptr(),
        };
        Self { tables, seen }
    }

    /// The words of the state that may change.
    fn memory(&self) -> &[u64] {
        if self.tables.memoryless { &[] } else { &self.tables.state }
    }

    /// A class has more or fewer jobs waiting and in service than the view shows.
    #[inline]
    fn change(&mut self, class: u32, waiting: i64, running: i64) {
        let tables = &mut self.tables;
        let number = tables.reporter.seen.number[class as usize];
        let none_waited = tables.waiting[number] == 0;
        tables.waiting[number] += waiting;
        tables.running[number] += running;
        // otherwise the head of line is the same as before
        if tables.sight >= Sight::Heads && (waiting < 0 || waiting > 0 && none_waited) {
            tables.changed.push(class);
        }
    }

    /// The present state, for a call.
    #[inline]
    fn look(&mut self, view: View<'_>) -> &NativeView {
        self.look_at(view.station);
        if self.tables.sight == Sight::Jobs {
            self.list(view);
        }
        &self.seen
    }

    /// Brings all but the jobs up to date.
    #[inline]
    fn look_at(&mut self, station: &Station) {
        let tables = &mut self.tables;
        let shown = &tables.reporter.seen;
        while let Some(mut class) = tables.changed.pop() {
            let number = shown.number[class as usize];
            if shown.grouped {
                class = shown.head(station, number);
                tables.head_needs[number] = i64::from(station.need(class));
            }
            tables.heads[number] = station.head_key(class).unwrap_or(i64::MAX as u64) as i64;
        }
        (self.seen.time, self.seen.free) = (station.now(), i64::from(station.free()));
    }

    fn list(&mut self, view: View<'_>) {
        let (Tables { reporter, queue, in_service, slots, .. }, book) = (&mut self.tables, view.book);
        let copy = |chain: Chain, jobs: &mut Vec<NativeJob>| {
            jobs.clear();
            jobs.extend(book.walk(chain).zip(0..).map(|((_, job), place)| NativeJob {
                number: job.number as i64,
                cls: reporter.seen.number[job.class as usize] as i64,
                need: i64::from(view.station.need(job.class)),
                arrival: job.arrival,
                estimate: job.expected,
                start: job.start,
                place,
            }));
        };
        copy(book.order(), queue);
        copy(book.running(), in_service);
        slots.clear();
        slots.extend(book.walk(book.order()).map(|(slot, _)| slot));
        (self.seen.queue, self.seen.waiting_jobs) = (queue.as_ptr(), queue.len() as i64);
        (self.seen.in_service, self.seen.jobs_in_service) = (in_service.as_ptr(), in_service.len() as i64);
    }

    /// Whether a job that arrives now starts: the view shows it as waiting. Only of a policy that sees no groups, and for a class
    /// of which no job waits.
    fn admits(&mut self, station: &Station, class: u32) -> bool {
        self.look_at(station);
        let tables = &mut self.tables;
        let number = tables.reporter.seen.number[class as usize];
        (tables.waiting[number], tables.heads[number]) = (1, station.now().to_bits() as i64);
        let admitted = (tables.start)(&raw const self.seen) == number as i64;
        (tables.waiting[number], tables.heads[number]) = (0, i64::MAX);
        if admitted {
            tables.running[number] += 1;
            tables.reporter.started();
        }
        admitted
    }

    /// The answer of the policy.
    #[inline]
    fn next(&mut self, view: View<'_>) -> Choice {
        let start = self.tables.start;
        let answer = start(self.look(view));
        if answer == NONE {
            return self.tables.reporter.waits(view);
        }
        if answer == FAILED {
            let what = "raised an exception in native code, or a while loop did not end (run it without `compiled` to see which)";
            self.tables.reporter.report(what, view, None);
            return Choice::Fault;
        }
        match self.read(answer, view) {
            Ok(choice) => {
                self.tables.reporter.started();
                choice
            }
            Err(why) => {
                let shown = if answer == NEGATIVE { "a negative number".into() } else { answer.to_string() };
                self.tables.reporter.report(&format!("answered {shown}, {why}"), view, None);
                Choice::Fault
            }
        }
    }

    #[inline]
    fn read(&self, answer: i64, view: View<'_>) -> Result<Choice, &'static str> {
        let job = (NEGATIVE < answer && answer < NONE).then(|| (NONE - 1).wrapping_sub(answer));
        if let Some(place) = job.filter(|_| self.tables.sight == Sight::Jobs) {
            let slot = usize::try_from(place).ok().and_then(|place| self.tables.slots.get(place)).copied();
            let slot = slot.ok_or("which is not the place of a waiting job")?;
            return check(view, view.book.job(slot).class, Choice::Job(slot));
        }
        let class = self.tables.reporter.class(usize::try_from(answer).ok(), view.station)?;
        check(view, class, Choice::Head(class))
    }
}

/// A policy in native code, whose first decisions are compared with those of the same policy in Python.
#[derive(Clone)]
struct Compiled<const TIMERS: bool> {
    code: NativeCode,
    python: Option<PythonPolicy>,
    /// Decisions that are still to be compared.
    left: u32,
    wake_at: WakeAt,
}

impl<const TIMERS: bool> Compiled<TIMERS> {
    #[cold]
    fn compare(&mut self, view: View<'_>, choice: Choice) -> Choice {
        self.left -= 1;
        let Some(python) = &mut self.python else {
            self.left = 0;
            return choice;
        };
        let expected = python.next(view);
        if self.left == 0 {
            self.python = None;
        }
        if expected == choice || choice == Choice::Fault || expected == Choice::Fault {
            return if expected == Choice::Fault { expected } else { choice };
        }
        let shown = |choice| match choice {
            Choice::Head(class) => format!("class {}", self.code.tables.reporter.seen.number[class as usize]),
            Choice::Job(slot) => format!("job {}", view.book.job(slot).number),
            _ => "none".into(),
        };
        let what = format!("decides differently compiled ({}) and in Python ({})", shown(choice), shown(expected));
        self.code.tables.reporter.report(&what, view, None);
        Choice::Fault
    }
}

impl<const TIMERS: bool> Policy for Compiled<TIMERS> {
    const TIMERS: bool = TIMERS;
    const HOOKS: bool = true;
    const ENDS: bool = true;
    const ADMITS: bool = true;

    /// One replication is compared.
    fn seed(&mut self, (seed, replication): (u64, u32)) {
        self.code.tables.random[0] = generator((seed, replication));
        if replication > 0 {
            self.python = None;
        }
        if let Some(python) = &mut self.python {
            python.draw_from(NativeRandom(self.code.tables.random[0]));
        }
    }

    fn sight(&self) -> Sight {
        self.code.tables.sight
    }

    /// If no waiting job fits, and the answer follows from the view.
    #[inline]
    fn admits(&mut self, station: &Station, class: u32) -> bool {
        let tables = &self.code.tables;
        let asked = tables.memoryless && self.left == 0 && !tables.reporter.seen.grouped;
        let first = station.waiting(class) == 0 && station.need(class) <= station.free() && !station.some_fit();
        asked && first && self.code.admits(station, class)
    }

    fn remembers_order(&self) -> bool {
        self.code.tables.remembers_order
    }

    #[inline]
    fn next(&mut self, view: View<'_>) -> Choice {
        if self.code.tables.memoryless && self.left == 0 && !view.station.some_fit() {
            return self.code.tables.reporter.waits(view);
        }
        let choice = self.code.next(view);
        if self.left > 0 { self.compare(view, choice) } else { choice }
    }

    #[inline]
    fn arrived(&mut self, _: View<'_>, class: u32, _: Slot) {
        self.code.change(class, 1, 0);
    }

    #[inline]
    fn starting(&mut self, _: View<'_>, class: u32, _: Slot) {
        self.code.change(class, -1, 1);
    }

    #[inline]
    fn ended(&mut self, _: View<'_>, class: u32, _: Slot) {
        self.code.change(class, 0, -1);
    }

    fn wake_at(&mut self, view: View<'_>) -> f64 {
        let time = (self.wake_at)(self.code.look(view));
        if time > view.station.now() {
            return time;
        }
        let what = format!("returned {time} from wake_at, which is not in the future");
        self.code.tables.reporter.report(&what, view, None);
        f64::NEG_INFINITY
    }

    fn save(&self) -> Vec<i64> {
        self.code.memory().iter().map(|&word| word as i64).collect()
    }

    /// The same policy in Python has no state to restore, so it is not compared from here on.
    fn restore(&mut self, state: &[i64], view: View<'_>) -> Result<(), Error> {
        if state.len() != self.code.memory().len() {
            let allowed = format!("{} words", self.code.memory().len());
            return Err(Error::argument("policy state", state, allowed));
        }
        self.python = None;
        self.code.tables.state.iter_mut().zip(state).for_each(|(word, &saved)| *word = saved as u64);
        self.code.tables.waiting.fill(0);
        self.code.tables.running.fill(0);
        self.code.tables.heads.fill(i64::MAX);
        let station = view.station;
        for class in 0..station.classes() as u32 {
            self.code.change(class, i64::from(station.waiting(class)), i64::from(station.running(class)));
        }
        Ok(())
    }
}
