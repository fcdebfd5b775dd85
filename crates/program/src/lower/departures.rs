//! Inline assembly after which the program would not go on behind it: it jumps to an address that was computed, or leaves the
//! stack pointer on another stack, as libraries of coroutines do. Executed, it would end this process.
//!
//! Recognised by its text, in both dialects. Errs towards refusing: code that puts the stack pointer back to where it was is
//! let through only if it has read it before.

use super::assembly::without_comments;

/// How assembly leaves; `None` if it ends where it began.
pub(super) fn departure(text: &str) -> Option<&'static str> {
    let text = without_comments(text);
    let is_att = text.contains('%') || text.contains('$');
    let lines = || text.split(['\n', ';']).map(|line| Line::new(line, is_att));
    let calls = lines().any(|line| line.mnemonic.starts_with("call"));
    let mut saved = false;
    for line in lines() {
        if line.jumps_away() {
            return Some("it jumps to an address that it has computed");
        }
        if line.returns() && !calls {
            return Some("it returns by itself");
        }
        if line.sets_stack() && !saved {
            return Some("it moves the stack pointer to another stack");
        }
        saved |= line.reads_stack();
    }
    None
}

/// One instruction.
struct Line<'t> {
    mnemonic: String,
    /// The target first.
    operands: Vec<&'t str>,
    is_att: bool,
}

impl<'t> Line<'t> {
    fn new(line: &'t str, is_att: bool) -> Line<'t> {
        let mut rest = line.trim();
        // Labels come first.
        while let Some((label, after)) = rest.split_once(':')
            && label.chars().all(|c| c.is_alphanumeric() || "._$%{}".contains(c))
        {
            rest = after.trim();
        }
        let (mnemonic, operands) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        let mut operands = apart(operands);
        if is_att {
            operands.reverse();
        }
        Line { mnemonic: mnemonic.to_ascii_lowercase(), operands, is_att }
    }

    fn target(&self) -> &str {
        self.operands.first().copied().unwrap_or_default()
    }

    fn is_one_of(&self, mnemonics: &[&str]) -> bool {
        // With or without the suffix for the operand's size.
        mnemonics.iter().any(|known| {
            self.mnemonic.strip_prefix(known).is_some_and(|rest| matches!(rest, "" | "q" | "l"))
        })
    }

    fn jumps_away(&self) -> bool {
        self.is_one_of(&["jmp", "call"])
            && match self.is_att {
                true => self.target().starts_with('*'),
                false => self.target().contains('[') || is_register(self.target()),
            }
    }

    fn returns(&self) -> bool {
        self.is_one_of(&["ret", "iret", "lret"])
    }

    fn sets_stack(&self) -> bool {
        self.is_one_of(&["mov", "lea", "xchg", "pop"]) && is_stack_pointer(self.target())
    }

    fn reads_stack(&self) -> bool {
        let sources = match self.is_one_of(&["push", "xchg"]) {
            true => &self.operands[..],
            false => self.operands.get(1..).unwrap_or_default(),
        };
        sources.iter().any(|operand| is_stack_pointer(operand))
    }
}

/// Operands are separated by commas, but for those within an address.
fn apart(text: &str) -> Vec<&str> {
    let mut depth = 0;
    let parts = text.split(move |c| {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            _ => {}
        }
        c == ',' && depth == 0
    });
    parts.map(str::trim).filter(|part| !part.is_empty()).collect()
}

fn bare(operand: &str) -> String {
    operand.trim_start_matches('%').to_ascii_lowercase()
}

fn is_stack_pointer(operand: &str) -> bool {
    matches!(bare(operand).as_str(), "rsp" | "esp")
}

fn is_register(operand: &str) -> bool {
    let name = bare(operand);
    name.starts_with('r') && (2..=3).contains(&name.len())
}

#[cfg(test)]
mod tests {
    use super::departure;

    #[test]
    fn what_leaves_is_recognised() {
        let leaving = [
            "jmp *%rcx",
            "movq 8(%rdx), %rax; jmpq *%rax",
            "jmp *8(%rdx)",
            "call *$0",
            "ret",
            "pushq %rax\n\tretq",
            "leaq (%rax), %rsp",
            "movq 48(%rdx), %rsp",
            "mov rsp, [rdi]",
            "jmp rax",
            "popq %rsp",
        ];
        for text in leaving {
            assert!(departure(text).is_some(), "{text}");
        }
    }

    #[test]
    fn what_comes_back_is_let_through() {
        let staying = [
            "",
            "pause",
            "mov %rsp, $0",
            "sub $$128, %rsp; push %rax; pop %rax; add $$128, %rsp",
            "movq %rsp, %rbx\n\tandq $$-16, %rsp\n\tmovq %rbx, %rsp",
            "1: lock; cmpxchg $1, $0\n jne 1b",
            "jmp 1f\n1:",
            "call 1f\n jmp 2f\n1: ret\n2:",
            "mov rax, [rsp + 8]",
            "lea 8(%rsp), %rax",
        ];
        for text in staying {
            assert_eq!(departure(text), None, "{text}");
        }
    }
}
