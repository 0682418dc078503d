//! Components shared by several policies.

mod backfill;
mod estimated_ends;
mod lines;
mod profile;
mod random_numbers;
mod served_prefixes;
mod sorted_blocks;

pub use backfill::{Backfill, Drain, Never, Rule};
pub use estimated_ends::EstimatedEnds;
pub use lines::{Classes, Groups, Lines};
pub use profile::{Profile, until};
pub use random_numbers::RandomNumbers;
pub use served_prefixes::ServedPrefixes;
pub use sorted_blocks::{SortedBlocks, Summary};
