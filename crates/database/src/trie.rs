//! A prefix tree of paths: what Cortex's database is made of (thesis §5.4).
//!
//! Paths that share their first branches share the nodes for them. Chains of nodes with one child are one node with a
//! longer label, so there are at most twice as many nodes as distinct paths, however long these are. Each node knows the
//! length of the shortest path below it: who wants the shortest few need not look at the others.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Paths, and what ends at each of them.
#[derive(Clone, Debug)]
pub struct Trie<T> {
    /// The first is the root, with an empty label.
    nodes: Vec<Node<T>>,
}

#[derive(Clone, Debug)]
struct Node<T> {
    parent: usize,
    /// The branches from the parent to here; empty only at the root.
    label: Vec<u32>,
    /// Sorted by the first branch of their labels, which differ.
    children: Vec<usize>,
    /// What ends here, sorted, without duplicates.
    ends: Vec<T>,
    /// Length of the shortest path that ends here or below.
    shortest: usize,
}

impl<T> Default for Trie<T> {
    fn default() -> Self {
        Trie { nodes: vec![Node::new(0, Vec::new(), usize::MAX)] }
    }
}

impl<T> Node<T> {
    fn new(parent: usize, label: Vec<u32>, shortest: usize) -> Node<T> {
        Node { parent, label, children: Vec::new(), ends: Vec::new(), shortest }
    }
}

const ROOT: usize = 0;

impl<T: Copy + Ord> Trie<T> {
    /// True if it was not there.
    pub fn insert(&mut self, path: &[u32], what: T) -> bool {
        let (mut at, mut rest) = (ROOT, path);
        self.shorten(at, path.len());
        while let Some(first) = rest.first() {
            match self.child(at, *first) {
                Ok(child) => {
                    at = self.split(child, common(&self.nodes[child].label, rest));
                    rest = &rest[self.nodes[at].label.len()..];
                    self.shorten(at, path.len());
                }
                Err(place) => {
                    let new = self.nodes.len();
                    self.nodes.push(Node::new(at, rest.to_vec(), path.len()));
                    self.nodes[at].children.insert(place, new);
                    (at, rest) = (new, &[]);
                }
            }
        }
        let ends = &mut self.nodes[at].ends;
        match ends.binary_search(&what) {
            Ok(_) => false,
            Err(place) => {
                ends.insert(place, what);
                true
            }
        }
    }

    /// What ends at a path that begins with `prefix`: shortest path first, then in the order of the paths, then in its own.
    pub fn with_prefix(&self, prefix: &[u32]) -> ShortestFirst<'_, T> {
        let mut found = ShortestFirst { trie: self, open: BinaryHeap::new(), ready: Vec::new() };
        if let Some(node) = self.find(prefix) {
            found.open(node);
        }
        found
    }

    /// How many nodes there are; without paths just the root.
    pub fn nodes(&self) -> usize {
        self.nodes.len()
    }

    /// Branches in all labels: how many are left of the paths' lengths when what they share is stored once.
    pub fn branches(&self) -> usize {
        self.nodes.iter().map(|node| node.label.len()).sum()
    }

    fn shorten(&mut self, node: usize, length: usize) {
        let shortest = &mut self.nodes[node].shortest;
        *shortest = (*shortest).min(length);
    }

    /// The child that begins with this branch, or the place where it would stand.
    fn child(&self, node: usize, first: u32) -> Result<usize, usize> {
        let children = &self.nodes[node].children;
        children
            .binary_search_by_key(&first, |child| self.nodes[*child].label[0])
            .map(|place| children[place])
    }

    /// Divides the node behind `kept` branches of its label, if they are not all; the upper part.
    fn split(&mut self, node: usize, kept: usize) -> usize {
        if kept == self.nodes[node].label.len() {
            return node;
        }
        let below = self.nodes[node].label.split_off(kept);
        let label = std::mem::take(&mut self.nodes[node].label);
        let (parent, shortest) = (self.nodes[node].parent, self.nodes[node].shortest);
        let upper = self.nodes.len();
        self.nodes.push(Node { children: vec![node], ..Node::new(parent, label, shortest) });
        let place = self.nodes[parent].children.iter().position(|child| *child == node);
        let place = place.expect("a node is among its parent's children");
        self.nodes[parent].children[place] = upper;
        (self.nodes[node].parent, self.nodes[node].label) = (upper, below);
        upper
    }

    /// The highest node all of whose paths begin so.
    fn find(&self, prefix: &[u32]) -> Option<usize> {
        let (mut at, mut rest) = (ROOT, prefix);
        while let Some(first) = rest.first() {
            at = self.child(at, *first).ok()?;
            let shared = common(&self.nodes[at].label, rest);
            if shared < rest.len() && shared < self.nodes[at].label.len() {
                return None;
            }
            rest = &rest[shared..];
        }
        Some(at)
    }

    fn path(&self, mut node: usize) -> Vec<u32> {
        let mut backwards = Vec::new();
        while node != ROOT {
            backwards.extend(self.nodes[node].label.iter().rev());
            node = self.nodes[node].parent;
        }
        backwards.reverse();
        backwards
    }
}

/// How long two paths are the same.
fn common(a: &[u32], b: &[u32]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

/// Goes through a subtree by the lengths of paths, and looks only at nodes that have a path as short as that below them.
#[derive(Debug)]
pub struct ShortestFirst<'a, T> {
    trie: &'a Trie<T>,
    /// Nodes that were not looked at, with their shortest paths.
    open: BinaryHeap<Reverse<(usize, usize)>>,
    /// What comes next, last first.
    ready: Vec<T>,
}

impl<T> ShortestFirst<'_, T> {
    fn open(&mut self, node: usize) {
        let shortest = self.trie.nodes[node].shortest;
        // Only the root of an empty tree has no path below it.
        if shortest != usize::MAX {
            self.open.push(Reverse((shortest, node)));
        }
    }
}

impl<T: Copy + Ord> ShortestFirst<'_, T> {
    /// All paths of the next length.
    fn advance(&mut self) {
        let Some(Reverse((length, _))) = self.open.peek() else { return };
        let (length, mut ended) = (*length, Vec::new());
        while let Some(Reverse((shortest, node))) = self.open.peek().copied()
            && shortest == length
        {
            self.open.pop();
            let trie = self.trie;
            if !trie.nodes[node].ends.is_empty() {
                let path = trie.path(node);
                if path.len() == length {
                    ended.push((path, node));
                }
            }
            for child in &trie.nodes[node].children {
                self.open(*child);
            }
        }
        ended.sort();
        let ends = ended.iter().flat_map(|(_, node)| &self.trie.nodes[*node].ends);
        self.ready.extend(ends);
        self.ready.reverse();
    }
}

impl<T: Copy + Ord> Iterator for ShortestFirst<'_, T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        if self.ready.is_empty() {
            self.advance();
        }
        self.ready.pop()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn found(trie: &Trie<char>, prefix: &[u32]) -> String {
        trie.with_prefix(prefix).collect()
    }

    /// Figure 5.5c of the thesis: what T1 did in three runs, as far as branches go.
    #[test]
    fn paths_are_found_by_their_prefix() {
        let mut trie = Trie::default();
        for (path, what) in [(&[1, 0][..], 'a'), (&[1, 0], 'b'), (&[0, 0], 'c'), (&[0], 'd')] {
            assert!(trie.insert(path, what));
        }
        assert!(!trie.insert(&[1, 0], 'a'), "it is there already");
        assert_eq!(found(&trie, &[1]), "ab");
        assert_eq!(found(&trie, &[0, 0]), "c");
        assert_eq!(found(&trie, &[1, 1]), "", "nobody took this path: it has to be synthesised");
        assert_eq!(found(&trie, &[]), "dcab", "shortest first, then by path");
        assert_eq!(found(&trie, &[1, 0, 0]), "");
    }

    #[test]
    fn what_paths_share_is_stored_once() {
        let mut trie = Trie::default();
        let common = vec![1; 1000];
        for end in 0..10 {
            trie.insert(&[&common[..], &[end]].concat(), end);
        }
        assert_eq!((trie.nodes(), trie.branches()), (12, 1010));
    }

    fn path() -> impl Strategy<Value = Vec<u32>> {
        prop::collection::vec(0..3u32, 0..7)
    }

    proptest! {
        #[test]
        fn it_answers_as_a_list_would(
            paths in prop::collection::vec((path(), 0..6u8), 0..40),
            prefix in path(),
        ) {
            let mut trie = Trie::default();
            let mut list: Vec<(usize, Vec<u32>, u8)> = Vec::new();
            for (path, what) in paths {
                let entry = (path.len(), path.clone(), what);
                let new = !list.contains(&entry);
                prop_assert_eq!(trie.insert(&path, what), new);
                if new {
                    list.push(entry);
                }
            }
            list.sort();
            let expected: Vec<u8> =
                list.iter().filter(|e| e.1.starts_with(&prefix)).map(|e| e.2).collect();
            prop_assert_eq!(trie.with_prefix(&prefix).collect::<Vec<_>>(), expected);
            let mut distinct: Vec<&Vec<u32>> = list.iter().map(|e| &e.1).collect();
            distinct.dedup();
            prop_assert!(trie.nodes() <= 2 * distinct.len() + 1);
        }
    }
}
