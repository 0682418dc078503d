//! Values counted in bins.

/// Counts of values by cell and bin, a row for each of `cells` cells. Bin b contains the values above edge b - 1, up to and
/// including edge b; the last bin contains those above the last edge, and those that are not numbers.
pub fn counts(values: &[f64], cell: &[i64], cells: usize, edges: &[f64]) -> Vec<f64> {
    let width = edges.len() + 1;
    let mut counts = vec![0.0; cells * width];
    for (&value, &cell) in values.iter().zip(cell) {
        let above = if value.is_nan() { edges.len() } else { edges.partition_point(|&edge| edge < value) };
        counts[cell as usize * width + above] += 1.0;
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::counts;

    #[test]
    fn counts_by_cell_and_bin() {
        let values = [0.5, 1.0, 1.5, 2.0, 2.5, f64::INFINITY, f64::NAN];
        assert_eq!(counts(&values, &[0, 0, 0, 1, 1, 1, 0], 2, &[1.0, 2.0]), [2.0, 1.0, 1.0, 0.0, 1.0, 2.0]);
    }
}
