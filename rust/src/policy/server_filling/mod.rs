//! ServerFilling (preemptive): take M, the shortest prefix in a certain order of all unfinished jobs whose needs add up to
//! at least `k` (all jobs if there are fewer); serve M in order of descending need, as long as each fits. The order is that
//! of arrival, or that of need times remaining size (ServerFilling-SRPT).

mod arrival;
mod srpt;

use super::{Costs, Parameters, PolicyVisitor};
use crate::error::Error;
use arrival::ByArrival;
use srpt::BySize;

pub(super) fn build<V: PolicyVisitor>(parameters: &Parameters<'_>, visitor: V) -> Result<V::Output, Error> {
    let costs = Costs::of(parameters)?;
    Ok(match parameters.choose("order", ["arrival", "srpt"])? {
        0 => visitor.visit_preemptive(ByArrival::new(parameters.system()), costs),
        _ => visitor.visit_preemptive(BySize::new(parameters.system()), costs),
    })
}
