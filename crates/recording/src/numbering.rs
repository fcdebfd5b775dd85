//! Numbers for the acyclic paths of a function.
//!
//! After Ball & Larus, *Efficient Path Profiling* (MICRO 1996): edges get values such that the sum along every path from a
//! start is a number of its own, and cutting the edges that close loops leaves only acyclic paths. Otherwise than there,
//!
//! - a path ends at calls that may write something themselves ([`CallKind`]), at exits, and at back edges where a way round
//!   has no such call, so that what is written is in the order in which it happens; a path's number counts from its own start, which a decoder always knows, so one byte is enough
//!   nearly always (cuts are added where it is not);
//! - a loop that dispatches, like an interpreter's, is cut where its ways meet, and where it is entered, so that each way has a constant number;
//! - where only one path exists nothing is written;
//! - an innermost loop without calls that has one way round counts its trips.
//!
//! All of this is after optimisation, so a path of the source may not be one here.

mod loops;

pub use loops::countable;

use crate::shape::{BlockShape, FunctionShape, Leaves};
use loops::Loops;

/// As many paths from one start fit into one byte: 0 is no record, and 255 is kept free.
const LIMIT: u64 = 254;

/// A node is a block's stretch between calls that cut: the first of a block begins it.
pub type Node = usize;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Edge {
    pub from: usize,
    pub to: usize,
    /// Positions in the terminator, least first: several may lead to the same block.
    pub successors: Vec<u32>,
    /// The path ends here.
    pub cut: bool,
    /// What is added to the path's number.
    pub value: u64,
    /// No path goes on here: the way round a counted loop, or to it.
    pub dead: bool,
    /// Index into [`Numbering::counted`] of the loop that the edge closes, leaves, or enters.
    pub back_of: Option<usize>,
    pub exit_of: Option<usize>,
    pub enters: Option<usize>,
}

/// A loop that counts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Counted {
    pub header: usize,
    /// The edges of the one way round, from the header back to it.
    pub round: Vec<usize>,
}

#[derive(Clone, Debug)]
pub struct Numbering {
    pub edges: Vec<Edge>,
    /// By block: indices of its edges.
    pub out: Vec<Vec<usize>>,
    pub into: Vec<Vec<usize>>,
    pub first_node: Vec<Node>,
    pub block_of: Vec<usize>,
    pub counted: Vec<Counted>,
    /// By node: how many numbers there are where it belongs to.
    numbers: Vec<u64>,
}

impl Numbering {
    pub fn new(shape: &FunctionShape) -> Numbering {
        let blocks = &shape.blocks;
        let (mut edges, out, into) = edges(blocks);
        let loops = Loops::find(&edges, &out, &into);
        let calls = |block: usize| !blocks[block].calls.is_empty();
        loops.cut_cycles(&mut edges, &out, &into, calls);
        let mut counted = Vec::new();
        for &header in &shape.counted {
            let Some(round) = loops.one_way_round(header as usize, &edges, &out) else { continue };
            let (number, header) = (counted.len(), header as usize);
            let inside = |block: usize| loops.contains(header, block);
            for edge in &mut edges {
                match (inside(edge.from), inside(edge.to)) {
                    (true, true) if edge.to == header => edge.back_of = Some(number),
                    (true, false) => edge.exit_of = Some(number),
                    (false, true) => {
                        edge.enters = Some(number);
                        edge.cut = true;
                    }
                    _ => {}
                }
            }
            counted.push(Counted { header, round });
        }
        let mut first_node = Vec::with_capacity(blocks.len());
        let mut block_of = Vec::new();
        for (number, block) in blocks.iter().enumerate() {
            first_node.push(block_of.len());
            block_of.extend(std::iter::repeat_n(number, block.calls.len() + 1));
        }
        let mut numbering =
            Numbering { edges, out, into, first_node, block_of, counted, numbers: Vec::new() };
        let order = numbering.successors_first(&loops, calls);
        let paths = numbering.count_paths(blocks, &order);
        numbering.numbers = numbering.numbers_by_node(blocks, &paths);
        numbering
    }

    /// The node that ends a block.
    pub fn last_node(&self, block: usize) -> Node {
        self.first_node.get(block + 1).copied().unwrap_or(self.block_of.len()) - 1
    }

    /// Which call of its block ends a node.
    pub fn call_at(&self, node: Node) -> usize {
        node - self.first_node[self.block_of[node]]
    }

    /// How many bytes a path through this node takes.
    pub fn width(&self, node: Node) -> u32 {
        match self.numbers[node] {
            0 | 1 => 0,
            2..=LIMIT => 1,
            n if n < 0xffff => 2,
            _ => 4,
        }
    }

    /// The reachable blocks, each after those on which the number of its paths depends: successors that a path runs through. One that
    /// begins with a call's node is the end of the path.
    fn successors_first(&self, loops: &Loops, calls: impl Fn(usize) -> bool) -> Vec<usize> {
        let mut seen = vec![false; self.out.len()];
        let mut order = Vec::with_capacity(loops.postorder.len());
        for &start in &loops.postorder {
            let mut stack = vec![(start, 0)];
            while let Some((block, next)) = stack.last_mut() {
                let block = *block;
                if *next == 0 && std::mem::replace(&mut seen[block], true) {
                    stack.pop();
                    continue;
                }
                let Some(&edge) = self.out[block].get(*next) else {
                    order.push(block);
                    stack.pop();
                    continue;
                };
                *next += 1;
                let edge = &self.edges[edge];
                if !edge.cut && edge.back_of.is_none() && !calls(edge.to) && !seen[edge.to] {
                    stack.push((edge.to, 0));
                }
            }
        }
        order
    }

    /// Gives every edge its value; returns how many paths start at each node. Blocks whose paths are too many are cut off
    /// from their predecessors until all fit.
    fn count_paths(&mut self, blocks: &[BlockShape], order: &[usize]) -> Vec<u64> {
        let mut paths = vec![1u64; self.block_of.len()];
        'again: loop {
            for &block in order {
                let last = self.last_node(block);
                if blocks[block].leaves == Leaves::Invoke || self.out[block].is_empty() {
                    paths[last] = 1;
                    continue;
                }
                let mut sum = 0u64;
                for &edge in &self.out[block] {
                    let after = match &self.edges[edge] {
                        edge if edge.back_of.is_some() => 0,
                        edge if edge.cut => 1,
                        edge => paths[self.first_node[edge.to]],
                    };
                    self.edges[edge].value = sum;
                    self.edges[edge].dead = after == 0;
                    sum += after;
                }
                paths[last] = sum;
                if sum > LIMIT && self.cut_below(block, &paths) {
                    continue 'again;
                }
            }
            return paths;
        }
    }

    /// Cuts all edges into the successor from which most paths start. False if there is none to cut.
    fn cut_below(&mut self, block: usize, paths: &[u64]) -> bool {
        let many = |edge: &Edge| {
            let open = !edge.cut && edge.back_of.is_none();
            let paths = paths[self.first_node[edge.to]];
            (open && paths > 1).then_some(paths)
        };
        let widest = self.out[block].iter().max_by_key(|&&e| many(&self.edges[e]));
        let Some(&edge) = widest.filter(|&&e| many(&self.edges[e]).is_some()) else { return false };
        let to = self.edges[edge].to;
        // Inside a counted loop a path must run from header to exit whole: cut where it leaves instead.
        let looping = self.edges[edge].exit_of.is_none()
            && self
                .counted
                .iter()
                .position(|c| {
                    let round = c.round.iter().map(|&e| self.edges[e].from);
                    c.header != to && round.into_iter().any(|b| b == to)
                })
                .is_some();
        let cuts: Vec<usize> = match looping {
            true => self
                .out
                .iter()
                .flatten()
                .copied()
                .filter(|&e| self.edges[e].exit_of.is_some())
                .collect(),
            false => self.into[to].clone(),
        };
        let mut any = false;
        for edge in cuts {
            any |= !self.edges[edge].cut;
            self.edges[edge].cut = true;
        }
        any
    }

    /// Nodes that uncut edges connect share one width, the widest of their starts.
    fn numbers_by_node(&self, blocks: &[BlockShape], paths: &[u64]) -> Vec<u64> {
        let mut group = Groups::new(paths.len());
        for edge in self.edges.iter().filter(|e| !e.cut && e.back_of.is_none()) {
            group.join(self.last_node(edge.from), self.first_node[edge.to]);
        }
        let mut most = vec![0u64; paths.len()];
        let mut start = |node: Node| {
            let root = group.root(node);
            most[root] = most[root].max(paths[node]);
        };
        start(0);
        for (block, shape) in blocks.iter().enumerate() {
            (1..=shape.calls.len()).for_each(|call| start(self.first_node[block] + call));
        }
        for edge in self.edges.iter().filter(|e| e.cut || e.back_of.is_some()) {
            start(self.first_node[edge.to]);
        }
        (0..paths.len()).map(|node| most[group.root(node)]).collect()
    }

    /// The edge that a path with this number takes out of a block, and what is left of the number.
    pub fn follow(&self, block: usize, number: u64) -> Option<(usize, u64)> {
        let edges = self.out[block].iter().rev();
        let edge =
            edges.copied().find(|&e| !self.edges[e].dead && self.edges[e].value <= number)?;
        Some((edge, number - self.edges[edge].value))
    }
}

type Lists = Vec<Vec<usize>>;

/// One edge a distinct successor, with the lists of those that leave and enter each block.
fn edges(blocks: &[BlockShape]) -> (Vec<Edge>, Lists, Lists) {
    let mut edges: Vec<Edge> = Vec::new();
    let (mut out, mut into) = (vec![Vec::new(); blocks.len()], vec![Vec::new(); blocks.len()]);
    for (from, block) in blocks.iter().enumerate() {
        for (position, &to) in block.successors.iter().enumerate() {
            let to = to as usize;
            let known = out[from].iter().copied().find(|&e: &usize| edges[e].to == to);
            if let Some(known) = known {
                edges[known].successors.push(position as u32);
                continue;
            }
            out[from].push(edges.len());
            into[to].push(edges.len());
            edges.push(Edge {
                from,
                to,
                successors: vec![position as u32],
                cut: block.leaves == Leaves::Invoke,
                value: 0,
                dead: false,
                back_of: None,
                exit_of: None,
                enters: None,
            });
        }
    }
    (edges, out, into)
}

/// Union-find.
struct Groups(Vec<usize>);

impl Groups {
    fn new(size: usize) -> Self {
        Groups((0..size).collect())
    }

    fn root(&mut self, mut node: usize) -> usize {
        while self.0[node] != node {
            self.0[node] = self.0[self.0[node]];
            node = self.0[node];
        }
        node
    }

    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.root(a), self.root(b));
        self.0[a] = b;
    }
}
