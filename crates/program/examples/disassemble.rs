//! Prints the lowered form of a bitcode file: `cargo run -p unravel-program --example disassemble FILE [FUNCTION]`.

use std::process::ExitCode;

use unravel_code::{FunctionId, Inst, disassemble};
use unravel_program::load;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(path) = arguments.next() else {
        eprintln!("usage: disassemble FILE [FUNCTION]");
        return ExitCode::from(2);
    };
    let only = arguments.next();
    let loaded = std::fs::read(&path).map_err(|e| e.to_string());
    let program = match loaded.and_then(|bytes| load(&bytes).map_err(|e| e.to_string())) {
        Ok(program) => program,
        Err(error) => {
            eprintln!("{path}: {error}");
            return ExitCode::from(2);
        }
    };
    for (index, function) in program.functions.iter().enumerate() {
        let wanted =
            only.as_ref().is_none_or(|n| *n == function.name || *n == function.display_name);
        if wanted && function.body.is_some() {
            print!("{}", disassemble(&program, FunctionId(index as u32)));
        }
    }
    let traps = program.functions.iter().filter_map(|f| f.body.as_ref()).flat_map(|b| &b.code);
    let traps = traps.filter(|inst| matches!(inst, Inst::Trap { .. })).count();
    println!("{} functions, {} sites, {traps} traps", program.functions.len(), program.sites.len());
    for reason in &program.traps {
        println!("  trap: {reason}");
    }
    ExitCode::SUCCESS
}
