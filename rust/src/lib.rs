//! The simulation core of quickswap: multiserver jobs, their scheduling policies, and the loops that run them.
//!
//! A job moves from an [`engine::Source`] into the [`book`] and the counts of the [`station`]. A [`policy`] chooses which
//! job starts, the loop in [`engine`] starts it, and the [`counters`] measure it. Only `bindings` depends on Python.

pub mod bins;
pub mod book;
pub mod calendar;
pub mod counters;
pub mod engine;
pub mod error;
pub mod explore;
pub mod idle;
pub mod intervals;
pub mod policy;
pub mod prices;
pub mod random;
pub mod station;
pub mod step;
pub mod swf;
pub mod system;

#[cfg(feature = "python")]
mod bindings;
