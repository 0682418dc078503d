//! A policy step by step, from Python.

use pyo3::exceptions::{PyException, PyValueError};
use pyo3::prelude::*;
use serde_json::{Map, Value};

use super::policy::{FailureReport, Fault, PythonPolicy};
use super::refuse;
use crate::policy::{Policy, PolicyVisitor, dispatch};
use crate::step::{Error, State, StepperBuilder, Steps};
use crate::system::{System, SystemSpec};

/// Counts waiting and in service per class, classes of the waiting jobs in order of arrival, the policy's own state.
type Parts = (Vec<u32>, Vec<u32>, Option<Vec<usize>>, Vec<i64>);

/// A system under a policy, moved by hand; classes in the user's numbering.
#[pyclass(module = "quickswap.engine._core")]
pub struct Stepper {
    steps: Box<dyn Steps>,
    given: Vec<usize>,
    inner: Vec<u32>,
    fault: Fault,
}

#[derive(serde::Deserialize)]
struct Spec {
    system: SystemSpec,
    policy: Map<String, Value>,
    /// Of the random generator of a policy written in Python.
    seed: u64,
}

/// What a policy written in Python did wrong, as an exception; an interruption is no mistake and stays what it is.
pub(super) fn policy_error((what, cause): FailureReport) -> PyErr {
    Python::attach(|py| {
        let cause = cause.map(|cause| PyErr::from_value(cause.into_bound(py)));
        match cause {
            Some(cause) if !cause.is_instance_of::<PyException>(py) => cause,
            cause => {
                let error = PyValueError::new_err(what);
                error.set_cause(py, cause);
                error
            }
        }
    })
}

impl Stepper {
    fn error(&self, error: Error) -> PyErr {
        match error {
            Error::Call(what) => refuse(what),
            Error::Policy(choice) => match self.fault.take() {
                None => refuse(format!("the policy answered {choice:?}, which cannot be carried out")),
                Some(report) => policy_error(report),
            },
        }
    }

    /// The value, unless the policy has failed on the way to it.
    fn sound<T>(&self, value: T) -> PyResult<T> {
        match self.fault.take() {
            None => Ok(value),
            Some(report) => Err(policy_error(report)),
        }
    }

    fn class(&self, class: usize) -> PyResult<u32> {
        let classes = self.inner.len();
        let class = self.inner.get(class).copied();
        class.ok_or_else(|| refuse(format!("there is no such class; classes are 0 to {}", classes - 1)))
    }

    fn users<T: Copy>(&self, values: &[T]) -> Vec<T> {
        self.inner.iter().map(|&class| values[class as usize]).collect()
    }

    fn cores<T: Copy>(&self, values: &[T]) -> PyResult<Vec<T>> {
        if values.len() != self.given.len() {
            return Err(refuse(format!(
                "a state has {} counts of jobs waiting and as many in service, not {}",
                self.given.len(),
                values.len()
            )));
        }
        Ok(self.given.iter().map(|&given| values[given]).collect())
    }
}

#[pymethods]
impl Stepper {
    #[new]
    #[pyo3(signature = (spec, policy=None))]
    fn new(spec: &str, policy: Option<Py<PyAny>>) -> PyResult<Self> {
        let spec: Spec =
            serde_json::from_str(spec).map_err(|e| refuse(format!("the core cannot read its orders: {e}")))?;
        let system = System::new(spec.system).map_err(refuse)?;
        let fault = Fault::default();
        let steps = match &policy {
            None => dispatch(&spec.policy, &system, StepperBuilder(&system)).map_err(refuse)?,
            Some(object) => {
                let mut policy = PythonPolicy::new(object, &system, &fault);
                policy.seed((spec.seed, 0));
                StepperBuilder(&system).visit(policy)
            }
        };
        Ok(Self { steps: steps.map_err(refuse)?, given: system.given.clone(), inner: system.inner(), fault })
    }

    fn wait_until(&mut self, now: f64) -> PyResult<()> {
        self.steps.wait_until(now).map_err(|e| self.error(e))
    }

    fn arrive(&mut self, classes: Vec<usize>, estimates: Vec<f64>) -> PyResult<(Vec<u64>, Vec<u64>)> {
        let classes = classes.into_iter().map(|class| self.class(class)).collect::<PyResult<Vec<_>>>()?;
        self.steps.arrive(&classes, &estimates).map_err(|e| self.error(e))
    }

    fn complete(&mut self, jobs: Vec<u64>) -> PyResult<Vec<u64>> {
        self.steps.complete(&jobs).map_err(|e| self.error(e))
    }

    fn first_running(&self, cls: usize) -> PyResult<Option<u64>> {
        Ok(self.steps.first_running(self.class(cls)?))
    }

    fn ask(&mut self) -> PyResult<Vec<u64>> {
        self.steps.ask().map_err(|e| self.error(e))
    }

    fn wake_at(&mut self) -> PyResult<f64> {
        let time = self.steps.wake_at();
        self.sound(time)
    }

    #[getter]
    fn time(&self) -> f64 {
        self.steps.station().now()
    }

    #[getter]
    fn free(&self) -> u32 {
        self.steps.station().free()
    }

    fn state(&self) -> PyResult<Parts> {
        let state = self.steps.state();
        let order = state.order.map(|order| order.iter().map(|&class| self.given[class as usize]).collect());
        self.sound((self.users(&state.waiting), self.users(&state.running), order, state.policy))
    }

    fn restore(&mut self, state: Parts) -> PyResult<()> {
        let (waiting, running, order, policy) = state;
        let order = order.map(|order| order.into_iter().map(|class| self.class(class)).collect::<PyResult<_>>());
        let state =
            State { waiting: self.cores(&waiting)?, running: self.cores(&running)?, order: order.transpose()?, policy };
        self.steps.restore(&state).map_err(|e| self.error(e))
    }

    /// Numbers and classes of the jobs waiting (in order of arrival) and in service (in order of start).
    fn jobs(&self) -> [Vec<(u64, usize)>; 2] {
        self.steps.jobs().map(|jobs| jobs.into_iter().map(|(job, class)| (job, self.given[class as usize])).collect())
    }
}
