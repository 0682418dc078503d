//! Jobs by themselves, when servers have a price that changes over time, and on one fast machine.
//!
//! Both relax the problem of serving the jobs on a number of servers, and give a lower bound on their response times under
//! all schedules.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The least cost of all jobs together, seconds, and the server-seconds that they then use between the edges.
///
/// A job is an arrival, a need and a size. It uses `need` servers for `size` seconds, with interruptions where it likes, and
/// its cost is its response time plus the price of its server-seconds. Prices are not negative; they are constant between
/// two edges, and 0 after the last. No job arrives before the first edge.
pub fn cheapest_service(edges: &[f64], prices: &[f64], jobs: impl Iterator<Item = (f64, f64, f64)>) -> (f64, Vec<f64>) {
    let mut search =
        Search { edges, prices, used: vec![0.0; edges.len()], dearest: BinaryHeap::new(), changes: vec![] };
    let (mut cost, mut demand) = (0.0, vec![0.0; prices.len()]);
    for (arrival, need, size) in jobs {
        cost += search.least_cost(arrival, need, size);
        for &(interval, seconds) in &search.changes {
            if let Some(used) = demand.get_mut(interval) {
                *used += need * seconds;
            }
        }
    }
    (cost, demand)
}

struct Search<'a> {
    edges: &'a [f64],
    prices: &'a [f64],
    /// Seconds of service in each interval.
    used: Vec<f64>,
    /// The intervals with service, by the bits of their prices, which are in the order of the prices, as none is negative.
    dearest: BinaryHeap<(u64, usize)>,
    /// Seconds of service added to an interval, or taken from it, in the order of the search.
    changes: Vec<(usize, f64)>,
}

impl Search<'_> {
    /// The least cost of a job; `changes` then contains the service that attains it.
    ///
    /// The cheapest service that is complete at some time takes the cheapest seconds until then. As that time increases,
    /// seconds of the current interval replace the dearest ones. The cost is linear while both intervals are the same, so its
    /// minimum is where one of them changes.
    fn least_cost(&mut self, arrival: f64, need: f64, size: f64) -> f64 {
        self.dearest.clear();
        self.changes.clear();
        let (mut time, mut left, mut paid) = (arrival, size, 0.0);
        let (mut least, mut kept) = (f64::INFINITY, 0);
        for interval in self.edges.partition_point(|&edge| edge <= arrival) - 1.. {
            let price = self.prices.get(interval).copied().unwrap_or(0.0);
            let end = self.edges.get(interval + 1).copied().unwrap_or(f64::INFINITY);
            let mut seconds = left.min(end - time);
            left -= seconds;
            time += seconds;
            paid += price * seconds;
            self.changes.push((interval, seconds));
            if left <= 0.0 {
                loop {
                    let cost = time - arrival + need * paid;
                    if cost < least {
                        (least, kept) = (cost, self.changes.len());
                    }
                    let Some(&(bits, other)) = self.dearest.peek() else { break };
                    let saving = f64::from_bits(bits) - price;
                    if saving <= 0.0 || time >= end {
                        break;
                    }
                    let replaced = self.used[other].min(end - time);
                    self.used[other] -= replaced;
                    if self.used[other] <= 0.0 {
                        self.dearest.pop();
                    }
                    self.changes.extend([(other, -replaced), (interval, replaced)]);
                    seconds += replaced;
                    time += replaced;
                    paid -= saving * replaced;
                }
            }
            if seconds > 0.0 {
                self.used[interval] = seconds;
                self.dearest.push((price.to_bits(), interval));
            }
            time = end;
            // later completions cost more: the response time alone is as large, or all seconds are free
            let free = self.dearest.peek().is_none_or(|&(bits, _)| bits == 0);
            if left <= 0.0 && (free || time - arrival >= least) {
                break;
            }
        }
        self.changes.truncate(kept);
        least
    }
}

/// Prices that are optimal on one machine that serves the smallest work first, with preemption, as points of a function that is
/// linear between them: time and price, in the order of time. Without jobs the price is 0.
///
/// They are the dual solution of the linear program that minimises the sum of the jobs' mean busy times on this machine: at a
/// time at which job j is served the price is `y_j - time / work_j`, and continuous where a job completes. A job that is
/// interrupted keeps its `y_j`, so its price also falls while it waits.
///
/// Arrivals are in ascending order, work is positive, and `speed` is work per second.
pub fn smallest_first(speed: f64, arrival: &[f64], work: &[f64]) -> Vec<[f64; 2]> {
    let (mut services, mut left) = (Vec::with_capacity(2 * work.len()), work.to_vec());
    // the bits of the work are in the order of the work
    let mut present = BinaryHeap::new();
    let (mut time, mut next) = (0.0, 0);
    while next < arrival.len() || !present.is_empty() {
        if present.is_empty() {
            time = arrival[next];
        }
        while next < arrival.len() && arrival[next] <= time {
            present.push(Reverse((work[next].to_bits(), next)));
            next += 1;
        }
        let Some(&Reverse((_, job))) = present.peek() else { continue };
        let completion = time + left[job] / speed;
        let until = arrival.get(next).map_or(completion, |&arrival| completion.min(arrival));
        services.push((time, until, job));
        if until < completion {
            left[job] = (left[job] - (until - time) * speed).max(0.0);
        } else {
            present.pop();
        }
        time = until;
    }
    // backwards, as the price after a completion determines the prices before it
    let mut constant = vec![f64::NAN; work.len()];
    let (mut points, mut later, mut price) = (Vec::with_capacity(2 * services.len()), f64::INFINITY, 0.0);
    for &(begin, end, job) in services.iter().rev() {
        if constant[job].is_nan() {
            constant[job] = if end < later { 0.0 } else { price } + end / work[job];
        }
        price = constant[job] - begin / work[job];
        points.extend([[end, constant[job] - end / work[job]], [begin, price]]);
        if end < later && later.is_finite() {
            let at = points.len() - 2;
            points.splice(at..at, [[later, 0.0], [end, 0.0]]);
        }
        later = begin;
    }
    points.reverse();
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_prices_a_job_starts_on_arrival() {
        let jobs = [(1.0, 2.0, 3.0), (6.0, 1.0, 0.0)];
        let (cost, demand) = cheapest_service(&[0.0, 2.0, 5.0], &[0.0, 0.0], jobs.into_iter());
        assert_eq!((cost, demand), (3.0, vec![2.0, 4.0]));
    }

    #[test]
    fn a_job_waits_for_cheap_seconds_if_they_save_more() {
        // two seconds at the price 1 in [0, 4), then 1/4: with need 2 it pays to wait, with need 1 it does not
        let (edges, prices) = ([0.0, 4.0, 8.0], [1.0, 0.25]);
        let (cost, demand) = cheapest_service(&edges, &prices, [(0.0, 4.0, 2.0)].into_iter());
        assert_eq!((cost, demand), (6.0 + 4.0 * 2.0 * 0.25, vec![0.0, 8.0]));
        let (cost, demand) = cheapest_service(&edges, &prices, [(0.0, 1.0, 2.0)].into_iter());
        assert_eq!((cost, demand), (2.0 + 2.0, vec![2.0, 0.0]));
    }

    #[test]
    fn a_job_is_interrupted_while_servers_are_dear() {
        let (edges, prices) = ([0.0, 1.0, 2.0, 3.0], [0.0, 9.0, 0.0]);
        let (cost, demand) = cheapest_service(&edges, &prices, [(0.0, 1.0, 2.0)].into_iter());
        assert_eq!((cost, demand), (3.0, vec![1.0, 0.0, 1.0]));
    }

    #[test]
    fn servers_are_free_after_the_last_edge() {
        let (cost, demand) = cheapest_service(&[0.0, 1.0], &[9.0], [(0.5, 1.0, 2.0)].into_iter());
        assert_eq!((cost, demand), (2.5, vec![0.0]));
    }

    #[test]
    fn prices_on_one_machine() {
        // the job of work 8 is served from 1 to 2 and from 3 to 6, that of work 2 meanwhile, and that of work 4 from 9 to 11
        let points = smallest_first(2.0, &[1.0, 2.0, 9.0], &[8.0, 2.0, 4.0]);
        let expected = [
            [1.0, 5.0 / 8.0],
            [2.0, 4.0 / 8.0],
            [2.0, 3.0 / 8.0 + 1.0 / 2.0],
            [3.0, 3.0 / 8.0],
            [3.0, 3.0 / 8.0],
            [6.0, 0.0],
            [6.0, 0.0],
            [9.0, 0.0],
            [9.0, 2.0 / 4.0],
            [11.0, 0.0],
        ];
        assert_eq!(points, expected);
    }
}
