//! Statements that come one after the other in a block.

use super::Source;
use super::outline::{BlockId, Function};
use super::region::Region;

impl Source {
    /// The statements of the innermost common block that hold two regions; `None` if one statement holds both, or they
    /// are in different functions.
    pub fn siblings(&self, a: &Region, b: &Region) -> Option<(Region, Region)> {
        let outwards = |region: &Region| {
            std::iter::successors(Some(region.clone()), |region| {
                let parent = self.outline.block(region.block).parent?;
                Some(self.region_of(parent.block, parent.index..parent.index + 1))
            })
        };
        let (a, b) = outwards(a).find_map(|a| {
            let b = outwards(b).find(|b| b.block == a.block)?;
            Some((a, b))
        })?;
        let apart = a.items.end <= b.items.start || b.items.end <= a.items.start;
        (apart && self.outline.block(a.block).divisible).then_some((a, b))
    }

    /// What stands between two regions of one block, whichever comes first; `None` if nothing does.
    pub fn between(&self, a: &Region, b: &Region) -> Option<Region> {
        let (start, end) = if a.items.start < b.items.start {
            (a.items.end, b.items.start)
        } else {
            (b.items.end, a.items.start)
        };
        (a.block == b.block && start < end).then(|| self.region_of(a.block, start..end))
    }

    /// The statements of a region's block that come after it.
    pub fn following(&self, region: &Region) -> Vec<Region> {
        let items = self.outline.block(region.block).items.len();
        (region.items.end..items)
            .map(|index| self.region_of(region.block, index..index + 1))
            .collect()
    }

    /// A region with all that follows it in its block.
    pub fn to_block_end(&self, region: &Region) -> Region {
        let items = self.outline.block(region.block).items.len();
        self.region_of(region.block, region.items.start..items)
    }

    /// `for (int i = 0; i < n; i++)` of a region that is such a loop.
    pub fn loop_head(&self, region: &Region) -> Option<&str> {
        let item = self.outline.item(region.first());
        let node = self.tree.root_node().descendant_for_byte_range(item.inner, item.bytes.end)?;
        let body = node.child_by_field_name("body")?;
        (node.kind() == "for_statement" && region.items.len() == 1)
            .then(|| self.text[item.inner..body.start_byte()].trim_end())
    }

    /// Whether a name is declared outside of all functions.
    pub fn is_at_file_scope(&self, name: &str) -> bool {
        let root = self.tree.root_node();
        let mut cursor = root.walk();
        root.named_children(&mut cursor).any(|node| {
            node.kind() == "declaration"
                && super::words(self.node_text(node)).any(|(_, word)| word == name)
        })
    }

    /// The statements before a region in its block, and before what holds it in the blocks around, the nearest first.
    pub fn preceding(&self, region: &Region) -> Vec<Region> {
        let mut found = Vec::new();
        let mut next = Some(region.first());
        while let Some(place) = next {
            found.extend(
                (0..place.index).rev().map(|index| self.region_of(place.block, index..index + 1)),
            );
            next = self.outline.block(place.block).parent;
        }
        found
    }

    /// Every statement of the file that holds no other, in the order of the text.
    pub fn plain_statements(&self) -> Vec<Region> {
        let mut plain = Vec::new();
        for (id, block) in
            self.outline.blocks.iter().enumerate().filter(|(_, block)| block.divisible)
        {
            for (index, item) in block.items.iter().enumerate() {
                let holds = |other: &super::outline::Block| {
                    other.parent.is_some_and(|place| place.block.0 == id && place.index == index)
                };
                if !item.is_directive() && !self.outline.blocks.iter().any(holds) {
                    plain.push(self.region_of(BlockId(id), index..index + 1));
                }
            }
        }
        plain.sort_by_key(|region| region.bytes.start);
        plain
    }

    /// Whether a region is one statement that holds no other.
    pub fn is_plain(&self, region: &Region) -> bool {
        let holds = |block: &super::outline::Block| {
            block.parent.is_some_and(|place| place == region.first())
        };
        region.items.len() == 1 && !self.outline.blocks.iter().any(holds)
    }

    /// Whether a byte is in the condition of the `if` or `switch` that a region is: evaluated once, and first.
    pub fn is_in_condition(&self, region: &Region, byte: usize) -> bool {
        let item = self.outline.item(region.first());
        let node = self.tree.root_node().descendant_for_byte_range(item.inner, item.bytes.end);
        matches!(item.inner_kind, "if_statement" | "switch_statement")
            && node
                .and_then(|node| node.child_by_field_name("condition"))
                .is_some_and(|condition| condition.byte_range().contains(&byte))
    }

    /// The body of the function at a position, then those of the functions of this file that it calls.
    pub fn bodies_near(&self, at: super::Position) -> Vec<Region> {
        let Some(own) = self.whole_body(at) else { return Vec::new() };
        let mut bodies = vec![own.clone()];
        for call in self.calls(own.bytes) {
            let body = self
                .function_named(&call.name)
                .and_then(|function| self.whole_body(self.position_of(function.body.start)));
            bodies.extend(body.filter(|body| !bodies.contains(body)));
        }
        bodies
    }

    /// The function of a name, as written where it is defined.
    pub fn function_named(&self, name: &str) -> Option<&Function> {
        self.outline.functions.iter().find(|function| function.name == name)
    }

    /// One step of indentation.
    pub fn indentation(&self) -> &str {
        &self.layout.unit
    }
}
