//! A gate before the policy, which holds jobs back while a group of jobs, such as those of a user, has reached its limit.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Groups of jobs with a limit each on the jobs that have passed the gate and have not completed.
///
/// At every instant, completions make room first. Then, again and again, the oldest job held back whose groups all have
/// room passes. The jobs that arrive come last.
#[derive(Clone, Debug)]
pub struct Gate {
    /// Groups of the jobs, `width` of each job.
    groups: Vec<u32>,
    width: usize,
    /// Jobs of each group that may still pass.
    room: Vec<u32>,
    /// Jobs that each group holds back; a job is held back by one group at a time.
    held: Vec<BinaryHeap<Reverse<usize>>>,
    /// Groups in which jobs have completed at this instant.
    freed: Vec<u32>,
    /// Jobs in the order in which they passed.
    passed: Vec<usize>,
}

impl Gate {
    /// A gate for jobs with `width` groups each, and the limit of each group, at least 1.
    pub fn new(groups: Vec<u32>, width: usize, limits: Vec<u32>) -> Self {
        let held = vec![BinaryHeap::new(); limits.len()];
        Self { groups, width, room: limits, held, freed: Vec::new(), passed: Vec::new() }
    }

    fn groups_of(&self, job: usize) -> std::ops::Range<usize> {
        job * self.width..(job + 1) * self.width
    }

    /// Whether a job passes; it is held back otherwise.
    pub fn pass(&mut self, job: usize) -> bool {
        let own = self.groups_of(job);
        let full = self.groups[own.clone()].iter().find(|&&group| self.room[group as usize] == 0);
        if let Some(&group) = full {
            self.held[group as usize].push(Reverse(job));
            return false;
        }
        for &group in &self.groups[own] {
            self.room[group as usize] -= 1;
        }
        self.passed.push(job);
        true
    }

    /// The oldest job held back that passes now, if any.
    pub fn release(&mut self) -> Option<usize> {
        loop {
            let (room, held) = (&self.room, &mut self.held);
            self.freed.retain(|&group| room[group as usize] > 0 && !held[group as usize].is_empty());
            let oldest = self.freed.iter().max_by_key(|&&group| held[group as usize].peek())?;
            let Reverse(job) = held[*oldest as usize].pop()?;
            if self.pass(job) {
                return Some(job);
            }
        }
    }

    /// Notes the completion of the job that passed as this number.
    pub fn complete(&mut self, number: u64) {
        for &group in &self.groups[self.groups_of(self.job(number))] {
            self.room[group as usize] += 1;
            self.freed.push(group);
        }
    }

    /// The job that passed as this number.
    pub fn job(&self, number: u64) -> usize {
        self.passed[number as usize]
    }
}
