//! What policies keep that look at estimated sizes: waiting jobs, running jobs, and the servers promised to either.

mod ends;
mod line;
mod needs;
mod profile;

pub use ends::Ends;
pub use line::Line;
pub use needs::Needs;
pub use profile::{Profile, until};
