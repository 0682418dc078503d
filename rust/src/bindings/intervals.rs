//! Confidence intervals, for Python.

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;

use crate::error::Error;
use crate::intervals;

/// Half-widths of the intervals of quantities, a column each, from all batches, then with one left out.
#[pyfunction]
pub fn half_widths<'py>(
    py: Python<'py>,
    values: PyReadonlyArray2<'py, f64>,
    sizes: Vec<usize>,
    level: f64,
    reciprocal: PyReadonlyArray1<'py, bool>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let batches: usize = sizes.iter().sum();
    let expected = [1 + batches, reciprocal.len()];
    if values.shape() != expected {
        return Err(Error::argument("shape of values", values.shape(), format!("{expected:?}")).into());
    }
    let found = intervals::half_widths(values.as_slice()?, &sizes, level, reciprocal.as_slice()?);
    Ok(found.into_pyarray(py))
}

/// The quantile of Student's t with at least one degree of freedom, at a level from 1/2 to below 1.
#[pyfunction]
pub fn student_t(freedom: f64, level: f64) -> f64 {
    intervals::student_t(freedom, level)
}
