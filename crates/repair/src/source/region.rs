//! Regions: runs of statements of one block.

use std::ops::Range;

use super::outline::{BlockId, Place, Shape};
use super::{Position, Source, nodes_within, words};

/// A run of sibling statements.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Region {
    /// From its first statement to the end of its last.
    pub bytes: Range<usize>,
    pub first_line: u32,
    pub last_line: u32,
    /// The name of the function it is in; empty for a lambda.
    pub function: String,
    /// How many statements of the block it has.
    pub statements: usize,
    /// Whether it is the body of an `if`, `else` or loop that has no braces.
    pub unbraced: bool,
    pub(super) block: BlockId,
    pub(super) items: Range<usize>,
}

impl Region {
    pub(super) fn first(&self) -> Place {
        Place { block: self.block, index: self.items.start }
    }

    pub(super) fn last(&self) -> Place {
        Place { block: self.block, index: self.items.end - 1 }
    }
}

/// A name that a declaration directly inside a region declares.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeclaredName {
    pub name: String,
    /// Whether the block uses it after the region.
    pub used_after: bool,
}

impl Source {
    /// The smallest run of sibling statements that contains all positions, which must be in one function.
    ///
    /// A position in the condition of a statement belongs to that whole statement, one at the braces of a function to its
    /// whole body. `None` outside functions, and for positions of several.
    pub fn region(&self, at: &[Position]) -> Option<Region> {
        let bytes = at.iter().map(|&at| self.byte_at(at)).collect::<Option<Vec<_>>>()?;
        let function = self.outline.function_around(*bytes.first()?)?;
        let mut region: Option<Region> = None;
        for byte in bytes {
            if self.outline.function_around(byte) != Some(function) {
                return None;
            }
            let next = match self.divisible_place(self.outline.place_at(byte)) {
                Some(place) => self.region_of(place.block, place.index..place.index + 1),
                None => self.body_region(function)?,
            };
            region = Some(match region {
                Some(region) => self.extend_to(&region, &next)?,
                None => next,
            });
        }
        region
    }

    /// All statements of the function at a position.
    pub fn whole_body(&self, at: Position) -> Option<Region> {
        self.body_region(self.outline.function_around(self.byte_at(at)?)?)
    }

    /// All statements of the function at a position but for a `return` that ends it, so that something can be put after
    /// them.
    pub fn body_without_return(&self, at: Position) -> Option<Region> {
        let whole = self.whole_body(at)?;
        let items = &self.outline.block(whole.block).items;
        let ends = items.last().is_some_and(|item| item.inner_kind == "return_statement");
        let items = whole.items.start..whole.items.end - usize::from(ends);
        (!items.is_empty()).then(|| self.region_of(whole.block, items))
    }

    /// The statement that contains the region; in the body of a function, the whole body; `None` for that.
    pub fn wider(&self, region: &Region) -> Option<Region> {
        let block = self.outline.block(region.block);
        if let Some(place) = self.divisible_place(block.parent) {
            return Some(self.region_of(place.block, place.index..place.index + 1));
        }
        let whole = self.body_region(block.function)?;
        (whole != *region).then_some(whole)
    }

    /// The smallest region that covers both; `None` if they are in different functions.
    pub fn extend_to(&self, region: &Region, other: &Region) -> Option<Region> {
        let outwards = |region: &Region| {
            let inside = (region.block, region.items.clone());
            std::iter::successors(Some(inside), |(block, _)| {
                let parent = self.divisible_place(self.outline.block(*block).parent)?;
                Some((parent.block, parent.index..parent.index + 1))
            })
        };
        outwards(region).find_map(|(block, items)| {
            let (_, others) = outwards(other).find(|(other, _)| *other == block)?;
            Some(self.region_of(block, items.start.min(others.start)..items.end.max(others.end)))
        })
    }

    /// The line and column where a region starts, and those after its end.
    pub fn span(&self, region: &Region) -> (Position, Position) {
        (self.position_of(region.bytes.start), self.position_of(region.bytes.end))
    }

    /// The names that declarations directly inside the region declare.
    pub fn declared_in(&self, region: &Region) -> Vec<DeclaredName> {
        let block = self.outline.block(region.block);
        let after = &self.text[region.bytes.end..block.bytes.end.max(region.bytes.end)];
        let mut names = Vec::new();
        for item in
            block.items[region.items.clone()].iter().filter(|item| item.inner_kind == "declaration")
        {
            let bytes = item.inner..item.bytes.end;
            nodes_within(
                self.tree.root_node(),
                &bytes,
                &|node| !is_value(node.kind()),
                &mut |node| {
                    let declares = node.kind() == "identifier"
                        && node.parent().is_some_and(|parent| {
                            parent.kind() == "declaration" || parent.kind().ends_with("declarator")
                        });
                    if declares {
                        let name = self.node_text(node).to_owned();
                        let used_after = words(after).any(|(_, word)| word == name);
                        names.push(DeclaredName { name, used_after });
                    }
                },
            );
        }
        names
    }

    pub(super) fn region_of(&self, block: BlockId, items: Range<usize>) -> Region {
        let own = self.outline.block(block);
        let bytes = own.items[items.start].bytes.start..own.items[items.end - 1].bytes.end;
        Region {
            first_line: self.position_of(bytes.start).line,
            last_line: self.position_of(bytes.end - 1).line,
            bytes,
            function: self.outline.functions[own.function].name.clone(),
            statements: items.len(),
            unbraced: matches!(own.shape, Shape::Body { .. }),
            block,
            items,
        }
    }

    fn body_region(&self, function: usize) -> Option<Region> {
        let block = self.outline.body_of(function)?;
        let items = self.outline.block(block).items.len();
        (items > 0).then(|| self.region_of(block, 0..items))
    }

    /// The statement itself, or the one around it whose block may be divided.
    fn divisible_place(&self, place: Option<Place>) -> Option<Place> {
        let mut outwards =
            std::iter::successors(place, |place| self.outline.block(place.block).parent);
        outwards.find(|place| self.outline.block(place.block).divisible)
    }
}

/// Whether the names in a node are used rather than declared.
fn is_value(kind: &str) -> bool {
    kind.ends_with("expression")
        || kind.ends_with("_list")
        || matches!(
            kind,
            "init_statement"
                | "struct_specifier"
                | "class_specifier"
                | "union_specifier"
                | "enum_specifier"
        )
}
