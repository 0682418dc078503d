//! Confidence intervals from the delete-one jackknife over batches, and the quantiles of Student's t that they need.

use std::f64::consts::PI;

/// Correlation of neighbouring batches that is allowed for; beyond it no run is long enough.
const MOST_CORRELATED: f64 = 0.8;
/// Relative half-width up to which the interval of 1 / x is taken; it has no upper end at 1.
const MOST_RELATIVE: f64 = 0.5;
/// Relative half-width that rounding leaves of a value that is exact.
pub const ROUNDING: f64 = 1e-13;

/// Half-widths of the intervals of several quantities.
///
/// Neighbouring batches may still be correlated. The lag-1 correlation c of what the batches contribute widens the
/// interval by (1 + c) / (1 - c), as for an autoregressive series, and leaves so many fewer degrees of freedom.
///
/// `values` are the quantities from all batches, then with one left out, a row each; `sizes` the batches of each
/// replication, in their order; `level` the probability below the upper end of an interval. `reciprocal`, for each
/// quantity: its interval is taken from that of 1 / x, whose upper end is farther away.
pub fn half_widths(values: &[f64], sizes: &[usize], level: f64, reciprocal: &[bool]) -> Vec<f64> {
    let columns = reciprocal.len();
    let (whole, less) = values.split_at(columns);
    let batches = less.len() / columns.max(1);
    if batches < 2 {
        return vec![f64::NAN; columns];
    }
    let count = batches as f64;
    // whether the next batch belongs to the same replication
    let mut joined = vec![true; batches];
    let mut end = 0;
    for size in sizes {
        end += size;
        if let Some(last) = joined[..end].last_mut() {
            *last = false;
        }
    }
    let correlated = joined.contains(&true);
    // many quantities have equally many degrees of freedom, as correlations are cut off at 0
    let mut last = (f64::NAN, f64::NAN);
    let half_width = |(column, &reciprocal): (usize, &bool)| {
        let batch = |batch: usize| less[batch * columns + column];
        let mean = (0..batches).map(batch).sum::<f64>() / count;
        let (mut squares, mut lagged, mut previous) = (0.0, 0.0, None);
        for (number, joined) in joined.iter().enumerate() {
            let share = batch(number) - mean;
            squares += share * share;
            lagged += previous.map_or(0.0, |previous: f64| previous * share);
            previous = joined.then_some(share);
        }
        if squares == 0.0 || squares.is_nan() {
            return squares; // exact, or unknown
        }
        let mut widening = 1.0;
        if correlated {
            // the mean taken out makes independent batches look negatively correlated, by 1 / batches
            let correlation = (lagged / squares + 1.0 / count).clamp(0.0, MOST_CORRELATED);
            widening = (1.0 + correlation) / (1.0 - correlation);
        }
        let spread = (count - 1.0) / count * squares * widening;
        let freedom = (count / widening - 1.0).max(1.0);
        if freedom != last.0 {
            last = (freedom, student_t(freedom, level));
        }
        let half = last.1 * spread.sqrt();
        let whole = whole[column].abs();
        if half < ROUNDING * whole {
            return 0.0;
        }
        let relative = half / whole;
        let relative = if relative > MOST_RELATIVE { MOST_RELATIVE } else { relative };
        half / (1.0 - relative * f64::from(u8::from(reciprocal)))
    };
    reciprocal.iter().enumerate().map(half_width).collect()
}

/// The quantile of Student's t with `freedom` degrees of freedom, at least 1, at a level from 1/2 to below 1.
///
/// The logarithms of P(T > t) and of P(0 < T < t) are concave functions of log t, and far out nearly linear, so Newton's
/// method converges. It starts from the expansion in 1 / f (Abramowitz and Stegun, 26.7.5), which is too small for few
/// degrees of freedom, and so never far beyond the quantile.
pub fn student_t(freedom: f64, level: f64) -> f64 {
    let (above, centre) = (1.0 - level, level - 0.5);
    if freedom.is_nan() || centre == 0.0 {
        return freedom * 0.0;
    }
    let z = normal_quantile(above);
    let square = z * z;
    let first = z * (square + 1.0) / 4.0;
    let second = z * ((5.0 * square + 16.0) * square + 3.0) / 96.0;
    // the density is at most 0.4
    let mut t = (z + (first + second / freedom) / freedom).max(2.5 * centre);
    let constant = gamma_ratio(0.5 * freedom) / (PI * freedom).sqrt();
    for _ in 0..50 {
        let ratio = t * t / freedom;
        // the density, times t
        let unit = t * constant * (-0.5 * (freedom + 1.0) * ratio.ln_1p()).exp();
        let step = if level < 0.75 {
            let inside = unit * inner(freedom, ratio);
            inside / unit * (centre / inside).ln()
        } else {
            // a small difference from 1/2 would be inexact
            let outside = ratio > 1.0 || above < 0.01;
            let tail =
                if outside { unit / freedom * outer(freedom, ratio) } else { 0.5 - unit * inner(freedom, ratio) };
            tail / unit * (tail / above).ln()
        };
        t *= step.exp();
        if step.abs() < 1e-8 {
            break; // the next step would be about its square
        }
    }
    t
}

/// P(0 < T < t) / (t p(t)), where p is the density of T with f degrees of freedom, and `ratio` is t^2 / f:
///
/// 1 + y (f + 1) / 3 + y^2 (f + 1) (f + 3) / (3 5) + ..., with y = t^2 / (f + t^2) (the incomplete beta function:
/// Abramowitz and Stegun, 26.5.4).
fn inner(freedom: f64, ratio: f64) -> f64 {
    let y = ratio / (1.0 + ratio);
    let (mut sum, mut term, mut odd) = (1.0, 1.0, 1.0);
    while term > 1e-17 * sum {
        term *= y * ((freedom + odd) / (odd + 2.0));
        sum += term;
        odd += 2.0;
    }
    sum
}

/// f P(T > t) / (t p(t)), from the continued fraction of the incomplete beta function (Abramowitz and Stegun, 26.5.8),
///
/// 1 / (1 + d1 / (1 + d2 / (1 + ...))), where with a = f / 2, y = t^2 / (f + t^2) and x = 1 - y
///
/// d(2m+1) = -x (a + m) (a + m + 1/2) / ((a + 2m) (a + 2m + 1)), d(2m) = x m (1/2 - m) / ((a + 2m - 1) (a + 2m)).
///
/// As d(2m+1) is close to -1 if f is large, 1 + d(2m+1) is computed from y. The terms up to m = 40 are enough for t > 2.3,
/// and for t^2 > f.
fn outer(freedom: f64, ratio: f64) -> f64 {
    let (a, x, y) = (0.5 * freedom, 1.0 / (1.0 + ratio), ratio / (1.0 + ratio));
    let (mut value, mut quotient) = (1.0, 0.0);
    for m in (0..=40).rev().map(f64::from) {
        let (near, far) = (a + m, a + 2.0 * m);
        let rest = a * (2.0 * m + 0.5) + m * (3.0 * m + 1.5) + near * (near + 0.5) * y;
        value = (rest / (far * (far + 1.0)) + quotient) / (1.0 + quotient);
        quotient = x * m * (0.5 - m) / ((far - 1.0) * far) / value;
    }
    1.0 / value
}

/// Gamma(z + 1/2) / Gamma(z) for positive z: the asymptotic series from 40 on, and Gamma(z + 1) = z Gamma(z) below.
fn gamma_ratio(mut z: f64) -> f64 {
    let (mut above, mut below) = (1.0, 1.0);
    while z < 40.0 {
        above *= z;
        below *= z + 0.5;
        z += 1.0;
    }
    let u = 1.0 / (8.0 * z);
    let terms = [-1.0, 0.5, 2.5, -21.0 / 8.0, -399.0 / 8.0, 869.0 / 16.0, 39_325.0 / 16.0];
    above / below * z.sqrt() * (1.0 + terms.iter().rev().fold(0.0, |sum, term| u * (term + sum)))
}

/// The standard normal quantile that is exceeded with this probability, at most 1/2, to 5e-4 (Abramowitz and Stegun,
/// 26.2.23).
fn normal_quantile(above: f64) -> f64 {
    let t = (-2.0 * above.ln()).sqrt();
    let over = (0.010_328 * t + 0.802_853) * t + 2.515_517;
    let under = ((0.001_308 * t + 0.189_269) * t + 1.432_788) * t + 1.0;
    t - over / under
}
