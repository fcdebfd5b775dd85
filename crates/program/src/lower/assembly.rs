//! Inline assembly. The harmless kinds are understood: nothing at all (a compiler barrier), memory fences, and
//! hints to a spinning processor. Anything else is compiled (see [`super::machine_code`]).

use unravel_code::Inst;

use super::function::FunctionLowering;
use crate::ir::Value;

/// What a piece of assembly does.
#[derive(Debug, PartialEq, Eq)]
enum Meaning {
    Nothing,
    Fence,
    SpinHint,
    Unknown,
}

impl<'l, 'm> FunctionLowering<'l, 'm> {
    pub(super) fn assembly(&mut self, inst: Value<'m>) {
        let (text, constraints) = inst.callee().inline_asm();
        match meaning(&text) {
            Meaning::Nothing => {}
            Meaning::Fence => self.emit_fence(),
            Meaning::SpinHint => self.spin_hint(),
            Meaning::Unknown => return self.call_assembly(inst),
        }
        self.tied_outputs(inst, &constraints);
    }

    /// An output that shares its register with an input (`"+r"(x)`) keeps the input's value; another is
    /// undefined, that is, zero.
    fn tied_outputs(&mut self, inst: Value<'m>, constraints: &str) {
        let slots = self.slots(inst.ty());
        if slots == 0 {
            return;
        }
        let arguments = inst.arguments();
        let sources = tied_arguments(constraints);
        let dst = self.result(inst);
        let zero = self.zero(slots);
        if let [source] = sources.as_slice() {
            let source = source.and_then(|argument| arguments.get(argument));
            let src = source.map_or(zero, |value| self.register(*value));
            return self.copy(dst, src, slots);
        }
        self.copy(dst, zero, slots);
        for (field, source) in sources.iter().enumerate() {
            let Some(value) = source.and_then(|argument| arguments.get(argument)) else { continue };
            let ty = inst.ty();
            if ty.field(field as u32).is_none() {
                continue;
            }
            let offset = self.lowering.layout.offset(ty, field as u32) as u32;
            let bytes = self.lowering.layout.store_size(value.ty()) as u32;
            let src = self.register(*value);
            self.emit(Inst::Insert { dst, src, offset, bytes });
        }
    }
}

/// For each output that is a result, the argument tied to it.
fn tied_arguments(constraints: &str) -> Vec<Option<usize>> {
    // Constraints come in this order: outputs (`=r`; `=*m` takes an address argument and is no result),
    // inputs (`r`, or the number of the output it is tied to), clobbers (`~{memory}`).
    let mut outputs = Vec::new();
    let mut results: Vec<Option<usize>> = Vec::new();
    let mut argument = 0;
    for constraint in constraints.split(',').filter(|c| !c.starts_with(['~', '!'])) {
        if let Some(output) = constraint.strip_prefix('=') {
            if output.contains('*') {
                outputs.push(None);
                argument += 1;
            } else {
                outputs.push(Some(results.len()));
                results.push(None);
            }
            continue;
        }
        if let Ok(tied) = constraint.parse::<usize>()
            && let Some(Some(result)) = outputs.get(tied)
        {
            results[*result] = Some(argument);
        }
        argument += 1;
    }
    results
}

fn meaning(text: &str) -> Meaning {
    let text = without_comments(text).to_lowercase();
    let mut result = Meaning::Nothing;
    let mut prefix = "";
    for piece in text.split(['\n', ';']) {
        let piece = piece.split_whitespace().collect::<Vec<_>>().join(" ");
        let (lock, rest) = match piece.strip_prefix("lock") {
            Some(rest) => (true, rest.trim_start()),
            None => (prefix == "lock", piece.as_str()),
        };
        let operation = rest.split(' ').next().unwrap_or("");
        let found = match operation {
            "" if lock => {
                prefix = "lock";
                continue;
            }
            "" => continue,
            "mfence" | "lfence" | "sfence" => Meaning::Fence,
            // Adding nothing to the top of the stack: the classic full fence.
            "addl" | "addq" | "orl" | "orq" | "addb" | "orb"
                if lock && rest.contains("$$0,") && rest.contains("sp)") =>
            {
                Meaning::Fence
            }
            "pause" => Meaning::SpinHint,
            "rep" if rest == "rep nop" => Meaning::SpinHint,
            "rep" if rest == "rep" => {
                prefix = "rep";
                continue;
            }
            "nop" if prefix == "rep" => Meaning::SpinHint,
            "nop" => continue,
            _ if operation.starts_with("prefetch") => continue,
            _ => return Meaning::Unknown,
        };
        prefix = "";
        // A fence among other things is what matters to the order of events.
        if result != Meaning::Fence {
            result = found;
        }
    }
    if prefix.is_empty() { result } else { Meaning::Unknown }
}

/// Drops `# …`, `// …` and `/* … */`.
pub(super) fn without_comments(text: &str) -> String {
    let mut kept = String::new();
    let mut rest = text;
    while let Some(start) = rest.find(['#', '/']) {
        kept.push_str(&rest[..start]);
        rest = &rest[start..];
        let (end, after) = if rest.starts_with("/*") {
            ("*/", 2)
        } else if rest.starts_with('#') || rest.starts_with("//") {
            ("\n", 0)
        } else {
            kept.push('/');
            rest = &rest[1..];
            continue;
        };
        rest = rest.find(end).map_or("", |at| &rest[at + after..]);
    }
    kept + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recognises_barriers_and_hints() {
        assert_eq!(meaning(""), Meaning::Nothing);
        assert_eq!(meaning(" # just a note\n\t/* and another */ "), Meaning::Nothing);
        assert_eq!(meaning("mfence"), Meaning::Fence);
        assert_eq!(meaning("lock; addl $$0,0(%rsp)"), Meaning::Fence);
        assert_eq!(meaning("lock orl $$0, (%rsp)"), Meaning::Fence);
        assert_eq!(meaning("rep; nop"), Meaning::SpinHint);
        assert_eq!(meaning("rep nop\n"), Meaning::SpinHint);
        assert_eq!(meaning("pause"), Meaning::SpinHint);
        assert_eq!(meaning("prefetcht0 ($0)"), Meaning::Nothing);
    }

    #[test]
    fn does_not_guess() {
        assert_eq!(meaning("lock cmpxchgl $2, $1"), Meaning::Unknown);
        assert_eq!(meaning("lock; xaddl $0, $1"), Meaning::Unknown);
        assert_eq!(meaning("xchgl $0, $1"), Meaning::Unknown);
        assert_eq!(meaning("lock"), Meaning::Unknown);
        assert_eq!(meaning("lock addl $$1, 0(%rsp)"), Meaning::Unknown);
        assert_eq!(meaning("mfence; cpuid"), Meaning::Unknown);
    }

    #[test]
    fn ties_outputs_to_arguments() {
        assert_eq!(tied_arguments("=r,0,~{memory}"), [Some(0)]);
        assert_eq!(tied_arguments("=r,=*m,=r,r,2,0"), [Some(3), Some(2)]);
        assert_eq!(tied_arguments("=&r,r"), [None]);
    }
}
