//! The simulation core of quickswap: multiserver jobs, their scheduling policies, and the loops that run them.
//!
//! A job flows from a [`engine::Source`] into the [`book`] and the counts of the [`station`]; a [`policy`] says which one
//! starts; the loop in [`engine`] carries it out and tells the [`counters`]. Nothing here knows of Python but `bindings`.

pub mod book;
pub mod calendar;
pub mod counters;
pub mod engine;
pub mod error;
pub mod explore;
pub mod policy;
pub mod random;
pub mod station;
pub mod step;
pub mod system;

#[cfg(feature = "python")]
mod bindings;
