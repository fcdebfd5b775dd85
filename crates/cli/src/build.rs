//! `unravel build`.

use crate::config::Config;
use crate::error::CliError;
use crate::exit::Exit;
use crate::flags::BuildFlags;
use crate::program;

pub fn build(flags: &BuildFlags) -> Result<Exit, CliError> {
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
