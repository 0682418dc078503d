//! The Python module `quickswap.engine._core`. No other folder depends on Python.

mod explore;
mod policy;
mod step;

use std::sync::atomic::Ordering;
use std::sync::{Condvar, Mutex};
use std::time::Duration;

use numpy::{IntoPyArray, PyArray1, PyArrayMethods, PyReadonlyArray1};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use serde::de::DeserializeOwned;

use crate::counters::{CLASS_COLUMNS, METRICS, PER_CLASS, PHASE_COLUMNS, PHASES, SYSTEM_COLUMNS};
use crate::engine::{self, Loop, Run, Signals, Spec, Stop, Trace};
use crate::error::Error;
use crate::policy::{NAMES, PolicyVisitor, dispatch};
use crate::system::System;
use policy::{Fault, PythonPolicy};

impl From<Error> for PyErr {
    /// `ValueError` for a mistake of the caller or of a policy, `RuntimeError` for a fault of the core. An exception about
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
                Some(object) => {
                    builder.visit(PythonPolicy::new(object, &system, &fault).with_idle_limit(system.servers))
                }
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

    /// The measurements of one replication, classes in the user's order; unless `full`, only rows and totals.
    #[pyo3(signature = (replication, full=true))]
    fn counters<'py>(&mut self, py: Python<'py>, replication: usize, full: bool) -> PyResult<Bound<'py, PyDict>> {
        let replications = self.runs.len();
        let run = self
            .runs
            .get_mut(replication)
            .ok_or_else(|| Error::argument("replication", replication, format!("below {replications}")))?;
        let phases = run.phases().cloned();
        let counters = run.counters();
        let inner = self.system.inner();
        let width = counters.width();
        let rows = counters.rows(run.station(), phases.as_ref());
        let mut ordered = Vec::with_capacity(rows.len());
        for row in rows.chunks_exact(width) {
            for &class in &inner {
                ordered.extend_from_slice(&row[class as usize * PER_CLASS..(class as usize + 1) * PER_CLASS]);
            }
            ordered.extend_from_slice(&row[inner.len() * PER_CLASS..]);
        }
        let (block_jobs, segment_blocks) = counters.grid();
        let (step, points) = counters.trajectory().points();
        let points: Vec<u32> = points
            .chunks_exact(inner.len())
            .flat_map(|point| inner.iter().map(move |&class| point[class as usize]))
            .collect();
        let (blocks, classes) = (ordered.len() / width, inner.len());
        let out = PyDict::new(py);
        out.set_item("rows", ordered.into_pyarray(py).reshape([blocks, width])?)?;
        out.set_item("block_jobs", block_jobs)?;
        out.set_item("segment_blocks", segment_blocks)?;
        out.set_item("completed", counters.completed())?;
        out.set_item("arrived", counters.arrived())?;
        out.set_item("events", run.events())?;
        out.set_item("time", run.station().now())?;
        out.set_item("classes", classes)?;
        if !full {
            return Ok(out);
        }
        out.set_item("trajectory_step", step)?;
        let instants = points.len() / classes;
        out.set_item("trajectory", points.into_pyarray(py).reshape([instants, classes])?)?;
        out.set_item("histograms", histograms(py, counters, &inner)?)?;
        Ok(out)
    }
}

/// Per metric: shift of the bucket numbers, first bucket, zeros (segments x classes), counts (segments x classes x buckets).
fn histograms<'py>(
    py: Python<'py>,
    counters: &crate::counters::Counters,
    inner: &[u32],
) -> PyResult<Vec<Bound<'py, PyDict>>> {
    let segments = counters.segments();
    let mut all = Vec::with_capacity(METRICS.len());
    for metric in 0..METRICS.len() {
        let (mut low, mut end) = (u64::MAX, 0);
        for record in segments.iter().flatten() {
            let histogram = &record[metric];
            let (first, counts) = histogram.buckets();
            if !counts.is_empty() {
                low = low.min(first);
                end = end.max(first + counts.len() as u64);
            }
        }
        let buckets = end.saturating_sub(low) as usize;
        let mut zeros = Vec::with_capacity(segments.len() * inner.len());
        let mut table = vec![0u64; segments.len() * inner.len() * buckets];
        for (i, (segment, &class)) in segments.iter().flat_map(|s| inner.iter().map(move |c| (s, c))).enumerate() {
            let histogram = &segment[class as usize][metric];
            zeros.push(histogram.zeros());
            let (first, counts) = histogram.buckets();
            if !counts.is_empty() {
                let at = i * buckets + (first - low) as usize;
                table[at..at + counts.len()].copy_from_slice(counts);
            }
        }
        let shape = [segments.len(), inner.len()];
        let out = PyDict::new(py);
        out.set_item("shift", counters.scale().shift())?;
        out.set_item("low", if buckets == 0 { 0 } else { low })?;
        out.set_item("zeros", zeros.into_pyarray(py).reshape(shape)?)?;
        out.set_item("counts", table.into_pyarray(py).reshape([shape[0], shape[1], buckets])?)?;
        all.push(out);
    }
    Ok(all)
}

/// Advances the runs in threads; this thread checks for signals (Ctrl-C) and reports progress.
fn drive(
    py: Python<'_>,
    runs: &mut [Box<dyn Run>],
    completed: u64,
    threads: usize,
    progress: Option<&Py<PyAny>>,
) -> PyResult<Vec<Stop>> {
    let signals = Signals::default();
    let (finished, over) = (Mutex::new(None), Condvar::new());
    py.detach(|| {
        std::thread::scope(|scope| {
            let worker = scope.spawn(|| {
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

/// Serves the jobs of a trace to the end, with their sizes as estimates unless others are given; `progress(completions)` is
/// called now and then, `debug` asks for checks at every event. Returns start and end of each job (seconds), the jobs in order of their start, and
/// the reason of the stop ("empty" if all were served).
#[pyfunction]
#[pyo3(signature = (spec, arrival, cls, size, policy=None, *, estimate=None, debug=true, progress=None))]
#[allow(clippy::type_complexity, clippy::too_many_arguments, reason = "the signature for Python")]
fn replay<'py>(
    py: Python<'py>,
    spec: &str,
    arrival: PyReadonlyArray1<'py, f64>,
    cls: PyReadonlyArray1<'py, u32>,
    size: PyReadonlyArray1<'py, f64>,
    policy: Option<Py<PyAny>>,
    estimate: Option<PyReadonlyArray1<'py, f64>>,
    debug: bool,
    progress: Option<Py<PyAny>>,
) -> PyResult<(Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<u64>>)> {
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
    };
    let jobs = trace.arrival.len();
    let lengths = [trace.class.len(), trace.size.len(), trace.estimate.len()];
    if lengths != [jobs; 3] {
        return Err(
            Error::argument("length of cls, size and estimate", lengths, format!("{jobs}, as of arrival")).into()
        );
    }
    if !trace.arrival.is_sorted() || trace.arrival.first().is_some_and(|&t| t < 0.0) {
        return Err(Error::argument("arrival", trace.arrival, "sorted and not negative").into());
    }
    let invalid = trace.size.iter().chain(&trace.estimate).find(|&&size| !(size.is_finite() && size >= 0.0));
    if let Some(size) = invalid {
        return Err(Error::argument("size or estimate", size, "finite and not negative").into());
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
    let fault = Fault::default();
    let run = match &policy {
        None => dispatch(&spec.policy, &system, builder)?,
        Some(object) => builder.visit(PythonPolicy::new(object, &system, &fault)),
    };
    let mut runs = [run?];
    let stop = drive(py, &mut runs, u64::MAX, 1, progress.as_ref())?[0];
    let [mut run] = runs;
    if matches!(stop, Stop::Fault | Stop::Broken) {
        let error = run.violation().unwrap_or(Error::Unsupported("policy answer is not a waiting job that fits"));
        return Err(fault.exception(error));
    }
    let schedule = run.schedule().unwrap_or_default();
    Ok((schedule.start.into_pyarray(py), schedule.end.into_pyarray(py), schedule.order.into_pyarray(py)))
}

#[pymodule]
#[pyo3(name = "_core")]
fn core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add_class::<Simulation>()?;
    module.add_class::<step::Stepper>()?;
    module.add_class::<explore::Explorer>()?;
    module.add_class::<policy::View>()?;
    module.add_class::<policy::ViewedJob>()?;
    module.add_function(wrap_pyfunction!(replay, module)?)?;
    module.add("POLICIES", NAMES.to_vec())?;
    module.add("CLASS_COLUMNS", PyTuple::new(py, CLASS_COLUMNS)?)?;
    module.add("SYSTEM_COLUMNS", PyTuple::new(py, SYSTEM_COLUMNS)?)?;
    module.add("PHASES", PyTuple::new(py, PHASES)?)?;
    module.add("PHASE_COLUMNS", PyTuple::new(py, PHASE_COLUMNS)?)?;
    module.add("METRICS", PyTuple::new(py, METRICS)?)?;
    module.add("VERSION", env!("CARGO_PKG_VERSION"))
}
