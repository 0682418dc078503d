//! ServerFilling (preemptive): take M, the shortest prefix in a certain order of all unfinished jobs whose needs add up to
//! at least `k` (all jobs if there are fewer); serve M in order of descending need, as long as each fits. The order is that
//! of arrival, of need times remaining size (ServerFilling-SRPT), or of need times Gittins rank (ServerFilling-Gittins).

mod arrival;
mod by_rank;

use super::{Costs, Parameters, PolicyVisitor};
use crate::error::Error;
use arrival::ByArrival;
use by_rank::{ByRank, Ranks};

pub(super) fn build<V: PolicyVisitor>(parameters: &Parameters<'_>, visitor: V) -> Result<V::Output, Error> {
    let costs = Costs::of(parameters)?;
    let system = parameters.system();
    Ok(match parameters.choose("order", ["arrival", "srpt", "gittins"])? {
        0 => visitor.visit_preemptive(ByArrival::new(system), costs),
        1 => visitor.visit_preemptive(ByRank::new(system, None), costs),
        _ => visitor.visit_preemptive(ByRank::new(system, Some(Ranks::of_classes(parameters)?)), costs),
    })
}
