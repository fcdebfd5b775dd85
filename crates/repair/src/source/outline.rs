//! The statements of a source as an owned tree of blocks.
//!
//! A block is whatever holds statements one after the other: braces, a list after `case`, a branch of an `#if`, and the single
//! statement that stands as the body of an `if` or loop without braces. The condition of an `else if` belongs to the
//! whole chain, since no programmer would put a statement between `else` and `if`.

use std::ops::Range;

use tree_sitter::Node;

/// A function, method or lambda.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Function {
    /// As written where it is defined (`Queue::push`); empty for a lambda.
    pub name: String,
    /// The type as one would write it for a variable (`const char *`); empty if it cannot be written so, or is left out.
    pub return_type: String,
    pub bytes: Range<usize>,
    /// The body with its braces.
    pub body: Range<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct BlockId(pub(super) usize);

/// A statement of a block: which block, and the how-manieth.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Place {
    pub(super) block: BlockId,
    pub(super) index: usize,
}

pub(super) struct Item {
    pub(super) bytes: Range<usize>,
    /// The grammar's name of it.
    pub(super) kind: &'static str,
    /// Where the statement itself starts, after labels and attributes.
    pub(super) inner: usize,
    /// The grammar's name of what follows labels and attributes.
    pub(super) inner_kind: &'static str,
}

impl Item {
    pub(super) fn is_directive(&self) -> bool {
        self.kind.starts_with("preproc")
    }

    pub(super) fn is_labelled(&self) -> bool {
        self.kind == "labeled_statement"
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Shape {
    /// The body of a function or lambda.
    Function,
    Braced,
    /// A body without braces: where the header before it ends, and the `else` or `while` after it.
    Body {
        header_end: usize,
        follower: Option<usize>,
    },
    Case,
    /// A branch of an `#if` inside a function.
    Conditional,
}

pub(super) struct Block {
    pub(super) shape: Shape,
    /// With its braces, if it has any.
    pub(super) bytes: Range<usize>,
    pub(super) items: Vec<Item>,
    /// The statement it is a part of; `None` for the body of a function.
    pub(super) parent: Option<Place>,
    pub(super) function: usize,
    /// Where the keyword stands that this block belongs to: its indentation is that of the block's brace.
    pub(super) keyword: usize,
    /// Whether statements may be put between its statements: not between the cases of a `switch`, nor where the last
    /// statement is the value of a GNU statement expression.
    pub(super) divisible: bool,
}

impl Block {
    pub(super) fn has_braces(&self) -> bool {
        matches!(self.shape, Shape::Function | Shape::Braced)
    }
}

pub(super) struct Outline {
    pub(super) functions: Vec<Function>,
    pub(super) blocks: Vec<Block>,
}

impl Outline {
    pub(super) fn of(root: Node, text: &str) -> Outline {
        let mut outline = Outline { functions: Vec::new(), blocks: Vec::new() };
        outline.visit(root, text, None);
        outline
    }

    pub(super) fn block(&self, block: BlockId) -> &Block {
        &self.blocks[block.0]
    }

    pub(super) fn item(&self, place: Place) -> &Item {
        &self.block(place.block).items[place.index]
    }

    /// The innermost function whose body contains a byte.
    pub(super) fn function_around(&self, byte: usize) -> Option<usize> {
        let around = (0..self.functions.len())
            .filter(|&function| self.functions[function].body.contains(&byte));
        around.min_by_key(|&function| self.functions[function].body.len())
    }

    pub(super) fn body_of(&self, function: usize) -> Option<BlockId> {
        let body = |block: &Block| block.function == function && block.shape == Shape::Function;
        self.blocks.iter().position(body).map(BlockId)
    }

    /// The innermost statement that contains a byte, in a block that may be divided or not.
    pub(super) fn place_at(&self, byte: usize) -> Option<Place> {
        let function = self.function_around(byte)?;
        let places = self.blocks.iter().enumerate().filter(|(_, block)| block.function == function);
        let places = places.filter_map(|(id, block)| {
            let index = block.items.iter().position(|item| item.bytes.contains(&byte))?;
            Some(Place { block: BlockId(id), index })
        });
        // Blocks are numbered outside in, which decides between an unbraced body and the statement it is.
        places.min_by_key(|&place| (self.item(place).bytes.len(), usize::MAX - place.block.0))
    }

    /// The first statement on a line that starts with something else: a one-line function or a `case`.
    pub(super) fn first_statement(&self, line: Range<usize>) -> Option<usize> {
        let first_item = |block: &Block| {
            block.items.first().map(|item| item.bytes.start).filter(|start| line.contains(start))
        };
        if self.function_around(line.start).is_none() {
            let on_line = |block: &&Block| {
                block.shape == Shape::Function && line.contains(&block.bytes.start)
            };
            let body = self.blocks.iter().find(on_line)?;
            return Some(first_item(body).unwrap_or(body.bytes.start));
        }
        let case = self
            .blocks
            .iter()
            .find(|block| block.shape == Shape::Case && block.bytes.start == line.start)?;
        first_item(case)
    }

    fn visit(&mut self, node: Node, text: &str, within: Option<(Place, usize)>) {
        match node.kind() {
            "function_definition" | "lambda_expression" => {
                let body = node
                    .child_by_field_name("body")
                    .filter(|body| body.kind() == "compound_statement");
                if let Some(body) = body {
                    self.functions.push(function(node, body, text));
                    let function = self.functions.len() - 1;
                    let keyword = if node.kind() == "lambda_expression" {
                        body.start_byte()
                    } else {
                        node.start_byte()
                    };
                    for child in
                        node.children(&mut node.walk()).filter(|child| child.id() != body.id())
                    {
                        self.visit(child, text, within);
                    }
                    self.open(
                        Shape::Function,
                        body,
                        statements(body),
                        keyword,
                        None,
                        function,
                        text,
                    );
                    return;
                }
            }
            "compound_statement" => {
                if let Some((place, function)) = within {
                    let parent = node.parent();
                    let owner = parent
                        .filter(|owner| bodies(*owner).iter().any(|body| body.id() == node.id()));
                    let keyword = owner.map_or(node.start_byte(), |owner| owner.start_byte());
                    let items = statements(node);
                    let value =
                        parent.is_some_and(|parent| parent.kind() == "parenthesized_expression");
                    let cases = parent.is_some_and(|parent| parent.kind() == "switch_statement");
                    let block =
                        self.open(Shape::Braced, node, items, keyword, Some(place), function, text);
                    self.blocks[block.0].divisible &= !value && !cases;
                    return;
                }
            }
            "case_statement" => {
                if let Some((place, function)) = within {
                    let colon = node
                        .children(&mut node.walk())
                        .find(|child| child.kind() == ":")
                        .map(|colon| colon.end_byte());
                    let after = colon.unwrap_or(node.end_byte());
                    let items = statements(node)
                        .into_iter()
                        .filter(|item| item.start_byte() >= after)
                        .collect();
                    self.open(
                        Shape::Case,
                        node,
                        items,
                        node.start_byte(),
                        Some(place),
                        function,
                        text,
                    );
                    return;
                }
            }
            "preproc_if" | "preproc_ifdef" | "preproc_else" | "preproc_elif"
            | "preproc_elifdef" => {
                if let Some((place, function)) = within {
                    let own: Vec<_> = ["name", "condition", "alternative"]
                        .iter()
                        .filter_map(|field| node.child_by_field_name(field))
                        .collect();
                    let items = statements(node)
                        .into_iter()
                        .filter(|item| own.iter().all(|own| own.id() != item.id()));
                    self.open(
                        Shape::Conditional,
                        node,
                        items.collect(),
                        node.start_byte(),
                        Some(place),
                        function,
                        text,
                    );
                    if let Some(alternative) = node.child_by_field_name("alternative") {
                        self.visit(alternative, text, within);
                    }
                    return;
                }
            }
            _ => {}
        }
        let bare: Vec<_> = bodies(node).into_iter().filter(|body| is_bare(node, *body)).collect();
        for child in node.children(&mut node.walk()) {
            match within {
                Some((place, function)) if bare.iter().any(|body| body.id() == child.id()) => {
                    let header_end =
                        before(child).map_or(node.start_byte(), |token| token.end_byte());
                    let shape = Shape::Body { header_end, follower: follower(child) };
                    self.open(
                        shape,
                        child,
                        vec![child],
                        node.start_byte(),
                        Some(place),
                        function,
                        text,
                    );
                }
                _ => self.visit(child, text, within),
            }
        }
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "one row of the outline, filled in at four places"
    )]
    fn open(
        &mut self,
        shape: Shape,
        node: Node,
        items: Vec<Node>,
        keyword: usize,
        parent: Option<Place>,
        function: usize,
        text: &str,
    ) -> BlockId {
        let id = BlockId(self.blocks.len());
        let divisible = items.iter().all(|item| item.kind() != "case_statement");
        let own = items.iter().map(|item| outline_item(*item, text)).collect();
        self.blocks.push(Block {
            shape,
            bytes: node.byte_range(),
            items: own,
            parent,
            function,
            keyword,
            divisible,
        });
        for (index, item) in items.into_iter().enumerate() {
            self.visit(item, text, Some((Place { block: id, index }, function)));
        }
        id
    }
}

fn outline_item(node: Node, text: &str) -> Item {
    let mut inner = node;
    while matches!(inner.kind(), "labeled_statement" | "attributed_statement") {
        let last = inner
            .named_children(&mut inner.walk())
            .filter(|child| child.kind() != "comment")
            .last();
        match last.filter(|last| last.kind() != "statement_identifier") {
            Some(last) => inner = last,
            None => break,
        }
    }
    // Directives end with their newline in this grammar; a statement never does.
    let end = node.start_byte() + text[node.byte_range()].trim_end().len();
    Item {
        bytes: node.start_byte()..end,
        kind: node.kind(),
        inner: inner.start_byte(),
        inner_kind: inner.kind(),
    }
}

fn statements(node: Node) -> Vec<Node> {
    node.named_children(&mut node.walk()).filter(|child| child.kind() != "comment").collect()
}

/// The statements a statement governs: `if`, `else` and loops.
fn bodies(node: Node) -> Vec<Node> {
    match node.kind() {
        "if_statement" => node.child_by_field_name("consequence").into_iter().collect(),
        "for_statement" | "for_range_loop" | "while_statement" | "do_statement"
        | "switch_statement" => node.child_by_field_name("body").into_iter().collect(),
        "else_clause" | "try_statement" | "catch_clause" => {
            statements(node).into_iter().last().into_iter().collect()
        }
        _ => Vec::new(),
    }
}

fn is_bare(owner: Node, body: Node) -> bool {
    match owner.kind() {
        "else_clause" => !matches!(body.kind(), "compound_statement" | "if_statement"),
        "switch_statement" | "try_statement" | "catch_clause" => false,
        _ => body.kind() != "compound_statement",
    }
}

/// The token before a body, comments aside.
fn before(body: Node) -> Option<Node> {
    std::iter::successors(body.prev_sibling(), |node| node.prev_sibling())
        .find(|node| node.kind() != "comment")
}

/// The `else` or `while` of the same statement that comes after a body.
fn follower(body: Node) -> Option<usize> {
    let next = std::iter::successors(body.next_sibling(), |node| node.next_sibling())
        .find(|node| node.kind() != "comment")?;
    matches!(next.kind(), "else_clause" | "while").then(|| next.start_byte())
}

fn function(node: Node, body: Node, text: &str) -> Function {
    let mut function = Function {
        name: String::new(),
        return_type: String::new(),
        bytes: node.byte_range(),
        body: body.byte_range(),
    };
    if node.kind() == "lambda_expression" {
        return function;
    }
    let mut pointers = String::new();
    let mut writable = true;
    let mut declarator = node.child_by_field_name("declarator");
    while let Some(node) = declarator {
        match node.kind() {
            "pointer_declarator" => pointers.insert(0, '*'),
            "reference_declarator" => pointers.push_str(&text[node.start_byte()..][..1]),
            "parenthesized_declarator" => writable = false,
            "function_declarator" => {
                if let Some(name) = node.child_by_field_name("declarator") {
                    if matches!(name.kind(), "parenthesized_declarator") {
                        writable = false;
                    } else {
                        function.name = text[name.byte_range()].to_owned();
                        break;
                    }
                }
            }
            _ => break,
        }
        let inner = node.child_by_field_name("declarator");
        declarator = inner.or_else(|| node.named_children(&mut node.walk()).last());
    }
    let type_node = node.child_by_field_name("type");
    let start = node
        .child_by_field_name("declarator")
        .map_or(body.start_byte(), |declarator| declarator.start_byte());
    let mut words = Vec::new();
    for child in node.children(&mut node.walk()).filter(|child| child.start_byte() < start) {
        let word = &text[child.byte_range()];
        let qualifies = child.kind() == "type_qualifier" && matches!(word, "const" | "volatile");
        if qualifies || type_node.is_some_and(|type_node| type_node.id() == child.id()) {
            words.push(word);
        }
    }
    if writable && type_node.is_some() {
        function.return_type = words.join(" ");
        if !pointers.is_empty() {
            function.return_type = format!("{} {pointers}", function.return_type);
        }
    }
    function
}
