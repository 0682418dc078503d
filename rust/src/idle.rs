//! How long enough servers are free for a job while it waits.

/// For each job, the seconds of its wait in which at least as many servers are free as it needs.
///
/// `free` servers are free for the `length` of each interval, seconds; the jobs are (first interval, end, need), where the
/// end is the interval after the last. The intervals with many free servers are added to a tree of sums first (Fenwick,
/// Software: Practice and Experience 24 (3), 1994), and a job is answered when those with enough servers for it are there.
pub fn time_with_enough(length: &[f64], free: &[i64], jobs: &[(usize, usize, i64)]) -> Vec<f64> {
    let mut by_free: Vec<usize> = (0..length.len()).filter(|&interval| length[interval] > 0.0).collect();
    by_free.sort_unstable_by_key(|&interval| free[interval]);
    let mut by_need: Vec<usize> = (0..jobs.len()).collect();
    by_need.sort_unstable_by_key(|&job| std::cmp::Reverse(jobs[job].2));
    let (mut sums, mut found) = (vec![0.0; length.len() + 1], vec![0.0; jobs.len()]);
    for job in by_need {
        let (begin, end, need) = jobs[job];
        while let Some(interval) = by_free.pop_if(|&mut interval| free[interval] >= need) {
            let mut at = interval + 1;
            while at < sums.len() {
                sums[at] += length[interval];
                at += at & at.wrapping_neg();
            }
        }
        let until = |mut at: usize| {
            let mut sum = 0.0;
            while at > 0 {
                sum += sums[at];
                at &= at - 1;
            }
            sum
        };
        found[job] = if end > begin { until(end) - until(begin) } else { 0.0 };
    }
    found
}
