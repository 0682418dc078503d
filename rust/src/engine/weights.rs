//! Drawing a class with probability proportional to a weight that changes.

const WAYS: usize = 16;

/// A tree of sums with sixteen children a node. An inner node is always the sum of its children taken afresh, so that
/// rounding does not pile up.
#[derive(Clone, Debug)]
pub struct Weights {
    /// Leaves first, root level last; each level padded to whole nodes.
    levels: Vec<Vec<f64>>,
}

impl Weights {
    /// All weights zero.
    pub fn new(len: usize) -> Self {
        let mut levels = vec![vec![0.0; len.next_multiple_of(WAYS)]];
        while levels.last().is_some_and(|level| level.len() > WAYS) {
            let nodes = levels[levels.len() - 1].len() / WAYS;
            levels.push(vec![0.0; nodes.next_multiple_of(WAYS)]);
        }
        Self { levels }
    }

    /// Changes a weight.
    #[inline]
    pub fn set(&mut self, mut i: usize, weight: f64) {
        self.levels[0][i] = weight;
        for level in 1..self.levels.len() {
            i /= WAYS;
            self.levels[level][i] = sum(&self.levels[level - 1][i * WAYS..(i + 1) * WAYS]);
        }
    }

    /// Sum of all weights.
    #[inline]
    pub fn total(&self) -> f64 {
        self.levels.last().map_or(0.0, |root| sum(root))
    }

    /// The member at `x` when the weights lie one behind the other on a line, and how far into it `x` lies.
    #[inline]
    pub fn find(&self, mut x: f64) -> (usize, f64) {
        let mut node = 0;
        for level in self.levels.iter().rev() {
            let children = &level[node * WAYS..(node + 1) * WAYS];
            let mut child = usize::MAX;
            for (i, &weight) in children.iter().enumerate() {
                if weight > 0.0 {
                    child = i;
                    if x < weight {
                        break;
                    }
                    x -= weight;
                }
            }
            // past the end by rounding: the last one that weighs anything
            node = node * WAYS + child.min(WAYS - 1);
        }
        (node, x)
    }
}

#[inline]
fn sum(values: &[f64]) -> f64 {
    let mut lanes = [0.0; 4];
    for chunk in values.chunks_exact(4) {
        for (lane, value) in lanes.iter_mut().zip(chunk) {
            *lane += value;
        }
    }
    (lanes[0] + lanes[1]) + (lanes[2] + lanes[3])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn finds_what_a_scan_finds(
            len in 1usize..700,
            sets in prop::collection::vec((any::<prop::sample::Index>(), 0u32..9), 1..80),
            at in 0.0f64..1.0,
        ) {
            let (mut weights, mut plain) = (Weights::new(len), vec![0.0; len]);
            for (i, weight) in sets {
                let i = i.index(len);
                weights.set(i, f64::from(weight));
                plain[i] = f64::from(weight);
            }
            let total: f64 = plain.iter().sum();
            prop_assert_eq!(weights.total(), total);
            if total > 0.0 {
                let mut x = at * total;
                let (found, rest) = weights.find(x);
                let mut i = 0;
                while x >= plain[i] {
                    x -= plain[i];
                    i += 1;
                }
                prop_assert_eq!(found, i);
                prop_assert!((rest - x).abs() < 1e-9);
            }
        }
    }
}
