//! A function as text, to debug lowering and the VM.

use std::fmt::Write as _;

use crate::code::{FunctionId, Inst};
use crate::{Body, Function, Program};

/// One line an instruction, with the names and places that a bare number hides.
pub fn disassemble(program: &Program, function: FunctionId) -> String {
    let Function { name, display_name, body, .. } = program.function(function);
    let mut text = format!("{name} ({display_name})\n");
    let Some(body) = body else {
        text.push_str("  no body\n");
        return text;
    };
    let last = (body.constants_at as usize + body.constants.len()).max(1) - 1;
    let _ = writeln!(
        text,
        "  {} slots, constants in {}..={last}, {} bytes of frame",
        body.slots, body.constants_at, body.frame_bytes
    );
    for (i, word) in body.constants.iter().enumerate() {
        let _ = writeln!(text, "  slot {} = {word:#x}", body.constants_at as usize + i);
    }
    for local in &body.locals {
        let _ = writeln!(text, "  frame {}..+{} = {}", local.offset, local.bytes, local.name);
    }
    for (index, inst) in body.code.iter().enumerate() {
        let _ = writeln!(text, "{index:5}: {inst:?}{}", notes(program, body, index, inst));
    }
    text
}

/// What the numbers in an instruction mean.
fn notes(program: &Program, body: &Body, index: usize, inst: &Inst) -> String {
    let mut notes = String::new();
    match inst {
        Inst::Call { function, call, .. } | Inst::CallExternal { function, call, .. } => {
            let args: Vec<_> = program.call(*call).args.iter().map(|arg| arg.reg).collect();
            let _ = write!(notes, "  ; {}{args:?}", program.function(*function).name);
        }
        Inst::CallIndirect { call, .. } => {
            let args: Vec<_> = program.call(*call).args.iter().map(|arg| arg.reg).collect();
            let _ = write!(notes, "  ; {args:?}");
        }
        Inst::Switch { table, .. } => {
            let switch = &program.switches[*table as usize];
            let mut cases: Vec<_> = switch.cases.iter().collect();
            cases.sort();
            let _ = write!(notes, "  ; {cases:?} else {}", switch.default);
        }
        Inst::LandingPad { pad, .. } => {
            let _ = write!(notes, "  ; {:?}", program.landing_pads[*pad as usize]);
        }
        Inst::Trap { reason } => {
            let _ = write!(notes, "  ; {}", program.traps[*reason as usize]);
        }
        _ => {}
    }
    let site = body.places[index];
    if let Some(path) = &program.accesses[site.index()].path {
        let _ = write!(notes, "  ; {path}");
    }
    if let Ok(at) = body.unwind.binary_search_by_key(&(index as u32), |(from, _)| *from) {
        let _ = write!(notes, "  ; unwinds to {}", body.unwind[at].1);
    }
    let _ = write!(notes, "  ; {}", program.sites[site.index()].place.short());
    notes
}
