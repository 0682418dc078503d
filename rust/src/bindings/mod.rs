//! The Python module `quickswap.engine._core`. No other folder depends on Python.

mod compiled;
mod explore;
mod intervals;
mod policy;
mod step;

use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, OnceLock};
use std::time::Duration;

use numpy::{
    IntoPyArray, PyArray1, PyArray2, PyArray3, PyArray4, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2,
    PyUntypedArrayMethods,
};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use serde::de::DeserializeOwned;

use crate::bins;
use crate::counters::{
    BLOCK_COLUMNS, CLASS_COLUMNS, METRICS, PER_CLASS, PHASE_COLUMNS, PHASES, Quantiles, SYSTEM_COLUMNS,
};
use crate::engine::{self, Gate, Leftover, Loop, Predictions, Run, Signals, Spec, Stop, Trace};
use crate::error::Error;
use crate::idle;
use crate::policy::{NAMES, dispatch, groups as groups_of};
use crate::prices;
use crate::swf;
use crate::system::System;
use policy::Fault;

impl From<Error> for PyErr {
    /// `ValueError` for an error of the caller or of a policy, `RuntimeError` for a fault of the core. An exception about
    /// an argument has its name, the value given and the values allowed as attributes.
    fn from(error: Error) -> Self {
        let message = error.to_string();
        match error {
            Error::Invariant(_) | Error::Panic => PyRuntimeError::new_err(message),
            Error::Argument { name, given, allowed } => Python::attach(|py| {
                let exception = PyValueError::new_err(message);
                let fields = [("argument", name.as_ref()), ("given", &given), ("allowed", &allowed)];
                let set = fields.iter().try_for_each(|(field, text)| exception.value(py).setattr(*field, *text));
                set.map_or_else(|failure| failure, |()| exception)
            }),
            _ => PyValueError::new_err(message),
        }
    }
}

fn parse<T: DeserializeOwned>(spec: &str) -> Result<T, Error> {
    Ok(serde_json::from_str(spec)?)
}

fn reason(stop: Stop) -> &'static str {
    match stop {
        Stop::Done => "done",
        Stop::Empty => "empty",
        Stop::Interrupted => "interrupted",
        Stop::Crowded => "crowded",
        Stop::Stuck => "stuck",
        Stop::Fault => "fault",
        Stop::Broken => "broken",
    }
}

/// Replications of one simulation, which can be continued.
#[pyclass(module = "quickswap.engine._core")]
struct Simulation {
    runs: Vec<Box<dyn Run>>,
    system: System,
    fault: Fault,
}

#[pymethods]
impl Simulation {
    /// `spec` is JSON (see `engine::Spec`); `policy` an object that takes the place of the spec's policy.
    #[new]
    #[pyo3(signature = (spec, policy=None))]
    fn new(py: Python<'_>, spec: &str, policy: Option<Py<PyAny>>) -> PyResult<Self> {
        // the first array loads NumPy's C interface; later, Ctrl-C during that load would panic
        PyArray1::<f64>::zeros(py, 0, false);
        let spec: Spec = parse(spec)?;
        let system = System::new(spec.system.clone())?;
        let fault = Fault::default();
        let runs = (0..spec.replications).map(|replication| {
            let builder = spec.run_builder(&system, replication);
            match &policy {
                None => dispatch(&spec.policy, &system, builder)?,
                Some(object) => compiled::visit(object, &system, None, &fault, true, builder),
            }
        });
        let runs = runs.collect::<Result<_, Error>>()?;
        Ok(Self { runs, system, fault })
    }

    /// Runs every replication until it has `completed` completions; `progress(completions of all)` is called regularly.
    #[pyo3(signature = (completed, threads, progress=None))]
    fn advance(
        &mut self,
        py: Python<'_>,
        completed: u64,
        threads: usize,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Vec<&'static str>> {
        let stops = drive(py, &mut self.runs, completed, threads, progress.as_ref())?;
        Ok(stops.into_iter().map(reason).collect())
    }

    /// Message and exception of a custom policy that failed, or the message of the debug mode's check that failed.
    fn fault(&self) -> Option<(String, Option<Py<PyAny>>)> {
        let violation = || self.runs.iter().find_map(|run| run.violation()).map(|error| (error.to_string(), None));
        self.fault.take().map(|failure| (failure.message, failure.cause)).or_else(violation)
    }

    /// Per replication the largest relative gap in Little's law over classes: area under the number in system against times.
    fn little_gaps(&mut self) -> Vec<f64> {
        let gap = |run: &mut Box<dyn Run>| {
            let (ages, phases) = (run.ages(), run.phases().cloned());
            run.counters().little_gap(run.station(), phases.as_ref(), &ages)
        };
        self.runs.iter_mut().map(gap).collect()
    }

    /// Completions, and events, of all replications.
    fn totals(&self) -> (u64, u64) {
        let totals = self.runs.iter().map(|run| (run.counters().completed(), run.events()));
        totals.fold((0, 0), |sum, each| (sum.0 + each.0, sum.1 + each.1))
    }

    /// Per replication `BLOCK_COLUMNS` of its blocks.
    fn blocks<'py>(&mut self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyArray2<f64>>>> {
        let of_run = |run: &mut Box<dyn Run>| {
            let phases = run.phases().cloned();
            let blocks = run.counters().blocks(run.station(), phases.as_ref());
            let shape = [blocks.len() / BLOCK_COLUMNS.len(), BLOCK_COLUMNS.len()];
            blocks.into_pyarray(py).reshape(shape)
        };
        self.runs.iter_mut().map(of_run).collect()
    }

    /// Rows of sums over the blocks between two `edges` of each replication, classes in the user's order.
    fn sums<'py>(&mut self, py: Python<'py>, edges: Vec<Vec<usize>>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let (inner, mut ordered, mut width) = (self.system.inner(), Vec::new(), 1);
        for (run, edges) in self.runs.iter_mut().zip(&edges) {
            let phases = run.phases().cloned();
            width = run.counters().width();
            for row in run.counters().sums(run.station(), phases.as_ref(), edges).chunks_exact(width) {
                for &class in &inner {
                    ordered.extend_from_slice(&row[class as usize * PER_CLASS..][..PER_CLASS]);
                }
                ordered.extend_from_slice(&row[inner.len() * PER_CLASS..]);
            }
        }
        let rows = ordered.len() / width;
        ordered.into_pyarray(py).reshape([rows, width])
    }

    /// Blocks in a full segment, and the segments begun by each replication.
    fn segments(&self) -> (usize, Vec<usize>) {
        let blocks = self.runs.first().map_or(1, |run| run.counters().segment_blocks());
        (blocks, self.runs.iter().map(|run| run.counters().segments().len()).collect())
    }

    /// Quantiles of all batches, then with one left out, (1 + batches) x (classes + 1) x `METRICS` x levels; and the
    /// distances by which they may be off inside their buckets. A batch holds the segments between two `edges` of a
    /// replication; the last class is all jobs.
    #[allow(clippy::type_complexity, reason = "the signature for Python")]
    fn quantiles<'py>(
        &self,
        py: Python<'py>,
        edges: Vec<Vec<usize>>,
        levels: Vec<f64>,
    ) -> PyResult<(Bound<'py, PyArray4<f64>>, Bound<'py, PyArray3<f64>>)> {
        let inner = self.system.inner();
        let (found, batches) = py.detach(|| {
            let runs: Vec<_> = self.runs.iter().map(|run| run.counters().segments()).collect();
            let parts = runs.iter().zip(&edges).flat_map(|(segments, edges)| {
                edges.windows(2).map(move |pair| segments.get(pair[0]..pair[1]).unwrap_or_default())
            });
            let parts: Vec<_> = parts.collect();
            let scale = self.runs.first().map(|run| run.counters().scale());
            let found = scale.map(|scale| Quantiles::of(&parts, &inner, &levels, scale));
            (found, parts.len())
        });
        let found = found.ok_or_else(|| Error::argument("replications", 0, "at least 1"))?;
        let [classes, metrics, levels] = [inner.len() + 1, METRICS.len(), levels.len()];
        Ok((
            found.values.into_pyarray(py).reshape([1 + batches, classes, metrics, levels])?,
            found.errors.into_pyarray(py).reshape([classes, metrics, levels])?,
        ))
    }

    /// Seconds between the points of the trajectory of the first replication, and the jobs of each class at each.
    fn trajectory<'py>(&self, py: Python<'py>) -> PyResult<(f64, Bound<'py, PyArray2<u32>>)> {
        let inner = self.system.inner();
        let (step, points) = self.runs.first().map_or((0.0, &[][..]), |run| run.counters().trajectory().points());
        let ordered: Vec<u32> = points
            .chunks_exact(inner.len())
            .flat_map(|point| inner.iter().map(move |&class| point[class as usize]))
            .collect();
        let instants = ordered.len() / inner.len();
        Ok((step, ordered.into_pyarray(py).reshape([instants, inner.len()])?))
    }
}

/// Completions of each run, so few that starting a thread would take longer than they do.
const FEW: u64 = 4096;

/// Advances the runs, many completions in threads; this thread checks for signals (Ctrl-C) and reports progress.
fn drive(
    py: Python<'_>,
    runs: &mut [Box<dyn Run>],
    completed: u64,
    threads: usize,
    progress: Option<&Py<PyAny>>,
) -> PyResult<Vec<Stop>> {
    let before = runs.iter().map(|run| run.counters().completed()).sum();
    let signals = Signals { completed: AtomicU64::new(before), ..Signals::default() };
    if completed <= FEW {
        let advance = || std::panic::catch_unwind(AssertUnwindSafe(|| engine::advance(runs, completed, 1, &signals)));
        let stops = py.detach(advance).map_err(|_| Error::Panic)?; // the message of the panic has been printed
        if let Some(progress) = progress {
            progress.call1(py, (signals.completed.load(Ordering::Relaxed),))?;
        }
        py.check_signals()?;
        return Ok(stops);
    }
    let (finished, over) = (Mutex::new(None), Condvar::new());
    let thread = OnceLock::new();
    py.detach(|| {
        std::thread::scope(|scope| {
            let worker = scope.spawn(|| {
                _ = thread.set(Python::attach(thread_of_python));
                let stops = engine::advance(runs, completed, threads, &signals);
                if let Ok(mut finished) = finished.lock() {
                    *finished = Some(stops);
                }
                over.notify_all();
            });
            let mut failure = None;
            loop {
                // before the stops are read: a worker that ended without a panic has stored them
                let ended = worker.is_finished();
                let guard = finished.lock().map_err(|_| Error::Panic)?;
                let (mut guard, _) = over
                    .wait_timeout_while(guard, Duration::from_millis(50), |finished| finished.is_none())
                    .map_err(|_| Error::Panic)?;
                let stops = guard.take();
                drop(guard);
                let looked = Python::attach(|py| {
                    if let Some(progress) = progress {
                        progress.call1(py, (signals.completed.load(Ordering::Relaxed),))?;
                    }
                    py.check_signals()
                });
                if let Err(error) = looked {
                    signals.stop.store(true, Ordering::Relaxed);
                    failure.get_or_insert(error);
                }
                if let (Some(_), Some(Some(thread))) = (&failure, thread.get()) {
                    Python::attach(|_| interrupt(*thread));
                }
                if let Some(stops) = stops {
                    return failure.map_or(Ok(stops), Err);
                }
                if ended {
                    let _ = worker.join(); // the message of the panic has been printed
                    return Err(Error::Panic.into());
                }
            }
        })
    })
}

/// The number of this thread in Python.
fn thread_of_python(py: Python<'_>) -> Option<u64> {
    py.import("threading").and_then(|threading| threading.call_method0("get_ident")?.extract()).ok()
}

/// Raises `KeyboardInterrupt` in the code of a policy in Python that another thread runs, if any.
#[allow(unsafe_code, reason = "PyO3 has no safe form of it")]
fn interrupt(thread: u64) {
    // SAFETY: this thread is attached to Python; the exception is a static object.
    unsafe {
        pyo3::ffi::PyThreadState_SetAsyncExc(thread as _, pyo3::ffi::PyExc_KeyboardInterrupt);
    }
}

/// Serves the jobs of a trace to the end, with their sizes as estimates unless others are given. `user` and `priority` are for
/// policies that use them; otherwise each class is a user. With `predict`, the users and the requested times of the jobs, see
/// `engine::Predictions`, predictions take the place of the estimates. `groups` of each job, a row each, hold it back while one
/// of them has as many jobs waiting or in service as its limit. `progress(completions)` is called now and then, `debug` asks for
/// checks at every event. Returns start and end of each job (seconds), the jobs in order of their start, and
/// how many had a predicted estimate.
#[pyfunction]
#[pyo3(signature = (spec, arrival, cls, size, policy=None, *, estimate=None, predict=None, user=None, priority=None, groups=None, limits=None, debug=true, progress=None))]
#[allow(clippy::type_complexity, clippy::too_many_arguments, reason = "the signature for Python")]
fn replay<'py>(
    py: Python<'py>,
    spec: &str,
    arrival: PyReadonlyArray1<'py, f64>,
    cls: PyReadonlyArray1<'py, u32>,
    size: PyReadonlyArray1<'py, f64>,
    policy: Option<Py<PyAny>>,
    estimate: Option<PyReadonlyArray1<'py, f64>>,
    predict: Option<(PyReadonlyArray1<'py, u32>, PyReadonlyArray1<'py, f64>)>,
    user: Option<PyReadonlyArray1<'py, u32>>,
    priority: Option<PyReadonlyArray1<'py, f64>>,
    groups: Option<PyReadonlyArray2<'py, u32>>,
    limits: Option<Vec<u32>>,
    debug: bool,
    progress: Option<Py<PyAny>>,
) -> PyResult<(Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<u64>>, u64)> {
    #[derive(serde::Deserialize)]
    struct ReplaySpec {
        system: crate::system::SystemSpec,
        policy: serde_json::Map<String, serde_json::Value>,
        #[serde(default)]
        seed: u64,
    }
    let replayed: ReplaySpec = parse(spec)?;
    let system = System::new(replayed.system)?;
    let inner = system.inner();
    let class = cls.as_slice()?.iter().map(|&c| inner.get(c as usize).copied().ok_or(c));
    let trace = Trace {
        arrival: arrival.as_slice()?.to_vec(),
        class: class
            .collect::<Result<_, _>>()
            .map_err(|c| Error::argument("cls", c, format!("from 0 to {}", inner.len() - 1)))?,
        size: size.as_slice()?.to_vec(),
        estimate: estimate.as_ref().unwrap_or(&size).as_slice()?.to_vec(),
        user: user.as_ref().map_or(Ok(&[][..]), |user| user.as_slice())?.to_vec(),
        priority: priority.as_ref().map_or(Ok(&[][..]), |priority| priority.as_slice())?.to_vec(),
        gate: groups.map(|groups| gate(&groups, limits.unwrap_or_default(), arrival.len())).transpose()?,
    };
    let jobs = trace.arrival.len();
    let lengths = [trace.class.len(), trace.size.len(), trace.estimate.len()];
    if lengths != [jobs; 3] {
        return Err(
            Error::argument("length of cls, size and estimate", lengths, format!("{jobs}, as of arrival")).into()
        );
    }
    for (name, length) in [("user", trace.user.len()), ("priority", trace.priority.len())] {
        if length != 0 && length != jobs {
            return Err(Error::argument(name, length, format!("{jobs} entries, as of arrival, or none")).into());
        }
    }
    if let Some(user) = trace.user.iter().find(|&&user| user as usize >= jobs) {
        return Err(Error::argument("user", user, format!("from 0 to {}", jobs.saturating_sub(1))).into());
    }
    if !trace.arrival.is_sorted() || trace.arrival.first().is_some_and(|&t| t < 0.0) {
        return Err(Error::argument("arrival", trace.arrival, "sorted and not negative").into());
    }
    let invalid = trace.size.iter().chain(&trace.estimate).find(|&&size| !(size.is_finite() && size >= 0.0));
    if let Some(size) = invalid {
        return Err(Error::argument("size or estimate", size, "finite and not negative").into());
    }
    if let Some(priority) = trace.priority.iter().find(|&&priority| !(priority.is_finite() && priority >= 0.0)) {
        return Err(Error::argument("priority", priority, "finite and not negative").into());
    }
    let spec = Spec {
        system: crate::system::SystemSpec { servers: system.servers, classes: Vec::new() },
        policy: replayed.policy,
        engine: Loop::Events,
        seed: replayed.seed,
        replications: 1,
        block_jobs: (jobs as u64).div_ceil(256),
        trajectory: 0,
        slowdown_bound: 10.0,
        crowd: u64::MAX,
        debug,
    };
    let mut builder = spec.run_builder(&system, 0);
    builder.trace = Some(trace);
    if let Some((users, requested)) = predict {
        let (users, requested) = (users.as_slice()?.to_vec(), requested.as_slice()?.to_vec());
        let lengths = [users.len(), requested.len()];
        if lengths != [jobs; 2] {
            let allowed = format!("{jobs}, as of arrival");
            return Err(Error::argument("length of users and requested", lengths, allowed).into());
        }
        builder.predictions = Some(Predictions::new(users, requested));
    }
    let fault = Fault::default();
    let run = match &policy {
        None => dispatch(&spec.policy, &system, builder)?,
        Some(object) => {
            let groups = groups_of(&spec.policy, &system)?;
            compiled::visit(object, &system, groups.as_ref(), &fault, false, builder)
        }
    };
    let mut runs = [run?];
    let stop = drive(py, &mut runs, u64::MAX, 1, progress.as_ref())?[0];
    let [mut run] = runs;
    if matches!(stop, Stop::Fault | Stop::Broken) {
        let error = run.violation().unwrap_or(Error::Unsupported("policy answer is not a waiting job that fits"));
        return Err(fault.exception(error));
    }
    let schedule = run.schedule().unwrap_or_default();
    Ok((
        schedule.start.into_pyarray(py),
        schedule.end.into_pyarray(py),
        schedule.order.into_pyarray(py),
        schedule.predicted,
    ))
}

/// The gate of a trace, whose jobs have a row of groups each.
fn gate(groups: &PyReadonlyArray2<'_, u32>, limits: Vec<u32>, jobs: usize) -> PyResult<Gate> {
    let &[rows, width] = groups.shape() else { unreachable!("an array of two dimensions") };
    let flat = groups.as_slice()?;
    if rows != jobs || flat.iter().any(|&group| group as usize >= limits.len()) || limits.contains(&0) {
        let allowed = "a row for each job, with groups whose limits are at least 1";
        return Err(Error::argument("groups", groups.shape(), allowed).into());
    }
    Ok(Gate::new(flat.to_vec(), width, limits))
}

/// Serves the preemptible jobs of a trace on the servers `left` by the other jobs from each `time` on, see `engine::Leftover`.
/// `needs` are those of the classes, ascending; `groups` and `limits` as in `replay`. Returns start and end of each job
/// (seconds), then job, start and end of each run that was stopped.
#[pyfunction]
#[pyo3(signature = (servers, time, left, needs, arrival, cls, size, *, keeps_work=false, groups=None, limits=None))]
#[allow(clippy::type_complexity, clippy::too_many_arguments, reason = "the signature for Python")]
fn serve_leftover<'py>(
    py: Python<'py>,
    servers: u32,
    time: PyReadonlyArray1<'py, f64>,
    left: PyReadonlyArray1<'py, u32>,
    needs: Vec<u32>,
    arrival: PyReadonlyArray1<'py, f64>,
    cls: PyReadonlyArray1<'py, u32>,
    size: PyReadonlyArray1<'py, f64>,
    keeps_work: bool,
    groups: Option<PyReadonlyArray2<'py, u32>>,
    limits: Option<Vec<u32>>,
) -> PyResult<[Bound<'py, PyAny>; 5]> {
    let trace = Trace {
        arrival: arrival.as_slice()?.to_vec(),
        class: cls.as_slice()?.to_vec(),
        size: size.as_slice()?.to_vec(),
        estimate: size.as_slice()?.to_vec(),
        gate: groups.map(|groups| gate(&groups, limits.unwrap_or_default(), arrival.len())).transpose()?,
        ..Trace::default()
    };
    let left = time.as_slice()?.iter().copied().zip(left.as_slice()?.iter().copied()).collect();
    let mut run = Leftover::new(trace, needs, servers, left, keeps_work);
    while py.detach(|| run.advance(1 << 20)) {
        py.check_signals()?;
    }
    let (mut jobs, mut starts, mut ends) = (Vec::new(), Vec::new(), Vec::new());
    for (job, start, end) in run.stopped {
        jobs.push(job);
        starts.push(start);
        ends.push(end);
    }
    Ok([
        run.start.into_pyarray(py).into_any(),
        run.end.into_pyarray(py).into_any(),
        jobs.into_pyarray(py).into_any(),
        starts.into_pyarray(py).into_any(),
        ends.into_pyarray(py).into_any(),
    ])
}

/// See `idle::time_with_enough`.
#[pyfunction]
fn time_with_enough<'py>(
    py: Python<'py>,
    length: PyReadonlyArray1<'py, f64>,
    free: PyReadonlyArray1<'py, i64>,
    begin: PyReadonlyArray1<'py, i64>,
    end: PyReadonlyArray1<'py, i64>,
    need: PyReadonlyArray1<'py, i64>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let (length, free) = (length.as_slice()?, free.as_slice()?);
    let (begin, end, need) = (begin.as_slice()?, end.as_slice()?, need.as_slice()?);
    let jobs = begin.iter().zip(end).zip(need).map(|((&begin, &end), &need)| (begin as usize, end as usize, need));
    let jobs: Vec<_> = jobs.collect();
    if free.len() != length.len() || jobs.iter().any(|&(_, end, _)| end > length.len()) {
        return Err(Error::argument("end", free.len(), format!("up to {} intervals", length.len())).into());
    }
    Ok(py.detach(|| idle::time_with_enough(length, free, &jobs)).into_pyarray(py))
}

/// See `prices::cheapest_service`.
#[pyfunction]
fn cheapest_service<'py>(
    py: Python<'py>,
    edges: PyReadonlyArray1<'py, f64>,
    prices: PyReadonlyArray1<'py, f64>,
    arrival: PyReadonlyArray1<'py, f64>,
    need: PyReadonlyArray1<'py, f64>,
    size: PyReadonlyArray1<'py, f64>,
) -> PyResult<(f64, Bound<'py, PyArray1<f64>>)> {
    let (edges, prices) = (edges.as_slice()?, prices.as_slice()?);
    let (arrival, need, size) = (arrival.as_slice()?, need.as_slice()?, size.as_slice()?);
    let jobs = arrival.iter().zip(need).zip(size).map(|((&arrival, &need), &size)| (arrival, need, size));
    let (cost, demand) = py.detach(|| prices::cheapest_service(edges, prices, jobs));
    Ok((cost, demand.into_pyarray(py)))
}

/// See `prices::smallest_first`; points are rows.
#[pyfunction]
fn smallest_first<'py>(
    py: Python<'py>,
    speed: f64,
    arrival: PyReadonlyArray1<'py, f64>,
    work: PyReadonlyArray1<'py, f64>,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let (arrival, work) = (arrival.as_slice()?, work.as_slice()?);
    let points = py.detach(|| prices::smallest_first(speed, arrival, work));
    points.as_flattened().to_vec().into_pyarray(py).reshape([points.len(), 2])
}

/// See `bins::counts`; a row for each cell.
#[pyfunction]
fn bin_counts<'py>(
    py: Python<'py>,
    values: PyReadonlyArray1<'py, f64>,
    cell: PyReadonlyArray1<'py, i64>,
    cells: usize,
    edges: PyReadonlyArray1<'py, f64>,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let (values, cell, edges) = (values.as_slice()?, cell.as_slice()?, edges.as_slice()?);
    if values.len() != cell.len() || cell.iter().any(|&cell| !usize::try_from(cell).is_ok_and(|cell| cell < cells)) {
        return Err(Error::argument("cell", cell.len(), format!("one below {cells} for each value")).into());
    }
    py.detach(|| bins::counts(values, cell, cells, edges)).into_pyarray(py).reshape([cells, edges.len() + 1])
}

/// See `swf::plain_rows`. Returns the numbers, the jobs, and of each label the distinct values and the code of each row.
#[pyfunction]
#[allow(clippy::type_complexity, reason = "the signature for Python")]
fn plain_rows<'py>(
    py: Python<'py>,
    text: &[u8],
) -> Option<(
    [Bound<'py, PyArray1<f64>>; swf::NUMBERS],
    Bound<'py, PyArray1<i64>>,
    [(Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<u32>>); swf::LABELS],
)> {
    let rows = py.detach(|| swf::plain_rows(text))?;
    Some((
        rows.numbers.map(|numbers| numbers.into_pyarray(py)),
        rows.jobs.into_pyarray(py),
        rows.labels.map(|labels| (labels.distinct.into_pyarray(py), labels.codes.into_pyarray(py))),
    ))
}

#[pymodule]
#[pyo3(name = "_core")]
fn core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add_class::<Simulation>()?;
    module.add_class::<step::Stepper>()?;
    module.add_class::<explore::Explorer>()?;
    module.add_class::<compiled::NativePolicy>()?;
    module.add_class::<policy::View>()?;
    module.add_class::<policy::ViewedJob>()?;
    module.add_function(wrap_pyfunction!(replay, module)?)?;
    module.add_function(wrap_pyfunction!(serve_leftover, module)?)?;
    module.add_function(wrap_pyfunction!(time_with_enough, module)?)?;
    module.add_function(wrap_pyfunction!(cheapest_service, module)?)?;
    module.add_function(wrap_pyfunction!(smallest_first, module)?)?;
    module.add_function(wrap_pyfunction!(bin_counts, module)?)?;
    module.add_function(wrap_pyfunction!(plain_rows, module)?)?;
    module.add_function(wrap_pyfunction!(intervals::half_widths, module)?)?;
    module.add_function(wrap_pyfunction!(intervals::student_t, module)?)?;
    module.add("POLICIES", NAMES.to_vec())?;
    module.add("CLASS_COLUMNS", PyTuple::new(py, CLASS_COLUMNS)?)?;
    module.add("SYSTEM_COLUMNS", PyTuple::new(py, SYSTEM_COLUMNS)?)?;
    module.add("BLOCK_COLUMNS", PyTuple::new(py, BLOCK_COLUMNS)?)?;
    module.add("PHASES", PyTuple::new(py, PHASES)?)?;
    module.add("PHASE_COLUMNS", PyTuple::new(py, PHASE_COLUMNS)?)?;
    module.add("METRICS", PyTuple::new(py, METRICS)?)?;
    module.add("ROUNDING", crate::intervals::ROUNDING)?;
    module.add("VERSION", env!("CARGO_PKG_VERSION"))
}
