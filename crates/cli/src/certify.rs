//! `unravel certify`: reads certificates back and checks them, without the solver that wrote them.

use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::json;
use unravel_certify::{Claim, text};
use unravel_diagnose::{DiagnoseError, model_of};
use unravel_execute::{Laboratory, Silence};
use unravel_files::TraceFile;
use unravel_solve::Model;

use crate::budgets::DIAGNOSE_TIME;
use crate::error::CliError;
use crate::exit::Exit;
use crate::flags::CertifyFlags;
use crate::interrupt::{self, INTERRUPTED};
use crate::recorded::{self, Opened};

/// What came of one certificate.
enum Verdict {
    Certified {
        claims: Vec<Claim>,
        lines: u64,
    },
    /// Accepted but for so many clauses of rules that are taken on trust.
    Partly {
        claims: Vec<Claim>,
        trusted: Vec<(&'static str, u64)>,
    },
    Refused {
        why: String,
    },
}

pub fn certify(flags: &CertifyFlags) -> Result<Exit, CliError> {
    // The program is run in the directory of its trace.
    let absolute = |path: &PathBuf| std::path::absolute(path).unwrap_or_else(|_| path.clone());
    let certificates: Vec<PathBuf> = flags.certificates.iter().map(absolute).collect();
    let file = TraceFile::read(&flags.trace)?;
    let model = model(flags, &file)?;
    let mut exit = Exit::Clean;
    let mut all = Vec::new();
    for (shown, path) in flags.certificates.iter().zip(&certificates) {
        let text = std::fs::read_to_string(path)
            .map_err(|source| CliError::Read { path: shown.clone(), source })?;
        let verdict = check(&model, &text);
        exit = match (&verdict, exit) {
            (Verdict::Refused { .. }, _) | (_, Exit::Finding) => Exit::Finding,
            (Verdict::Partly { .. }, _) => Exit::Inconclusive,
            (Verdict::Certified { .. }, exit) => exit,
        };
        match flags.json {
            true => all.push(document(shown, &verdict)),
            false => sayln!("{}: {}", shown.display(), words(&verdict)),
        }
    }
    if flags.json {
        sayln!("{}", json!({ "schema": "unravel.certificates/1", "certificates": all }));
    }
    Ok(exit)
}

/// The model that the certificates of a trace are about: that of its failing run, with as few context switches as a diagnosis has.
fn model(flags: &CertifyFlags, file: &TraceFile) -> Result<Model, CliError> {
    if !file.is_executable() {
        let symbolic = file.run.symbolic.as_ref().ok_or(DiagnoseError::NotSymbolic)?;
        return Model::new(&file.run.trace, symbolic)
            .map_err(|error| DiagnoseError::NoModel(error.to_string()).into());
    }
    let Opened { mut vm, visible, recorded, .. } = recorded::open(file, &flags.program)?;
    interrupt::listen();
    let _silence = Silence::begin().map_err(CliError::Stdin)?;
    let deadline = Instant::now() + DIAGNOSE_TIME;
    let mut lab = Laboratory::new(&mut vm, file.run.input(&file.input), visible)
        .until(Some(deadline), Some(&INTERRUPTED));
    Ok(model_of(&mut lab, &recorded)?)
}

fn check(model: &Model, certificate: &str) -> Verdict {
    match text::check(model, certificate) {
        Err(damaged) => Verdict::Refused { why: damaged.to_string() },
        Ok((claims, checker)) if checker.unchecked().is_empty() => {
            Verdict::Certified { claims, lines: checker.lines() }
        }
        Ok((claims, checker)) => {
            let trusted = checker.unchecked().iter().map(|(rule, count)| (rule.words(), *count));
            Verdict::Partly { claims, trusted: trusted.collect() }
        }
    }
}

fn claimed(claims: &[Claim]) -> String {
    if claims.is_empty() {
        return "it claims nothing".to_owned();
    }
    let words = claims.iter().map(|claim| match claim {
        Claim::None => "no order answers it".to_owned(),
        Claim::Core(members) => format!("{} orders cannot hold together", members.len()),
        Claim::Bound(bounds) => {
            let bounds: Vec<String> = bounds.iter().map(u64::to_string).collect();
            format!("none is nearer than {}", bounds.join(", "))
        }
    });
    words.collect::<Vec<String>>().join("; ")
}

fn words(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Certified { claims, lines } => {
            format!("certified ({lines} lines): {}", claimed(claims))
        }
        Verdict::Partly { claims, trusted } => {
            let trusted: Vec<String> =
                trusted.iter().map(|(rule, count)| format!("{count} clauses of {rule}")).collect();
            format!(
                "not certified: accepted but for {}, which are taken on trust: {}",
                trusted.join(", "),
                claimed(claims)
            )
        }
        Verdict::Refused { why } => format!("refused: {why}"),
    }
}

fn document(path: &Path, verdict: &Verdict) -> serde_json::Value {
    let (kind, claims, trusted, why) = match verdict {
        Verdict::Certified { claims, .. } => ("certified", Some(claims), &[][..], None),
        Verdict::Partly { claims, trusted } => ("accepted-but", Some(claims), &trusted[..], None),
        Verdict::Refused { why } => ("refused", None, &[][..], Some(why)),
    };
    let trusted: Vec<_> =
        trusted.iter().map(|(rule, count)| json!({ "rule": rule, "clauses": count })).collect();
    json!({
        "file": path.to_string_lossy(),
        "kind": kind,
        "claims": claims.map(|claims| claimed(claims)),
        "trusted": trusted,
        "refused": why,
    })
}
