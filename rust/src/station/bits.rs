//! A set of small numbers with fast "largest member below" and "smallest member".

/// The bits below each place of a word.
const BELOW: [u64; 65] = {
    let mut masks = [u64::MAX; 65];
    let mut end = 0;
    while end < 64 {
        masks[end] = (1 << end) - 1;
        end += 1;
    }
    masks
};

/// Bitset with one summary level. The first 64 members live in the struct itself: small systems touch nothing else.
#[derive(Clone, Debug)]
pub struct Bits {
    low: u64,
    /// Members from 64 on, and a bit for each of these words that is not empty.
    words: Vec<u64>,
    summary: Vec<u64>,
}

impl Bits {
    /// An empty set of numbers below `len`.
    pub fn new(len: usize) -> Self {
        let words = len.saturating_sub(64).div_ceil(64);
        Self { low: 0, words: vec![0; words], summary: vec![0; words.div_ceil(64)] }
    }

    /// Takes all members out.
    pub fn clear(&mut self) {
        self.low = 0;
        self.words.fill(0);
        self.summary.fill(0);
    }

    /// Adds a member.
    #[inline]
    pub fn insert(&mut self, i: usize) {
        if i < 64 {
            self.low |= 1 << i;
        } else {
            let word = (i >> 6) - 1;
            self.words[word] |= 1 << (i & 63);
            self.summary[word >> 6] |= 1 << (word & 63);
        }
    }

    /// Takes a member out.
    #[inline]
    pub fn remove(&mut self, i: usize) {
        if i < 64 {
            self.low &= !(1 << i);
        } else {
            let word = (i >> 6) - 1;
            self.words[word] &= !(1 << (i & 63));
            if self.words[word] == 0 {
                self.summary[word >> 6] &= !(1 << (word & 63));
            }
        }
    }

    /// The largest member below `end`.
    #[inline]
    pub fn last_below(&self, end: usize) -> Option<usize> {
        if end > 64
            && let Some(member) = self.last_high_below(end - 64)
        {
            return Some(member + 64);
        }
        let below = self.low & BELOW[end.min(64)];
        below.checked_ilog2().map(|bit| bit as usize)
    }

    /// Whether it is a member.
    #[inline]
    pub fn contains(&self, i: usize) -> bool {
        let word = if i < 64 { self.low } else { self.words[(i >> 6) - 1] };
        word >> (i & 63) & 1 == 1
    }

    /// The largest member below `end` that is one of `other` too.
    #[inline]
    pub fn last_of_both_below(&self, other: &Self, mut end: usize) -> Option<usize> {
        while end > 64
            && let Some(member) = self.last_high_below(end - 64)
        {
            end = member + 64;
            if other.contains(end) {
                return Some(end);
            }
        }
        let below = self.low & other.low & BELOW[end.min(64)];
        below.checked_ilog2().map(|bit| bit as usize)
    }

    /// The largest member below `end` of those from 64 on, both counted from 64.
    fn last_high_below(&self, end: usize) -> Option<usize> {
        let last = end - 1;
        let word = last >> 6;
        let below = self.words[word] & (u64::MAX >> (63 - (last & 63)));
        if let Some(bit) = below.checked_ilog2() {
            return Some(word << 6 | bit as usize);
        }
        let mut block = word >> 6;
        let mut words = self.summary[block] & ((1 << (word & 63)) - 1);
        while words == 0 {
            block = block.checked_sub(1)?;
            words = self.summary[block];
        }
        let word = block << 6 | words.ilog2() as usize;
        Some(word << 6 | self.words[word].ilog2() as usize)
    }

    /// The smallest member.
    #[inline]
    pub fn first(&self) -> Option<usize> {
        self.first_from(0)
    }

    /// The smallest member not below `start`.
    #[inline]
    pub fn first_from(&self, start: usize) -> Option<usize> {
        if start < 64 {
            let above = self.low & (u64::MAX << start);
            if above != 0 {
                return Some(above.trailing_zeros() as usize);
            }
        }
        self.first_high_from(start.saturating_sub(64)).map(|member| member + 64)
    }

    fn first_high_from(&self, start: usize) -> Option<usize> {
        let word = start >> 6;
        let above = self.words.get(word)? & (u64::MAX << (start & 63));
        if above != 0 {
            return Some(word << 6 | above.trailing_zeros() as usize);
        }
        let mut block = (word + 1) >> 6;
        let mut words = self.summary.get(block)? & (u64::MAX << ((word + 1) & 63));
        while words == 0 {
            block += 1;
            words = *self.summary.get(block)?;
        }
        let word = block << 6 | words.trailing_zeros() as usize;
        Some(word << 6 | self.words[word].trailing_zeros() as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn agrees_with_an_ordered_set(
            len in 1usize..9000,
            steps in prop::collection::vec((any::<bool>(), any::<prop::sample::Index>(), any::<prop::sample::Index>()), 1..200),
        ) {
            let (mut bits, mut set, mut thirds) = (Bits::new(len), BTreeSet::new(), Bits::new(len));
            (0..len).step_by(3).for_each(|third| thirds.insert(third));
            for (insert, member, probe) in steps {
                let (member, probe) = (member.index(len), probe.index(len + 1));
                if insert {
                    bits.insert(member);
                    set.insert(member);
                } else {
                    bits.remove(member);
                    set.remove(&member);
                }
                prop_assert_eq!(bits.last_below(probe), set.range(..probe).next_back().copied());
                prop_assert_eq!(bits.contains(member), insert);
                let third = set.range(..probe).rev().find(|&each| each % 3 == 0);
                prop_assert_eq!(bits.last_of_both_below(&thirds, probe), third.copied());
                prop_assert_eq!(bits.first_from(probe), set.range(probe..).next().copied());
                prop_assert_eq!(bits.first(), set.first().copied());
            }
        }
    }
}
