//! Assembly that uses the segment registers, by which a thread finds its own block. Understood is one form: a move of the
//! block's first word, which is its own address, into the output (`mov %fs:0, %0`, as allocators ask who they are). All else
//! that names `fs` or `gs` is not compiled, because the block would be that of the machine's native thread.

use super::assembly::without_comments;

/// Where the offset into the block is.
#[derive(Debug, PartialEq, Eq, Clone, Copy)]
pub(super) enum Offset {
    /// Written in the text, and zero.
    Zero,
    /// An operand of the assembly, counted from the outputs on.
    Operand(usize),
}

/// Whether a piece of assembly names a segment register that means a thread.
pub(super) fn names_segment(text: &str) -> bool {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.' || c == '$';
    let text = without_comments(text).to_lowercase();
    text.split(|c| !is_name(c)).any(|word| {
        matches!(word, "fs" | "gs") || matches!(word, "rdfsbase" | "rdgsbase" | "swapgs")
    })
}

/// What a piece of assembly that only reads a word of the block into its output begins from.
pub(super) fn reads_block(text: &str) -> Option<Offset> {
    let text = without_comments(text).to_lowercase();
    let mut pieces = text.split(['\n', ';']).map(str::trim).filter(|piece| !piece.is_empty());
    let (Some(piece), None) = (pieces.next(), pieces.next()) else { return None };
    let (operation, operands) = piece.split_once(char::is_whitespace)?;
    if !matches!(operation, "mov" | "movq" | "movabs" | "movabsq") {
        return None;
    }
    let (one, other) = operands.split_once(',')?;
    let is_output = |text: &str| matches!(text, "$0" | "${0:q}");
    let (one, other) = (one.trim(), other.trim());
    let source = match (is_output(one), is_output(other)) {
        (true, false) => other,
        (false, true) => one,
        _ => return None,
    };
    let source = source.trim_start_matches("qword ptr").trim_start().trim_start_matches('%');
    let offset = source.strip_prefix("fs:")?.trim();
    let offset =
        offset.strip_prefix('[').and_then(|o| o.strip_suffix(']')).unwrap_or(offset).trim();
    if matches!(offset, "0" | "0x0" | "$$0" | "$$0x0") {
        return Some(Offset::Zero);
    }
    let number = offset.strip_prefix('$')?;
    let braced = number.strip_prefix('{').and_then(|n| n.strip_suffix('}'));
    let number = braced.map_or(number, |n| n.split(':').next().unwrap_or(n));
    number.parse().ok().map(Offset::Operand)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_of_the_first_word_are_understood() {
        assert_eq!(reads_block("mov %fs:0, $0"), Some(Offset::Zero));
        assert_eq!(reads_block("movq %fs:0x0,$0\n"), Some(Offset::Zero));
        assert_eq!(reads_block("movq %fs:$1, $0"), Some(Offset::Operand(1)));
        assert_eq!(reads_block("movq %fs:${1:c}, $0"), Some(Offset::Operand(1)));
        assert_eq!(reads_block("mov $0, qword ptr fs:[0]"), Some(Offset::Zero));
    }

    #[test]
    fn nothing_else_is() {
        for text in
            ["mov %gs:0, $0", "movq $0, %fs:0x10; nop", "addq %fs:0, $0", "mov %fs:0x28, $0"]
        {
            assert_eq!(reads_block(text), None, "{text}");
            assert!(names_segment(text), "{text}");
        }
        assert!(names_segment("rdfsbase $0"));
        assert!(!names_segment("lock; xaddl $0, $1 # not fs"));
    }
}
