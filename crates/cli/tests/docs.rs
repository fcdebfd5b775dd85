//! The documentation says what the binary can do: a page a command, every flag on it, and links that lead somewhere. The map of
//! the code says where each room and each algorithm is.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The root of the checkout.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// What `unravel ARGUMENTS --help` prints.
fn help(arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_unravel"));
    let output = command.args(arguments).arg("--help").stdin(Stdio::null()).output();
    let output = output.expect("unravel runs");
    assert!(output.status.success(), "unravel {arguments:?} --help: {:?}", output.status);
    String::from_utf8(output.stdout).expect("help is UTF-8")
}

/// The commands that a help lists, without `help` itself.
fn commands(help: &str) -> Vec<String> {
    help.lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| !line.trim().is_empty())
        // A description that is wrapped goes on further to the right.
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .map(str::to_owned)
        .collect()
}

/// The long flags in front of the descriptions: `--out` of `      --out <DIR>`, `--jobs` of `  -j, --jobs <N>`. Other
/// lines that begin with a flag are text that was wrapped there.
fn long_flags(help: &str) -> BTreeSet<String> {
    help.lines()
        .filter(|line| line.starts_with("  -") || line.starts_with("      -"))
        // A short help has the description in the same line, after two spaces.
        .filter_map(|line| line.trim_start().split("  ").next())
        .flat_map(|names| names.split([' ', ',']))
        .filter(|word| word.len() > 2 && word.starts_with("--"))
        // `--certify[=<DIR>]`: a value that may be left out.
        .filter_map(|word| word.split('[').next())
        .map(str::to_owned)
        .collect()
}

/// Whether a flag stands on a page as a whole: `--nondet` is not in `--nondet-seed`.
fn mentions(page: &str, flag: &str) -> bool {
    let goes_on = |c: char| c.is_ascii_alphanumeric() || c == '-';
    page.match_indices(flag).any(|(at, _)| {
        let before = page[..at].chars().next_back();
        let after = page[at + flag.len()..].chars().next();
        !before.is_some_and(goes_on) && !after.is_some_and(goes_on)
    })
}

#[test]
fn every_command_has_a_page_with_all_its_flags() {
    let mut missing = Vec::new();
    let names = commands(&help(&[]));
    assert!(names.iter().any(|name| name == "explain"), "no commands in the help: {names:?}");
    // What every command takes stands in one place.
    let mut general = long_flags(&help(&[]));
    general.retain(|flag| flag != "--help");
    let configuration = read(&root().join("docs/configuration.md"));
    let unsaid =
        general.iter().filter(|flag| *flag != "--version" && !mentions(&configuration, flag));
    missing.extend(unsaid.map(|flag| format!("docs/configuration.md does not mention {flag}")));
    for name in &names {
        let page = read(&root().join("docs/commands").join(format!("{name}.md")));
        let own = help(&[name]);
        let mut flags = long_flags(&own);
        for inner in commands(&own) {
            flags.extend(long_flags(&help(&[name, &inner])));
        }
        assert!(flags.contains("--help"), "no flags in the help of {name}");
        let unsaid = flags.difference(&general).filter(|flag| !mentions(&page, flag));
        missing
            .extend(unsaid.map(|flag| format!("docs/commands/{name}.md does not mention {flag}")));
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

#[test]
fn links_lead_to_files() {
    let mut pages: Vec<PathBuf> =
        ["README.md", "CONTRIBUTING.md", "ARCHITECTURE.md"].map(|name| root().join(name)).into();
    add_pages(&root().join("docs"), &mut pages);
    let mut seen = 0;
    let mut broken = Vec::new();
    for page in &pages {
        let directory = page.parent().expect("a page is in a directory");
        for link in links(&read(page)) {
            let file = link.split('#').next().unwrap_or_default();
            if link.contains("://") || file.is_empty() {
                continue;
            }
            seen += 1;
            if !directory.join(file).exists() {
                broken.push(format!("{}: {link}", page.display()));
            }
        }
    }
    assert!(seen > 20, "only {seen} links were found");
    assert!(broken.is_empty(), "links to nothing:\n{}", broken.join("\n"));
}

/// All Markdown files below a directory.
fn add_pages(directory: &Path, pages: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(directory).expect("a directory");
    for path in entries.map(|entry| entry.expect("an entry").path()) {
        if path.is_dir() {
            add_pages(&path, pages);
        } else if path.extension().is_some_and(|ending| ending == "md") {
            pages.push(path);
        }
    }
}

/// What `[text](target)` and `![text](target)` point to, outside of code.
fn links(page: &str) -> Vec<String> {
    let mut in_code = false;
    let mut targets = Vec::new();
    for line in page.lines() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        }
        if in_code {
            continue;
        }
        for (at, _) in line.match_indices("](") {
            // Inside a code span: there is an odd number of backquotes before it.
            if line[..at].matches('`').count() % 2 == 1 {
                continue;
            }
            if let Some((target, _)) = line[at + 2..].split_once(')') {
                targets.push(target.to_owned());
            }
        }
    }
    targets
}

#[test]
fn helps_and_pages_are_read_as_meant() {
    let help =
        "Usage: x\n\nCommands:\n  find   Search\n         for it\n  help   Print\n\nOptions:\n";
    assert_eq!(commands(help), ["find"]);
    let flags = "  -j, --jobs <N>\n          --seed\n      --out <DIR>  see --all\n--all, too\n";
    assert_eq!(long_flags(flags), ["--jobs", "--out"].map(str::to_owned).into());
    assert!(mentions("`--nondet`, `--seed N`", "--nondet"));
    assert!(!mentions("`--nondet-seed`", "--nondet"));
    let page = "[`a`](b.md#c) and `] (x](y)`\n```\n[no](code)\n```\n![p](d/e.png)\n";
    assert_eq!(links(page), ["b.md#c", "d/e.png"]);
}

/// The rows of the first table below a heading, as the text of their cells.
fn table(page: &str, heading: &str) -> Vec<Vec<String>> {
    page.lines()
        .skip_while(|line| *line != heading)
        .skip_while(|line| !line.starts_with('|'))
        .take_while(|line| line.starts_with('|'))
        // The names of the columns, and the line below them.
        .skip(2)
        .map(|line| line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect())
        .collect()
}

/// What stands in backquotes.
fn quoted(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

/// The lines that a file says of itself before anything else.
fn file_header(source: &str) -> String {
    source.lines().map_while(|line| line.strip_prefix("//!")).collect::<Vec<_>>().join("\n")
}

/// The names of rooms that a manifest has among its dependencies; those of tests may be any.
fn rooms_used(manifest: &str) -> Vec<&str> {
    manifest
        .lines()
        .skip_while(|line| *line != "[dependencies]")
        .skip(1)
        .take_while(|line| !line.starts_with('['))
        .filter_map(|line| line.strip_prefix("unravel-")?.split(['.', ' ']).next())
        .collect()
}

#[test]
fn every_algorithm_names_its_paper() {
    let rows = table(&read(&root().join("ARCHITECTURE.md")), "## Papers and algorithms");
    assert!(rows.len() >= 20, "only {} rows", rows.len());
    let mut wrong = Vec::new();
    for row in &rows {
        let [paper, _, cell] = row.as_slice() else { panic!("not three cells: {row:?}") };
        let files = quoted(cell);
        assert!(!paper.is_empty() && !files.is_empty(), "no paper or no file: {row:?}");
        for file in files {
            let path = root().join("crates").join(file);
            if !path.is_file() {
                wrong.push(format!("{file} does not exist ({paper})"));
            } else if !file_header(&read(&path)).to_lowercase().contains(&paper.to_lowercase()) {
                wrong.push(format!("the header of {file} does not name {paper}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn rooms_are_on_the_map_and_depend_on_those_above_them() {
    let rows = table(&read(&root().join("ARCHITECTURE.md")), "## Rooms");
    let rooms: Vec<&str> = rows
        .iter()
        .flat_map(|row| quoted(&row[0]))
        .map(|room| room.trim_start_matches("crates/"))
        .collect();
    let mut wrong = Vec::new();
    let mut seen = 0;
    for entry in std::fs::read_dir(root().join("crates")).expect("a directory") {
        let manifest = entry.expect("an entry").path().join("Cargo.toml");
        // What a build or a merge left behind is no crate.
        if !manifest.is_file() {
            continue;
        }
        seen += 1;
        let name = manifest.parent().and_then(Path::file_name).and_then(|name| name.to_str());
        let name = name.expect("a crate has a name");
        let Some(at) = rooms.iter().position(|room| *room == name) else {
            wrong.push(format!("crates/{name} has no row"));
            continue;
        };
        for used in rooms_used(&read(&manifest)) {
            if !rooms[..at].contains(&used) {
                wrong.push(format!("{name} depends on {used}, which is not above it"));
            }
        }
    }
    assert!(seen > 10, "only {seen} crates");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn maps_are_read_as_meant() {
    let page = "## A\n\n| x | y |\n|---|---|\n| no | no |\n\n## B\n\ntext\n\n| x | y |\n|---|---|\n| `a`, `b` | c |\n\n| d |\n";
    assert_eq!(table(page, "## B"), [["`a`, `b`", "c"]]);
    assert!(table(page, "## C").is_empty());
    assert_eq!(quoted("`a`, `b` c"), ["a", "b"]);
    assert_eq!(file_header("//! A\n//! b\n\n//! no\n"), " A\n b");
    let manifest = "[package]\nname = \"unravel-x\"\n\n[dependencies]\nlibc = \"1\"\nunravel-a.workspace = true\n\n[dev-dependencies]\nunravel-b.workspace = true\n";
    assert_eq!(rooms_used(manifest), ["a"]);
}

#[test]
fn shells_complete_every_command() {
    for shell in ["bash", "zsh", "fish"] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_unravel"));
        let output = command.args(["completions", shell]).output().expect("unravel runs");
        let script = String::from_utf8(output.stdout).expect("a script is UTF-8");
        for name in commands(&help(&[])) {
            assert!(script.contains(&name), "{shell}: {name}");
        }
    }
}
