//! The states of a chain and the jumps between them, from Python.

use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use serde_json::{Map, Value};

use super::parse;
use super::{compiled, policy::Fault};
use crate::error::Error;
use crate::explore::{ExplorationBuilder, ExplorationSettings, Explore};
use crate::policy::dispatch;
use crate::system::{System, SystemSpec};

type Vector<'py, T> = Bound<'py, PyArray1<T>>;

/// An exploration of the states of a system under a policy; classes in the user's numbering.
#[pyclass(module = "quickswap.engine._core")]
pub struct Explorer {
    explore: Box<dyn Explore>,
    given: Vec<usize>,
    inner: Vec<u32>,
    fault: Fault,
}

#[derive(serde::Deserialize)]
struct Spec {
    system: SystemSpec,
    policy: Map<String, Value>,
    /// As in [`ExplorationSettings`], classes in the user's numbering.
    region: Vec<Vec<f64>>,
    shares: Vec<f64>,
    every_order: bool,
}

#[pymethods]
impl Explorer {
    #[new]
    #[pyo3(signature = (spec, policy=None))]
    fn new(spec: &str, policy: Option<Py<PyAny>>) -> PyResult<Self> {
        let spec: Spec = parse(spec)?;
        let system = System::new(spec.system)?;
        let classes = system.given.len();
        if spec.shares.len() != classes || spec.region.iter().any(|row| row.len() != classes + 1) {
            let allowed = format!("one number for each of the {classes} classes, and one more in rows of the region");
            return Err(Error::argument("shares and region", (spec.shares, spec.region), allowed).into());
        }
        let settings = ExplorationSettings {
            region: spec.region.iter().map(|row| inside(&system, row)).collect(),
            shares: inside(&system, &spec.shares),
            every_order: spec.every_order,
        };
        let fault = Fault::default();
        let builder = ExplorationBuilder { system: &system, settings, trusted: policy.is_some() };
        let explore = match &policy {
            None => dispatch(&spec.policy, &system, builder)?,
            Some(object) => compiled::visit(object, &system, None, &fault, false, builder),
        };
        Ok(Self { explore: explore?, given: system.given.clone(), inner: system.inner(), fault })
    }

    /// Explores this many more states; false if all states are explored.
    fn advance(&mut self, py: Python<'_>, states: usize) -> PyResult<bool> {
        let explore = &mut self.explore;
        py.detach(|| explore.advance(states)).map_err(|error| self.fault.exception(error))
    }

    /// States known, and explored.
    fn progress(&self) -> (usize, usize) {
        self.explore.progress()
    }

    /// Ends of the rows of jumps, one a state; the state that follows, the event, its share, one a jump. Returned once.
    #[allow(clippy::type_complexity, reason = "a tuple for Python")]
    fn jumps<'py>(
        &mut self,
        py: Python<'py>,
    ) -> (Vector<'py, u64>, Vector<'py, u32>, Vector<'py, u32>, Vector<'py, f64>) {
        let mut jumps = self.explore.take_transitions();
        let classes = self.given.len();
        for event in &mut jumps.event {
            let class = *event as usize;
            if class < 2 * classes {
                *event = (self.given[class % classes] + class / classes * classes) as u32;
            }
        }
        (
            jumps.ends.into_pyarray(py),
            jumps.to.into_pyarray(py),
            jumps.event.into_pyarray(py),
            jumps.share.into_pyarray(py),
        )
    }

    /// Jobs waiting and in service, states x classes, and behind the window, one a state.
    #[allow(clippy::type_complexity, reason = "a tuple for Python")]
    fn counts<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyArray2<u32>>, Bound<'py, PyArray2<u32>>, Vector<'py, u32>)> {
        let counts = self.explore.counts();
        let shape = [counts.behind.len(), self.given.len()];
        let table = |values: Vec<u32>| {
            let users: Vec<u32> = values
                .chunks_exact(shape[1])
                .flat_map(|row| self.inner.iter().map(|&class| row[class as usize]))
                .collect();
            users.into_pyarray(py).reshape(shape)
        };
        Ok((table(counts.waiting)?, table(counts.running)?, counts.behind.into_pyarray(py)))
    }
}

/// Values per class (and one more, which stays last) in the core's numbering.
fn inside(system: &System, values: &[f64]) -> Vec<f64> {
    let classes = system.given.iter().map(|&given| values[given]);
    classes.chain(values[system.given.len()..].iter().copied()).collect()
}
