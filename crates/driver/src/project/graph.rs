//! What is made of what: objects of sources, archives of objects, programs of all of them.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

use super::commands::Command;
use crate::command_line::{CommandLine, Goal, Kind};
use crate::shims::is_compiler;

/// A source and how it is compiled.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Source {
    pub file: PathBuf,
    pub directory: PathBuf,
    pub words: Vec<String>,
    pub language: Option<String>,
    pub as_cxx: bool,
    kind: Kind,
}

impl Source {
    pub fn path(&self) -> PathBuf {
        plain(&self.directory.join(&self.file))
    }

    pub fn is_cxx(&self) -> bool {
        self.as_cxx || self.kind == Kind::Cxx
    }
}

/// A command that links.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Link {
    pub directory: PathBuf,
    pub as_cxx: bool,
    output: PathBuf,
    is_program: bool,
    inputs: Vec<Entry>,
    libraries: Vec<String>,
}

/// One input of a link.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Entry {
    Source(Source),
    File(PathBuf),
}

/// What became of an input.
pub(super) enum Part<'g> {
    Object(&'g Source),
    /// An object of link-time optimisation.
    Bitcode(PathBuf),
    Archive(Vec<&'g Source>),
}

#[derive(Default)]
pub(super) struct Linked<'g> {
    pub parts: Vec<Part<'g>>,
    /// Files that no command of the project makes.
    pub native: Vec<PathBuf>,
    /// `-l` and `-L`.
    pub libraries: Vec<String>,
}

impl<'g> Linked<'g> {
    /// Each once.
    pub fn sources(&self) -> Vec<&'g Source> {
        let mut sources: Vec<&Source> = Vec::new();
        for part in &self.parts {
            let own: &[&Source] = match part {
                Part::Object(source) => std::slice::from_ref(source),
                Part::Archive(members) => members,
                Part::Bitcode(_) => &[],
            };
            for source in own {
                if !sources.contains(source) {
                    sources.push(source);
                }
            }
        }
        sources
    }
}

#[derive(Default)]
pub(super) struct Graph {
    objects: HashMap<PathBuf, Source>,
    archives: HashMap<PathBuf, Vec<PathBuf>>,
    links: Vec<Link>,
}

impl Graph {
    pub fn of(commands: &[Command]) -> Graph {
        let mut graph = Graph::default();
        for command in commands {
            graph.take(command);
        }
        graph
    }

    fn take(&mut self, command: &Command) {
        let words = without_libtool(&command.words);
        // `ccache gcc`, `nice gcc`: the compiler is the first word that is one.
        let named = words.iter().take(3).position(|word| is_compiler(&name_of(word)));
        if let Some(at) = named {
            self.compiler(&command.directory, &words[at..]);
        } else if words.first().is_some_and(|word| is_archiver(&name_of(word))) {
            self.archiver(&command.directory, words);
        }
    }

    fn compiler(&mut self, directory: &Path, words: &[String]) {
        let arguments = words[1..].iter().map(OsString::from);
        let Ok(line) = CommandLine::parse_any(arguments) else { return };
        let as_cxx = name_of(&words[0]).contains("++");
        let flags = line.compile_flags();
        let flags: Vec<String> = flags.iter().map(|f| f.to_string_lossy().into_owned()).collect();
        let source = |input: &crate::command_line::Input| Source {
            file: input.path.clone(),
            directory: directory.to_path_buf(),
            words: flags.clone(),
            language: input.language.clone(),
            as_cxx,
            kind: input.kind,
        };
        let absolute = |path: &Path| plain(&directory.join(path));
        match line.goal {
            Goal::Objects => {
                for input in line.inputs.iter().filter(|i| i.kind != Kind::Linked) {
                    let object = absolute(&line.object_of(input));
                    self.objects.insert(object, source(input));
                }
            }
            Goal::Program | Goal::Library | Goal::Relocatable => {
                let output = absolute(line.output.as_deref().unwrap_or(Path::new("a.out")));
                let inputs: Vec<Entry> = line
                    .inputs
                    .iter()
                    .map(|input| match input.kind {
                        Kind::Linked => Entry::File(absolute(&input.path)),
                        _ => Entry::Source(source(input)),
                    })
                    .collect();
                let libraries: Vec<String> = line.libraries();
                // libtool calls a static library what it links by a command of its own.
                let is_library = output.extension().is_some_and(|e| e == "la" || e == "so");
                let is_program = line.goal == Goal::Program && !is_library;
                self.links.push(Link {
                    directory: directory.to_path_buf(),
                    as_cxx,
                    output,
                    is_program,
                    inputs,
                    libraries,
                });
            }
            Goal::Other => {}
        }
    }

    /// `ar qc lib.a a.o b.o`, also over several commands.
    fn archiver(&mut self, directory: &Path, words: &[String]) {
        let files = words[1..].iter().map(|word| plain(&directory.join(word)));
        let mut files = files.skip_while(|file| file.extension().is_none_or(|e| e != "a"));
        let Some(archive) = files.next() else { return };
        self.archives.entry(archive).or_default().extend(files);
    }

    pub fn programs(&self) -> Vec<String> {
        let programs = self.links.iter().filter(|link| link.is_program);
        programs.map(|link| link.output.display().to_string()).collect()
    }

    /// The command that links a program of that name or path.
    pub fn program(&self, target: &str) -> Option<&Link> {
        self.links.iter().find(|link| link.is_program && link.output.ends_with(target))
    }

    pub fn linked<'g>(&'g self, link: &'g Link) -> Linked<'g> {
        let mut linked = Linked { libraries: link.libraries.clone(), ..Linked::default() };
        for entry in &link.inputs {
            self.entry(entry, &mut linked);
        }
        // Libraries of the project are linked by name, too.
        let folders: Vec<PathBuf> = folders(link);
        linked.libraries.retain(|word| {
            let Some(name) = word.strip_prefix("-l") else { return true };
            let own = folders.iter().flat_map(|folder| {
                ["a", "so", "la"].map(|ending| plain(&folder.join(format!("lib{name}.{ending}"))))
            });
            let Some(file) = own.into_iter().find(|file| self.makes(file)) else { return true };
            self.file(&file, &mut linked.parts, &mut linked.native);
            false
        });
        linked
    }

    fn makes(&self, file: &Path) -> bool {
        self.archives.contains_key(file) || self.links.iter().any(|link| link.output == file)
    }

    fn entry<'g>(&'g self, entry: &'g Entry, linked: &mut Linked<'g>) {
        match entry {
            Entry::Source(source) => linked.parts.push(Part::Object(source)),
            Entry::File(file) => self.file(file, &mut linked.parts, &mut linked.native),
        }
    }

    fn file<'g>(&'g self, file: &Path, parts: &mut Vec<Part<'g>>, native: &mut Vec<PathBuf>) {
        if let Some(source) = self.objects.get(file) {
            match source.kind {
                Kind::Assembler => native.push(source.path()),
                _ => parts.push(Part::Object(source)),
            }
        } else if let Some(members) = self.archives.get(file) {
            let mut sources = Vec::new();
            for member in members {
                match self.objects.get(member) {
                    Some(source) if source.kind != Kind::Assembler => sources.push(source),
                    Some(source) => native.push(source.path()),
                    None => native.push(member.clone()),
                }
            }
            parts.push(Part::Archive(sources));
        } else if let Some(link) = self.links.iter().find(|link| link.output == file) {
            // A library of the project's own: all of it.
            for entry in &link.inputs {
                match entry {
                    Entry::Source(source) => parts.push(Part::Object(source)),
                    Entry::File(file) => self.file(file, parts, native),
                }
            }
        } else if is_bitcode(file) {
            parts.push(Part::Bitcode(file.to_path_buf()));
        } else {
            native.push(file.to_path_buf());
        }
    }
}

fn folders(link: &Link) -> Vec<PathBuf> {
    let mut folders = vec![link.directory.clone()];
    let mut words = link.libraries.iter();
    while let Some(word) = words.next() {
        match word.strip_prefix("-L") {
            Some("") => folders.extend(words.next().map(|folder| link.directory.join(folder))),
            Some(folder) => folders.push(link.directory.join(folder)),
            None => {}
        }
    }
    folders
}

fn is_bitcode(file: &Path) -> bool {
    std::fs::read(file).is_ok_and(|content| content.starts_with(b"BC\xc0\xde"))
}

fn name_of(word: &str) -> String {
    Path::new(word).file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn is_archiver(name: &str) -> bool {
    name == "ar" || name.ends_with("-ar") || name.starts_with("llvm-ar")
}

/// What libtool would run: the words behind its mode.
fn without_libtool(words: &[String]) -> &[String] {
    let is_libtool = words.iter().take(3).any(|word| name_of(word).ends_with("libtool"));
    let mode = words.iter().position(|w| w == "--mode=compile" || w == "--mode=link");
    match mode {
        Some(at) if is_libtool => &words[at + 1..],
        _ => words,
    }
}

/// The path without `.` and `..`, as text: files need not be there.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            other => plain.push(other),
        }
    }
    plain
}
