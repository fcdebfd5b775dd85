//! The things of a module that records name by number: its functions, then landing pads and calls that return twice.
//!
//! In a log an identifier is the lower half of an address in a table of the module's own, so that modules need no numbers from
//! anybody: the table's place tells them apart.

use std::collections::HashMap;

use crate::numbering::Node;
use crate::shape::{CallKind, Leaves, ModuleShape};

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Identified {
    Function(u32),
    Pad {
        function: u32,
        block: usize,
    },
    /// The node that the call ends.
    Twice {
        function: u32,
        node: Node,
    },
}

#[derive(Clone, Debug)]
pub struct Identifiers {
    pub all: Vec<Identified>,
    numbers: HashMap<Identified, u32>,
}

impl Identifiers {
    pub fn of(shape: &ModuleShape) -> Identifiers {
        let mut all: Vec<Identified> =
            (0..shape.functions.len() as u32).map(Identified::Function).collect();
        for (function, shape) in shape.functions.iter().enumerate().filter(|(_, f)| f.is_recorded())
        {
            let (function, mut node) = (function as u32, 0);
            let mut pads = Vec::new();
            for block in &shape.blocks {
                if let (Leaves::Invoke, Some(&pad)) = (block.leaves, block.successors.get(1)) {
                    pads.push(pad as usize);
                }
                for call in &block.calls {
                    if call.kind == CallKind::ReturnsTwice {
                        all.push(Identified::Twice { function, node });
                    }
                    node += 1;
                }
                node += 1;
            }
            pads.sort_unstable();
            pads.dedup();
            all.extend(pads.into_iter().map(|block| Identified::Pad { function, block }));
        }
        let numbers = all.iter().enumerate().map(|(i, &what)| (what, i as u32)).collect();
        Identifiers { all, numbers }
    }

    pub fn number(&self, what: Identified) -> u32 {
        self.numbers[&what]
    }
}
