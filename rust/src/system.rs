//! The system in the core: servers, classes in order of need, and the levels of equal need.
//!
//! Inside the core classes are numbered by need, ascending, classes of equal need in the order the user gave them.
//! [`System::given`] leads back to the user's numbering; only the bindings use it.

use serde::Deserialize;

use crate::error::Error;
use crate::random::{DistributionSpec, Process};

/// A class as written in a model file.
#[derive(Clone, Debug, Deserialize)]
pub struct ClassSpec {
    /// Servers that a job holds.
    pub need: u32,
    /// Distribution of the job size.
    pub size: DistributionSpec,
    /// Arrival process.
    pub arrivals: Process,
    /// Distribution of the ratio of a job's estimate to its size; the ratio is 1 without one.
    #[serde(default)]
    pub estimate: Option<DistributionSpec>,
}

/// A system as written in a model file.
#[derive(Clone, Debug, Deserialize)]
pub struct SystemSpec {
    /// Number of servers, at least 1.
    pub servers: u32,
    /// At least one class, in the user's order.
    pub classes: Vec<ClassSpec>,
}

/// The checked system: classes by ascending need.
#[derive(Clone, Debug)]
pub struct System {
    /// Number of servers.
    pub servers: u32,
    /// Classes by ascending need.
    pub classes: Vec<ClassSpec>,
    /// Position in the user's list of each class of `classes`.
    pub given: Vec<usize>,
}

impl System {
    /// Checks the specification and sorts the classes by need.
    pub fn new(spec: SystemSpec) -> Result<Self, Error> {
        if spec.servers == 0 || spec.classes.is_empty() {
            let given = (spec.servers, spec.classes.len());
            return Err(Error::argument("servers and classes", given, "at least one server and one class"));
        }
        if let Some(class) = spec.classes.iter().find(|c| c.need == 0 || c.need > spec.servers) {
            return Err(Error::argument(
                "need",
                class.need,
                format!("from 1 to {}, the servers of the system", spec.servers),
            ));
        }
        let mut given: Vec<usize> = (0..spec.classes.len()).collect();
        given.sort_by_key(|&i| spec.classes[i].need);
        let classes = given.iter().map(|&i| spec.classes[i].clone()).collect();
        Ok(Self { servers: spec.servers, classes, given })
    }

    /// Classes by descending need, with equal needs in the user's order.
    pub fn largest_need_first(&self) -> Vec<u32> {
        let mut order: Vec<u32> = (0..self.classes.len() as u32).collect();
        order.sort_by_key(|&class| std::cmp::Reverse(self.classes[class as usize].need));
        order
    }

    /// Class number inside the core of each class in the user's order.
    pub fn inner(&self) -> Vec<u32> {
        let mut inner = vec![0; self.given.len()];
        for (class, &given) in self.given.iter().enumerate() {
            inner[given] = class as u32;
        }
        inner
    }
}
