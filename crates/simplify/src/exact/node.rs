//! The nodes of the exact search, each with the way to it.

use unravel_trace::ThreadId;

/// A state and who ran last, both as hashes.
pub(super) type Key = (u64, u64);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct NodeId(u32);

/// A state, as the end of the way to its parent and of one more segment.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub parent: NodeId,
    /// The last segment. The number of a thread is its number in every run that goes this way.
    pub thread: ThreadId,
    pub events: u32,
    /// Segments.
    pub depth: u32,
    /// Not counting the switch that comes after it.
    pub preemptions: u32,
    /// The thread could go on, and does not give up its turn: a switch here is a preemption.
    pub could_go_on: bool,
    /// To the questions of the last segment.
    pub answers: Box<[u32]>,
}

/// One segment of a way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leg {
    pub thread: ThreadId,
    pub events: u32,
    pub could_go_on: bool,
}

/// All nodes; the first is the state before anything was executed.
#[derive(Debug, Default)]
pub(super) struct Nodes {
    nodes: Vec<Node>,
}

impl Nodes {
    pub fn root(&mut self) -> NodeId {
        self.add(Node {
            parent: NodeId(0),
            thread: ThreadId(0),
            events: 0,
            depth: 0,
            preemptions: 0,
            could_go_on: false,
            answers: Box::default(),
        })
    }

    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    pub fn add(&mut self, node: Node) -> NodeId {
        self.nodes.push(node);
        NodeId(self.nodes.len() as u32 - 1)
    }

    fn get(&self, id: NodeId) -> &Node {
        &self.nodes[id.0 as usize]
    }

    pub fn depth(&self, id: NodeId) -> u32 {
        self.get(id).depth
    }

    /// Preemptions of a way that goes on from here.
    pub fn preemptions_after(&self, id: NodeId) -> u32 {
        self.get(id).preemptions + u32::from(self.get(id).could_go_on)
    }

    /// From the first segment to the last.
    pub fn way(&self, id: NodeId) -> Vec<Leg> {
        let mut way = self.backwards(id).collect::<Vec<_>>();
        way.reverse();
        way.iter()
            .map(|n| Leg { thread: n.thread, events: n.events, could_go_on: n.could_go_on })
            .collect()
    }

    /// All answers on the way to a node.
    pub fn answers(&self, id: NodeId) -> Vec<u32> {
        let mut way = self.backwards(id).collect::<Vec<_>>();
        way.reverse();
        way.iter().flat_map(|n| n.answers.iter().copied()).collect()
    }

    fn backwards(&self, id: NodeId) -> impl Iterator<Item = &Node> {
        let first = Some(self.get(id)).filter(|node| node.depth > 0);
        std::iter::successors(first, |node| {
            Some(self.get(node.parent)).filter(|node| node.depth > 0)
        })
    }

    /// Takes another way to the same node at the same depth if it has fewer preemptions or, if equal, stays longer with its
    /// first threads.
    pub fn replace_if_better(&mut self, old: NodeId, new: Node) {
        let kept = self.get(old);
        debug_assert_eq!(kept.depth, new.depth, "ways of one level are compared");
        let is_better = match new.preemptions.cmp(&kept.preemptions) {
            std::cmp::Ordering::Equal => self.lengths(&new) > self.lengths(kept),
            order => order.is_lt(),
        };
        if is_better {
            self.nodes[old.0 as usize] = new;
        }
    }

    /// The lengths of the segments, from the first to the last.
    fn lengths(&self, node: &Node) -> Vec<u32> {
        let mut lengths = vec![node.events];
        lengths.extend(self.backwards(node.parent).map(|n| n.events));
        lengths.reverse();
        lengths
    }
}
