//! A whole module to a native program with the runtime in it, and lines of its addresses. `unravel coop build` needs both.

use std::path::Path;
use std::process::{Command, Stdio};

use unravel_instrument::{KEEP_APART, SiteLines, settle_lines};
use unravel_program::build::Builder;

use crate::wrap::{ALIGNED, DriverError, EXPORTED, io, run};

/// The runtime without what records sync operations: such a program logs access vectors alone.
static RUNTIME: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/runtime-vectors.o"));

/// Optimises a module as `-O2` does, gives what may fault its line (`settle_lines`), compiles it, and links it with the runtime and the
/// libraries (as `Built::libs` has them). The exit code is the compiler's.
pub fn build_native(
    bitcode: &[u8],
    libs: &[String],
    lines: &SiteLines<'_>,
    output: &Path,
) -> Result<i32, DriverError> {
    let scratch =
        tempfile::Builder::new().prefix("unravel-coop-").tempdir().map_err(io("scratch folder"))?;
    let file = |name: &str| scratch.path().join(name);
    let (module, object, runtime) = (file("program.bc"), file("program.o"), file("runtime.o"));
    let (optimised, settled) = (file("optimised.bc"), file("settled.bc"));
    std::fs::write(&module, bitcode).map_err(io("the module"))?;
    std::fs::write(&runtime, RUNTIME).map_err(io("the runtime"))?;
    let clang = Builder::from_env().tools()?.clang;
    let compile = |from: &Path, more: &[&str], to: &Path| {
        let mut compile = Command::new(&clang);
        compile.args(["-O2", "-g", "-w", "-fPIC", "-Qunused-arguments", "-c", "-x", "ir"]);
        compile.args(KEEP_APART.iter().flat_map(|option| ["-mllvm", option])).args(more);
        run(compile.arg(from).arg("-o").arg(to))
    };
    let code = compile(&module, &["-emit-llvm"], &optimised)?;
    if code != 0 {
        return Ok(code);
    }
    let bytes = std::fs::read(&optimised).map_err(io("the optimised module"))?;
    let bytes = settle_lines(&bytes, lines).map_err(|error| DriverError::Module {
        source_file: output.display().to_string(),
        error,
    })?;
    std::fs::write(&settled, bytes).map_err(io("the module with its lines"))?;
    let code = compile(&settled, &["-Xclang", "-disable-llvm-passes", ALIGNED], &object)?;
    if code != 0 {
        return Ok(code);
    }
    let mut link = Command::new(&clang);
    link.args(["--driver-mode=g++", "-pthread", "-Wl,--as-needed"]).arg(&object).arg(&runtime);
    link.args(EXPORTED.iter().map(|name| format!("-Wl,--export-dynamic-symbol={name}")));
    link.args(libs.iter().map(|lib| match lib.starts_with('/') {
        true => lib.clone(),
        false => format!("-l{lib}"),
    }));
    run(link.arg("-lm").arg("-o").arg(output))
}

/// By address in a program's file: its lines, innermost first, where calls were inlined several. Line 0 is code of the file that the compiler
/// gave no line; empty is what has no debug information.
pub fn lines_of(program: &Path, addresses: &[u64]) -> Result<Vec<Vec<(String, u32)>>, DriverError> {
    if addresses.is_empty() {
        return Ok(Vec::new());
    }
    let clang = Builder::from_env().tools()?.clang;
    let beside = clang.canonicalize().ok().and_then(|c| Some(c.parent()?.join("llvm-addr2line")));
    let tool = beside.filter(|tool| tool.is_file()).unwrap_or_else(|| "addr2line".into());
    let mut command = Command::new(tool);
    command.args(["-a", "-i", "-e"]).arg(program);
    command.args(addresses.iter().map(|address| format!("{address:#x}")));
    command.stdin(Stdio::null());
    let output = command.output().map_err(io("addr2line cannot be started"))?;
    let mut all: Vec<Vec<(String, u32)>> = Vec::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        if line.starts_with("0x") {
            all.push(Vec::new());
            continue;
        }
        // `file:line`, with a remark behind it in places.
        let known = line.rsplit_once(':').and_then(|(file, rest)| {
            let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
            Some((file.to_owned(), digits.parse::<u32>().ok()?))
        });
        let known = known.filter(|(file, _)| file != "??");
        if let (Some(last), Some(known)) = (all.last_mut(), known) {
            last.push(known);
        }
    }
    all.resize(addresses.len(), Vec::new());
    Ok(all)
}
