//! What policies keep that look at estimated sizes: waiting jobs, running jobs, and the servers promised to either.

mod estimated_ends;
mod need_index;
mod profile;
mod queue_tree;

pub use estimated_ends::EstimatedEnds;
pub use need_index::NeedIndex;
pub use profile::{Profile, until};
pub use queue_tree::QueueTree;
