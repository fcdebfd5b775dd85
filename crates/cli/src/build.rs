//! `unravel build`.

mod wrapped;

pub use wrapped::near;

use std::ffi::OsString;

use unravel_driver::Compiler;

use crate::config::Config;
use crate::error::CliError;
use crate::exit::Exit;
use crate::flags::BuildFlags;
use crate::program;

pub fn build(flags: &BuildFlags) -> Result<Exit, CliError> {
    if flags.sources.is_empty() {
        return wrapped::build(flags);
    }
    if flags.record {
        return build_to_record(flags);
    }
    let config = Config::find()?;
    let mut compile = config.build.flags.clone();
    compile.extend(flags.compile.to_flags());
    compile.extend(flags.flags.iter().cloned());
    let (built, reference) = program::open(&flags.sources, compile)?;
    let output = flags
        .output
        .clone()
        .unwrap_or_else(|| std::path::Path::new(&reference.name).with_extension("unravel"));
    built.write(&output)?;
    if flags.json {
        sayln!(
            "{}",
            serde_json::json!({
                "output": output,
                "sources": reference.sources,
                "libraries": built.libs,
                "fingerprint": format!("{:016x}", reference.fingerprint),
            })
        );
    } else {
        sayln!("built {}", output.display());
        sayln!("explain it with: unravel explain {}", output.display());
    }
    Ok(Exit::Clean)
}

/// A native program with recording code, optimised unless the flags say otherwise.
fn build_to_record(flags: &BuildFlags) -> Result<Exit, CliError> {
    let output = flags.output.clone().unwrap_or_else(|| flags.sources[0].with_extension(""));
    let mut arguments: Vec<OsString> = vec!["-O2".into(), "-pthread".into()];
    let config = Config::find()?;
    let own = config
        .build
        .flags
        .iter()
        .cloned()
        .chain(flags.compile.to_flags())
        .chain(flags.flags.iter().cloned());
    let (libraries, others): (Vec<String>, Vec<String>) = own.partition(|f| f.starts_with("-l"));
    arguments.extend(others.into_iter().map(OsString::from));
    arguments.extend(flags.sources.iter().map(|source| source.clone().into_os_string()));
    arguments.extend(libraries.into_iter().map(OsString::from));
    arguments.extend(["-o".into(), output.clone().into_os_string()]);
    let cxx =
        |source: &std::path::PathBuf| !source.extension().is_some_and(|e| e == "c" || e == "i");
    let compiler = if flags.sources.iter().any(cxx) { Compiler::Cxx } else { Compiler::C };
    if unravel_driver::wrap(compiler, arguments)? != 0 {
        return Ok(Exit::Error);
    }
    if flags.json {
        sayln!("{}", serde_json::json!({ "output": output, "sources": flags.sources }));
    } else {
        sayln!("built {}", output.display());
        sayln!("record it with: unravel record -- {}", output.display());
    }
    Ok(Exit::Clean)
}
