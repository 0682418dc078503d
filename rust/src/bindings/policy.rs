//! A custom policy, written in Python.

use std::ops::Range;
use std::sync::{Arc, Mutex};

use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyException, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyTuple};

use crate::error::Error;
use crate::policy::{self, Choice, Groups, Lines, Policy, Sight};
use crate::station::Station;
use crate::system::System;

/// A simulation fails if the policy has started no job while at least this many wait.
const IDLE_JOBS: u32 = 1000;

/// A message that names the policy, and the exception that it raised.
pub struct Failure {
    pub message: String,
    pub cause: Option<Py<PyAny>>,
}

impl From<Failure> for PyErr {
    /// A `ValueError` raised from the exception of the policy; Ctrl-C is not converted.
    fn from(failure: Failure) -> Self {
        Python::attach(|py| match failure.cause.map(|cause| PyErr::from_value(cause.into_bound(py))) {
            Some(cause) if !cause.is_instance_of::<PyException>(py) => cause,
            cause => {
                let error = PyErr::from(Error::Policy(failure.message));
                error.set_cause(py, cause);
                error
            }
        })
    }
}

/// The first failure of a custom policy, shared by its copies.
#[derive(Clone, Default)]
pub struct Fault(Arc<Mutex<Option<Failure>>>);

impl Fault {
    /// The failure, returned once.
    pub fn take(&self) -> Option<Failure> {
        self.0.lock().ok().and_then(|mut fault| fault.take())
    }

    /// The exception of the policy if it failed, otherwise that of the core's error.
    pub fn exception(&self, error: Error) -> PyErr {
        self.take().map_or_else(|| error.into(), PyErr::from)
    }

    fn set(&self, message: String, cause: Option<Py<PyAny>>) {
        if let Ok(mut fault) = self.0.lock() {
            fault.get_or_insert(Failure { message, cause });
        }
    }
}

/// A job in the view of a policy.
#[pyclass(frozen, get_all, module = "quickswap.engine._core")]
#[derive(Clone)]
pub struct ViewedJob {
    /// Number in order of arrival.
    number: u64,
    /// Class, in the user's numbering.
    cls: usize,
    /// Servers.
    need: u32,
    /// Arrival time, seconds.
    arrival: f64,
    /// Estimated size, seconds (nan if there is none).
    estimate: f64,
    /// Start of service, seconds (nan while it waits).
    start: f64,
    slot: u32,
}

#[pymethods]
impl ViewedJob {
    fn __repr__(&self) -> String {
        format!("job {} of class {}", self.number, self.cls)
    }
}

/// The view of a policy: a copy of the state of the system.
#[pyclass(frozen, module = "quickswap.engine._core")]
pub struct View {
    /// Seconds.
    #[pyo3(get)]
    time: f64,
    /// Servers of the system.
    #[pyo3(get)]
    servers: u32,
    /// Free servers.
    #[pyo3(get)]
    free: u32,
    /// Per class: need, jobs waiting, jobs in service.
    #[pyo3(get)]
    needs: Py<PyTuple>,
    #[pyo3(get)]
    waiting: Py<PyTuple>,
    #[pyo3(get)]
    running: Py<PyTuple>,
    /// Per class: number of the head of line in order of arrival, None if no job waits.
    #[pyo3(get)]
    heads: Py<PyTuple>,
    /// Per class: need of the head of line, `needs` if no job waits. Only in a group of needs is it another one.
    #[pyo3(get)]
    head_needs: Py<PyTuple>,
    /// Jobs waiting in order of arrival, and in service in order of start; None unless the policy has `sees_jobs = True`.
    #[pyo3(get)]
    queue: Option<Py<PyTuple>>,
    #[pyo3(get)]
    in_service: Option<Py<PyTuple>>,
    /// The generator of the replication; None in an exact chain, which has no random decisions.
    generator: Option<Py<PyAny>>,
}

#[pymethods]
impl View {
    /// The random generator of the replication.
    #[getter]
    fn random(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let chain = "an exact chain has no random generator: its decisions must follow from the state";
        self.generator.as_ref().map(|it| it.clone_ref(py)).ok_or_else(|| PyValueError::new_err(chain))
    }
}

/// The classes that a custom policy sees, in the user's numbering: those of the system, or groups of them.
#[derive(Clone)]
pub struct Seen {
    /// The number of each class of the core.
    pub number: Vec<usize>,
    /// The classes of the core with each number, in ascending order of need.
    members: Vec<Range<u32>>,
    /// Whether the policy sees groups.
    pub grouped: bool,
}

impl Seen {
    fn new(system: &System, groups: Option<&Groups>) -> Self {
        let Some(groups) = groups else {
            let members = system.inner().iter().map(|&class| class..class + 1).collect();
            return Self { number: system.given.clone(), members, grouped: false };
        };
        let number = (0..system.classes.len() as u32).map(|class| groups.of(class) as usize).collect();
        Self { number, members: groups.lines().map(|line| groups.classes(line)).collect(), grouped: true }
    }

    /// For each number, a property of its largest class.
    pub fn of_largest<T>(&self, property: impl Fn(u32) -> T) -> Vec<T> {
        self.members.iter().map(|classes| property(classes.end - 1)).collect()
    }

    /// For each number, the sum over its classes.
    fn sums(&self, count: impl Fn(u32) -> u32) -> Vec<u32> {
        self.members.iter().map(|classes| classes.clone().map(&count).sum()).collect()
    }

    /// The class of the core of the oldest waiting job with a number, or the largest of its classes if no job waits.
    #[inline]
    pub fn head(&self, station: &Station, number: usize) -> u32 {
        let classes = &self.members[number];
        let oldest = if self.grouped { station.oldest_waiting_of(classes.start, classes.end) } else { None };
        oldest.unwrap_or(classes.end - 1)
    }

    fn heads(&self, station: &Station) -> impl Iterator<Item = u32> {
        (0..self.members.len()).map(|number| self.head(station, number))
    }
}

/// Reports the faults of a custom policy, with its name and the state in the user's numbering of classes.
#[derive(Clone)]
pub struct Reporter {
    name: String,
    fault: Fault,
    /// The classes that the policy sees.
    pub seen: Seen,
    /// Jobs that may wait before the first one starts; None without a limit.
    idle_limit: Option<u32>,
}

impl Reporter {
    /// Without a limit.
    pub fn new(name: String, system: &System, groups: Option<&Groups>, fault: &Fault) -> Self {
        Self { name, fault: fault.clone(), seen: Seen::new(system, groups), idle_limit: None }
    }

    /// The policy fails if it never starts a job, instead of filling the system to its limit. It may wait for ten jobs a
    /// server.
    pub fn limit_idling(&mut self, servers: u32) {
        self.idle_limit = Some(servers.saturating_mul(10).max(IDLE_JOBS));
    }

    /// The policy has started a job.
    #[inline]
    pub fn started(&mut self) {
        self.idle_limit = None;
    }

    /// The policy starts no job now.
    #[inline]
    pub fn waits(&self, view: policy::View<'_>) -> Choice {
        let station = view.station;
        match self.idle_limit {
            Some(most) if station.free() == station.servers() && station.total_waiting() >= u64::from(most) => {
                self.report("has not started a job, although jobs wait and all servers are free", view, None);
                Choice::Fault
            }
            _ => Choice::Wait,
        }
    }

    /// Keeps the first fault, with the state.
    pub fn report(&self, what: &str, view: policy::View<'_>, cause: Option<Py<PyAny>>) {
        let station = view.station;
        let state = format!(
            "time {}, {} of {} servers free, needs {:?}, waiting {:?}, in service {:?}",
            station.now(),
            station.free(),
            station.servers(),
            self.seen.of_largest(|class| station.need(class)),
            self.seen.sums(|class| station.waiting(class)),
            self.seen.sums(|class| station.running(class)),
        );
        self.fault.set(format!("policy {} {what}; the state was: {state}", self.name), cause);
    }

    /// The class of the core that starts a job by an answer, the user's number.
    pub fn class(&self, answer: Option<usize>, station: &Station) -> Result<u32, &'static str> {
        let number = answer.filter(|&number| number < self.seen.members.len());
        number
            .map(|number| self.seen.head(station, number))
            .ok_or("which is not a class; allowed are None, the index of a class, or a job of view.queue")
    }
}

/// Why the choice of a job of this class is invalid, if it is.
pub fn check(view: policy::View<'_>, class: u32, choice: Choice) -> Result<Choice, &'static str> {
    if view.station.waiting(class) == 0 {
        return Err("a class without waiting jobs");
    }
    if view.station.need(class) > view.station.free() {
        return Err("a job that does not fit");
    }
    Ok(choice)
}

/// The Python object as a policy of the core.
pub struct PythonPolicy {
    object: Option<Py<PyAny>>,
    reporter: Reporter,
    sees_jobs: bool,
    remembers_order: bool,
    timers: bool,
    /// A `random.Random`, once there is a seed.
    generator: Option<Py<PyAny>>,
}

fn attribute<T: for<'a, 'py> FromPyObject<'a, 'py>>(object: &Bound<'_, PyAny>, name: &str) -> Option<T> {
    object.getattr(name).ok().and_then(|value| value.extract().ok())
}

/// Whether the answer is a whole number of Python or NumPy, and not a boolean.
fn whole(answer: &Bound<'_, PyAny>) -> bool {
    !answer.is_instance_of::<PyBool>() && answer.call_method0("__index__").is_ok()
}

fn deep_copy(py: Python<'_>, object: &Py<PyAny>) -> PyResult<Py<PyAny>> {
    Ok(py.import("copy")?.call_method1("deepcopy", (object,))?.unbind())
}

impl PythonPolicy {
    /// Works on a deep copy, so replications do not share the policy's state.
    pub fn new(object: &Py<PyAny>, system: &System, groups: Option<&Groups>, fault: &Fault) -> Self {
        Python::attach(|py| {
            let bound = object.bind(py);
            let name = attribute::<String>(bound, "name")
                .or_else(|| bound.get_type().name().ok().map(|name| name.to_string()))
                .unwrap_or_default();
            let mut policy = Self {
                object: None,
                reporter: Reporter::new(name, system, groups, fault),
                sees_jobs: attribute(bound, "sees_jobs").unwrap_or(false),
                remembers_order: attribute(bound, "remembers_order").unwrap_or(true),
                timers: bound.hasattr("wake_at").unwrap_or(false),
                generator: None,
            };
            policy.object = policy.copied(py, object);
            policy
        })
    }

    /// The policy fails if it never starts a job; one with timers may.
    pub fn with_idle_limit(mut self, servers: u32) -> Self {
        if !self.timers {
            self.reporter.limit_idling(servers);
        }
        self
    }

    /// Sets the generator of the replication.
    pub fn draw_from(&mut self, generator: impl for<'py> IntoPyObject<'py>) {
        Python::attach(|py| {
            self.generator = generator.into_py_any(py).ok();
        });
    }

    fn copied(&self, py: Python<'_>, object: &Py<PyAny>) -> Option<Py<PyAny>> {
        match deep_copy(py, object) {
            Ok(copy) => Some(copy),
            Err(error) => {
                self.reporter.fault.set(
                    format!("policy {} cannot be copied: {error}", self.reporter.name),
                    Some(error.into_value(py).into_any()),
                );
                None
            }
        }
    }

    fn tuple<'py, T: IntoPyObject<'py>>(py: Python<'py>, values: Vec<T>) -> PyResult<Py<PyTuple>> {
        Ok(PyTuple::new(py, values)?.unbind())
    }

    fn view(&self, py: Python<'_>, view: policy::View<'_>) -> PyResult<View> {
        let (station, book) = (view.station, view.book);
        let seen = &self.reporter.seen;
        let heads = seen.heads(station).map(|class| station.head_key(class).filter(|_| station.waiting(class) > 0));
        let needs = Self::tuple(py, seen.of_largest(|class| station.need(class)))?;
        let head_needs = if seen.grouped {
            Self::tuple(py, seen.heads(station).map(|class| station.need(class)).collect())?
        } else {
            needs.clone_ref(py)
        };
        let jobs = |chain| {
            let listed = book.walk(chain).map(|(slot, job)| ViewedJob {
                number: job.number,
                cls: seen.number[job.class as usize],
                need: station.need(job.class),
                arrival: job.arrival,
                estimate: job.expected,
                start: job.start,
                slot,
            });
            Self::tuple(py, listed.collect())
        };
        Ok(View {
            time: station.now(),
            servers: station.servers(),
            free: station.free(),
            needs,
            waiting: Self::tuple(py, seen.sums(|class| station.waiting(class)))?,
            running: Self::tuple(py, seen.sums(|class| station.running(class)))?,
            heads: Self::tuple(py, heads.collect())?,
            head_needs,
            queue: self.sees_jobs.then(|| jobs(book.order())).transpose()?,
            in_service: self.sees_jobs.then(|| jobs(book.running())).transpose()?,
            generator: self.generator.as_ref().map(|it| it.clone_ref(py)),
        })
    }

    fn call<'py>(&self, py: Python<'py>, method: &str, view: policy::View<'_>) -> PyResult<Bound<'py, PyAny>> {
        let seen = self.view(py, view)?;
        match &self.object {
            Some(object) => object.bind(py).call_method1(method, (seen,)),
            None => Ok(py.NotImplemented().into_bound(py)),
        }
    }

    /// Parses and checks an answer.
    fn read(&self, answer: &Bound<'_, PyAny>, view: policy::View<'_>) -> Result<Choice, &'static str> {
        if answer.is_none() {
            return Ok(Choice::Wait);
        }
        let (class, choice) = if let Ok(job) = answer.cast::<ViewedJob>() {
            let job = job.get();
            let waits = view.book.walk(view.book.order()).any(|(slot, j)| slot == job.slot && j.number == job.number);
            if !waits {
                return Err("a job that is not waiting");
            }
            (view.book.job(job.slot).class, Choice::Job(job.slot))
        } else if whole(answer) {
            let class = self.reporter.class(answer.extract().ok(), view.station)?;
            (class, Choice::Head(class))
        } else {
            return Err("which is not allowed; allowed are None, the index of a class, or a job of view.queue");
        };
        check(view, class, choice)
    }
}

impl Clone for PythonPolicy {
    fn clone(&self) -> Self {
        Python::attach(|py| Self {
            object: self.object.as_ref().and_then(|object| self.copied(py, object)),
            reporter: self.reporter.clone(),
            sees_jobs: self.sees_jobs,
            remembers_order: self.remembers_order,
            timers: self.timers,
            generator: self.generator.as_ref().and_then(|generator| self.copied(py, generator)),
        })
    }
}

impl Policy for PythonPolicy {
    const TIMERS: bool = true;

    /// Python hashes a seed that is text, so neighbouring seeds give independent generators.
    fn seed(&mut self, (seed, replication): (u64, u32)) {
        let made = Python::attach(|py| -> PyResult<Py<PyAny>> {
            Ok(py.import("random")?.call_method1("Random", (format!("{seed}/{replication}"),))?.unbind())
        });
        match made {
            Ok(generator) => self.generator = Some(generator),
            Err(error) => {
                self.reporter.fault.set(format!("policy {} has no random generator: {error}", self.reporter.name), None)
            }
        }
    }

    fn sight(&self) -> Sight {
        if self.sees_jobs { Sight::Jobs } else { Sight::Heads }
    }

    fn remembers_order(&self) -> bool {
        self.remembers_order
    }

    fn next(&mut self, view: policy::View<'_>) -> Choice {
        Python::attach(|py| match self.call(py, "start", view) {
            Err(error) => {
                let what = format!("raised {error}");
                self.reporter.report(&what, view, Some(error.into_value(py).into_any()));
                Choice::Fault
            }
            Ok(answer) => match self.read(&answer, view) {
                Ok(Choice::Wait) => self.reporter.waits(view),
                Ok(choice) => {
                    self.reporter.started();
                    choice
                }
                Err(why) => {
                    let shown = answer.repr().map_or_else(|_| "an object without repr".into(), |repr| repr.to_string());
                    self.reporter.report(&format!("answered {shown}, {why}"), view, None);
                    Choice::Fault
                }
            },
        })
    }

    fn wake_at(&mut self, view: policy::View<'_>) -> f64 {
        Python::attach(|py| {
            if !self.timers {
                return f64::INFINITY;
            }
            let time = self
                .call(py, "wake_at", view)
                .and_then(|answer| if answer.is_none() { Ok(f64::INFINITY) } else { answer.extract::<f64>() });
            match time {
                Ok(time) if time > view.station.now() => time,
                Ok(time) => {
                    self.reporter.report(
                        &format!("returned {time} from wake_at, which is not in the future"),
                        view,
                        None,
                    );
                    f64::NEG_INFINITY
                }
                Err(error) => {
                    let what = format!("raised {error} in wake_at");
                    self.reporter.report(&what, view, Some(error.into_value(py).into_any()));
                    f64::NEG_INFINITY
                }
            }
        })
    }

    /// The state that its method `save` returns, a sequence of whole numbers; empty if it has none.
    fn save(&self) -> Vec<i64> {
        Python::attach(|py| {
            let object = self.object.as_ref().map(|object| object.bind(py));
            let state = object.filter(|o| o.hasattr("save").unwrap_or(false)).map(|o| o.call_method0("save"));
            match state.map(|state| state.and_then(|state| state.extract::<Vec<i64>>())) {
                None => Vec::new(),
                Some(Ok(state)) => state,
                Some(Err(error)) => {
                    self.reporter.fault.set(
                        format!("policy {} failed to save: {error}", self.reporter.name),
                        Some(error.into_value(py).into_any()),
                    );
                    Vec::new()
                }
            }
        })
    }

    fn restore(&mut self, state: &[i64], _: policy::View<'_>) -> Result<(), Error> {
        Python::attach(|py| {
            let object = self.object.as_ref().map(|object| object.bind(py));
            match object.filter(|o| o.hasattr("restore").unwrap_or(false)) {
                None if state.is_empty() => Ok(()),
                None => Err(Error::Policy(format!(
                    "policy {} has no method restore for its state {state:?}",
                    self.reporter.name
                ))),
                Some(object) => object.call_method1("restore", (state.to_vec(),)).map(|_| ()).map_err(|error| {
                    Error::Policy(format!("policy {} failed to restore {state:?}: {error}", self.reporter.name))
                }),
            }
        })
    }
}
