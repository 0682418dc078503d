//! A sorted list in blocks: a change moves the entries of one block, and a search skips blocks by their summaries.

/// Entries of a block, at most.
const BLOCK: usize = 256;

/// What a search uses to skip a block.
pub trait Summary<E>: Clone + Default {
    /// An entry is added to the block.
    fn add(&mut self, entry: &E);
    /// An entry is removed from the block, which keeps the `rest`.
    fn remove(&mut self, entry: &E, rest: &[E]);
}

/// Some entries that follow one another; never empty.
#[derive(Clone, Debug)]
pub struct Block<E, S> {
    pub entries: Vec<E>,
    pub summary: S,
}

impl<E, S: Summary<E>> Block<E, S> {
    fn of(entries: Vec<E>) -> Self {
        let mut summary = S::default();
        for entry in &entries {
            summary.add(entry);
        }
        Self { entries, summary }
    }
}

/// The list, whose entries differ.
#[derive(Clone, Debug)]
pub struct SortedBlocks<E, S> {
    blocks: Vec<Block<E, S>>,
}

impl<E, S> Default for SortedBlocks<E, S> {
    fn default() -> Self {
        Self { blocks: Vec::new() }
    }
}

impl<E: Copy + Ord, S: Summary<E>> SortedBlocks<E, S> {
    /// The blocks in ascending order.
    pub fn blocks(&self) -> &[Block<E, S>] {
        &self.blocks
    }

    /// Inserts an entry.
    pub fn insert(&mut self, entry: E) {
        if self.blocks.is_empty() {
            self.blocks.push(Block::of(Vec::new()));
        }
        let place = self.block(&entry).min(self.blocks.len() - 1);
        let block = &mut self.blocks[place];
        let at = block.entries.partition_point(|other| *other < entry);
        block.entries.insert(at, entry);
        block.summary.add(&entry);
        if block.entries.len() > BLOCK {
            let upper = Block::of(block.entries.split_off(BLOCK / 2));
            *block = Block::of(std::mem::take(&mut block.entries));
            self.blocks.insert(place + 1, upper);
        }
    }

    /// Removes an entry, if it is there.
    pub fn remove(&mut self, entry: &E) {
        let place = self.block(entry);
        let Some(block) = self.blocks.get_mut(place) else { return };
        let Ok(at) = block.entries.binary_search(entry) else { return };
        block.entries.remove(at);
        block.summary.remove(entry, &block.entries);
        if block.entries.is_empty() {
            self.blocks.remove(place);
        }
    }

    /// The block in which an entry belongs; one too many if it is the last of all.
    fn block(&self, entry: &E) -> usize {
        self.blocks.partition_point(|block| block.entries.last().is_some_and(|last| last < entry))
    }
}
