//! A policy step by step, from Python.

use pyo3::prelude::*;
use serde_json::{Map, Value};

use super::parse;
use super::{compiled, policy::Fault};
use crate::error::Error;
use crate::policy::{Costs, Policy, PolicyVisitor, Preemptive, dispatch};
use crate::step::{State, StepperBuilder, Steps};
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

/// Builds the stepper of a policy that has been given a seed.
struct Seeded<'a> {
    system: &'a System,
    seed: u64,
}

impl PolicyVisitor for Seeded<'_> {
    type Output = Result<Box<dyn Steps>, Error>;

    fn visit<P: Policy + 'static>(self, mut policy: P) -> Self::Output {
        policy.seed((self.seed, 0));
        StepperBuilder(self.system).visit(policy)
    }

    fn visit_preemptive<P: Preemptive + 'static>(self, policy: P, costs: Option<Costs>) -> Self::Output {
        StepperBuilder(self.system).visit_preemptive(policy, costs)
    }
}

impl Stepper {
    /// The value, unless the policy failed while it was computed.
    fn checked<T>(&self, value: T) -> PyResult<T> {
        self.fault.take().map_or(Ok(value), |report| Err(report.into()))
    }

    fn class(&self, class: usize) -> PyResult<u32> {
        let classes = self.inner.len();
        let known = self.inner.get(class).copied();
        known.ok_or_else(|| Error::argument("class", class, format!("from 0 to {}", classes - 1)).into())
    }

    fn user_order(&self, values: &[u32]) -> Vec<u32> {
        self.inner.iter().map(|&class| values[class as usize]).collect()
    }

    fn core_order(&self, name: &'static str, values: &[u32]) -> PyResult<Vec<u32>> {
        if values.len() != self.given.len() {
            let allowed = format!("{} counts, one for each class", self.given.len());
            return Err(Error::argument(name, values, allowed).into());
        }
        Ok(self.given.iter().map(|&given| values[given]).collect())
    }
}

#[pymethods]
impl Stepper {
    #[new]
    #[pyo3(signature = (spec, policy=None))]
    fn new(spec: &str, policy: Option<Py<PyAny>>) -> PyResult<Self> {
        let spec: Spec = parse(spec)?;
        let system = System::new(spec.system)?;
        let fault = Fault::default();
        let steps = match &policy {
            None => dispatch(&spec.policy, &system, StepperBuilder(&system))?,
            Some(object) => {
                compiled::visit(object, &system, None, &fault, false, Seeded { system: &system, seed: spec.seed })
            }
        };
        Ok(Self { steps: steps?, given: system.given.clone(), inner: system.inner(), fault })
    }

    fn wait_until(&mut self, now: f64) -> PyResult<()> {
        self.steps.wait_until(now).map_err(|error| self.fault.exception(error))
    }

    fn arrive(&mut self, classes: Vec<usize>, estimates: Vec<f64>) -> PyResult<(Vec<u64>, Vec<u64>)> {
        let classes = classes.into_iter().map(|class| self.class(class)).collect::<PyResult<Vec<_>>>()?;
        self.steps.arrive(&classes, &estimates).map_err(|error| self.fault.exception(error))
    }

    fn complete(&mut self, jobs: Vec<u64>) -> PyResult<Vec<u64>> {
        self.steps.complete(&jobs).map_err(|error| self.fault.exception(error))
    }

    /// Replaces all jobs by (class, start or arrival, estimate) of those in service and waiting; returns their numbers.
    fn resume(&mut self, jobs: [Vec<(usize, f64, f64)>; 2], policy: Vec<i64>) -> PyResult<Vec<u64>> {
        let [running, waiting] = jobs.map(|jobs| {
            let inner = jobs.into_iter().map(|(class, time, estimate)| Ok((self.class(class)?, time, estimate)));
            inner.collect::<PyResult<Vec<_>>>()
        });
        self.steps.resume([&running?, &waiting?], &policy).map_err(|error| self.fault.exception(error))
    }

    /// The number of the waiting job for which the policy keeps servers free.
    fn reserved(&mut self) -> Option<u64> {
        self.steps.reserved()
    }

    fn first_running(&self, cls: usize) -> PyResult<Option<u64>> {
        Ok(self.steps.first_running(self.class(cls)?))
    }

    fn ask(&mut self) -> PyResult<Vec<u64>> {
        self.steps.ask().map_err(|error| self.fault.exception(error))
    }

    fn wake_at(&mut self) -> PyResult<f64> {
        let time = self.steps.wake_at();
        self.checked(time)
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
        self.checked((self.user_order(&state.waiting), self.user_order(&state.running), order, state.policy))
    }

    fn restore(&mut self, state: Parts) -> PyResult<()> {
        let (waiting, running, order, policy) = state;
        let order = order.map(|order| order.into_iter().map(|class| self.class(class)).collect::<PyResult<_>>());
        let state = State {
            waiting: self.core_order("waiting", &waiting)?,
            running: self.core_order("running", &running)?,
            order: order.transpose()?,
            policy,
        };
        self.steps.restore(&state).map_err(|error| self.fault.exception(error))
    }

    /// Numbers and classes of the jobs waiting (in order of arrival) and in service (in order of start).
    fn jobs(&self) -> [Vec<(u64, usize)>; 2] {
        self.steps.jobs().map(|jobs| jobs.into_iter().map(|(job, class)| (job, self.given[class as usize])).collect())
    }
}
