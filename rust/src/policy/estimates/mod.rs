//! Data structures for policies that use estimated sizes: waiting jobs, jobs in service, and reserved servers.

mod estimated_ends;
mod need_index;
mod profile;
mod queue_tree;

pub use estimated_ends::EstimatedEnds;
pub use need_index::NeedIndex;
pub use profile::{Profile, until};
pub use queue_tree::QueueTree;
