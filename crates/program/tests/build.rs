//! The compile driver as its users see it. A name that is in the bitcode's symbol table shows which
//! source was compiled, and with which macros.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, SystemTime};

use tempfile::TempDir;
use unravel_program::Locals;
use unravel_program::build::{
    BuildError, BuildSpec, Builder, Built, CompilationDatabase, INSTALL, Optimise, SealError,
    build, open,
};

/// A directory with sources, and one for the cache beside it.
struct Project {
    directory: TempDir,
}

impl Project {
    fn new(files: &[(&str, &str)]) -> Project {
        let directory = tempfile::tempdir().expect("temporary directory");
        fs::create_dir(directory.path().join("src")).expect("makes a directory");
        let project = Project { directory };
        files.iter().for_each(|(name, text)| project.write(name, text));
        project
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join("src").join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("is in the project")).expect("makes directories");
        fs::write(path, text).expect("writes");
    }

    /// Sources are relative to the project.
    fn spec(&self, sources: &[&str]) -> BuildSpec {
        let directory = Some(self.directory.path().join("src"));
        BuildSpec { directory, ..BuildSpec::new(sources) }
    }

    fn cache(&self) -> PathBuf {
        self.directory.path().join("cache")
    }

    fn builder(&self) -> Builder {
        Builder { cache: Some(self.cache()), ..Builder::from_env() }
    }

    fn build(&self, sources: &[&str], flags: &[&str]) -> Result<Built, BuildError> {
        let spec = self.spec(sources).with_flags(flags.iter().copied());
        self.builder().build(&spec)
    }
}

#[track_caller]
fn built(result: Result<Built, BuildError>) -> Built {
    result.unwrap_or_else(|error| panic!("does not build: {error}"))
}

#[track_caller]
fn message(result: Result<Built, BuildError>) -> String {
    result.map(|_| ()).expect_err("should not build").to_string()
}

fn has(built: &Built, name: &str) -> bool {
    built.bitcode.windows(name.len()).any(|window| window == name.as_bytes())
}

const HELLO: &str = "int main(void) { return 0; }\n";

#[test]
fn one_source_becomes_bitcode() {
    let project = Project::new(&[("a.c", HELLO)]);
    let built = built(project.build(&["a.c"], &["-lm", "-lfoo"]));
    assert_eq!(built.bitcode[..4], *b"BC\xc0\xde");
    assert_eq!(built.libs, ["m", "foo"]);
    assert!(has(&built, "main") && !built.cached);
    assert!(built.notes.is_empty() && built.warnings.is_empty(), "{built:?}");
}

#[test]
fn a_compile_error_is_passed_on_as_clang_wrote_it() {
    let project = Project::new(&[("a.c", HELLO), ("b.c", "int f(void) { return x; }\n")]);
    let error = project.build(&["a.c", "b.c"], &[]).expect_err("does not compile");
    let text = error.to_string();
    assert!(text.starts_with("clang cannot compile b.c:\n"), "{text}");
    assert!(text.contains("b.c:1:22: error: use of undeclared identifier 'x'\n"), "{text}");
    let BuildError::Compile { sources, stderr } = error else { panic!("{text}") };
    assert_eq!(sources, [Path::new("b.c")]);
    assert!(text.ends_with(&stderr) && stderr.ends_with("1 error generated.\n"), "{stderr}");
    // A failed build is not kept.
    assert!(!project.cache().exists());
}

#[test]
fn a_missing_file_is_named() {
    let project = Project::new(&[("a.c", HELLO)]);
    let error = project.build(&["a.c", "gone.c"], &[]).expect_err("is not there");
    assert!(matches!(&error, BuildError::NotFound { path } if path.ends_with("gone.c")));
    assert!(error.to_string().contains("there is no file"), "{error}");
    assert!(matches!(project.build(&[], &[]), Err(BuildError::NoSources)));
    assert!(matches!(open("/nonexistent/x.c"), Err(BuildError::NotFound { .. })));
}

#[test]
fn other_files_are_refused_with_a_hint() {
    let project = Project::new(&[("a.py", ""), ("a.h", ""), ("a.bc", "text"), ("dir/x", "")]);
    project.write("prog", "\x7fELF....");
    project.write("t.trace", "");
    fs::write(project.path("t.trace"), b"\x89UTRACE\n....").expect("writes");
    for (name, hint) in [
        ("a.py", "unknown file type"),
        ("a.h", "it is a header"),
        ("a.bc", "does not hold LLVM bitcode"),
        ("dir", "it is a directory"),
        ("prog", "native code; give its source files"),
        ("t.trace", "unravel replay"),
    ] {
        let text = message(project.builder().open(&project.spec(&[name])));
        assert!(text.contains(name) && text.contains(hint), "{name}: {text}");
    }
}

#[test]
fn a_missing_compiler_is_explained() {
    let project = Project::new(&[("a.c", HELLO)]);
    let wanted = |clang: &str| Builder { clang: Some(clang.into()), ..project.builder() };
    for clang in ["/nonexistent/clang", "no-such-clang"] {
        let text = message(wanted(clang).build(&project.spec(&["a.c"])));
        assert!(text.contains(&format!("UNRAVEL_CLANG={clang}")), "{text}");
        assert!(text.ends_with(INSTALL), "{text}");
    }
    // A bare name is looked up like any command.
    assert!(has(&built(wanted("clang-19").build(&project.spec(&["a.c"]))), "main"));
}

#[test]
fn several_sources_are_linked() {
    let project = Project::new(&[
        ("main.c", "int one(void); int two(void); int main(void) { return one() + two(); }\n"),
        ("one.c", "int one(void) { return 1; }\n"),
        (
            "two.cc",
            "#include <vector>\nextern \"C\" int two() { return std::vector<int>(2).size(); }\n",
        ),
    ]);
    // A standard for C++ does not disturb C.
    let linked = built(project.build(&["main.c", "one.c", "two.cc"], &["-std=c++20", "-std=c11"]));
    assert!(has(&linked, "main") && has(&linked, "one") && has(&linked, "two"));
    assert_eq!(linked.libs, ["stdc++"]);

    // Bitcode and LLVM's assembly can be linked in.
    fs::write(project.path("one.bc"), built(project.build(&["one.c"], &[])).bitcode)
        .expect("writes");
    project.write("two.ll", "define i32 @two() { ret i32 2 }\n");
    let linked = built(project.build(&["main.c", "one.bc", "two.ll"], &[]));
    assert!(has(&linked, "main") && has(&linked, "one") && has(&linked, "two"));

    project.write("again.c", "int one(void) { return 2; }\n");
    let error = project.build(&["main.c", "one.c", "again.c"], &[]).expect_err("defined twice");
    assert!(matches!(error, BuildError::Link { .. }));
    let text = error.to_string();
    assert!(text.contains("main.c, one.c, again.c") && text.contains("multiply defined"), "{text}");
}

#[test]
fn every_ending_of_c_and_cxx_is_known() {
    for ending in ["c", "i"] {
        let name = format!("a.{ending}");
        let project = Project::new(&[(&name, "int class(void) { return 1; }\n")]);
        assert!(has(&built(project.build(&[&name], &[])), "class"), "{name}");
    }
    for ending in ["cc", "cpp", "cxx", "C", "c++", "ii"] {
        let name = format!("a.{ending}");
        let project =
            Project::new(&[(&name, "class A {}; extern \"C\" A fun() { return A(); }\n")]);
        assert!(has(&built(project.build(&[&name], &[])), "fun"), "{name}");
    }
    let project =
        Project::new(&[("odd.inc", "class A {}; extern \"C\" A fun() { return A(); }\n")]);
    assert!(has(&built(project.build(&["odd.inc"], &["-x", "c++"])), "fun"));
}

#[test]
fn flags_that_would_disturb_are_dropped_with_a_note() {
    let project = Project::new(&[
        ("a.c", "#include \"v.h\"\nint NAME(void) { return VALUE; }\n#warning hear me\n"),
        ("inc/v.h", "#define VALUE 1\n"),
    ]);
    let flags = "-I inc -DNAME=named_by_flag -O2 -fsanitize=thread -Wall -Werror -pthread -g3 -c \
                 -o out -fPIC -march=x86-64 -Wl,-z,now -flto -MD -MF x.d -std=c11 -D NDEBUG -m32";
    let flags: Vec<&str> = flags.split_whitespace().collect();
    let built = built(project.build(&["a.c"], &flags));
    assert!(has(&built, "named_by_flag"));
    assert!(built.warnings.contains("hear me"), "{}", built.warnings);
    let notes = built.notes.join("\n");
    for dropped in ["-O2", "-fsanitize=thread", "-Werror", "-Wl,-z,now", "-flto", "-m32"] {
        assert!(notes.contains(&format!("dropped {dropped}: ")), "{dropped} is not in {notes}");
    }
    assert!(notes.contains("-DNDEBUG removes assertions"), "{notes}");
    assert_eq!(built.notes.len(), 7, "{notes}");
    assert!(!project.path("out").exists() && !project.path("x.d").exists());

    assert!(message(project.build(&["a.c"], &["-I"])).contains("argument is missing"));
    assert!(message(project.build(&["a.c"], &["b.c"])).contains("'b.c'"));
    assert!(message(project.build(&["a.c"], &["@flags"])).contains("response files"));
    // What nobody knows is clang's to explain.
    let text = message(project.build(&["a.c"], &["-no-such-flag"]));
    assert!(text.contains("unknown argument: '-no-such-flag'"), "{text}");
}

#[test]
fn unoptimised_code_can_still_be_optimised_later() {
    let project = Project::new(&[("a.c", "int id(int x) { return x; }\n")]);
    let plain = built(project.build(&["a.c"], &[]));
    let full = BuildSpec { optimise: Some(Optimise::Full), ..project.spec(&["a.c"]) };
    let full = built(project.builder().build(&full));
    assert_ne!(plain.bitcode, full.bitcode);
    assert_ne!(plain.fingerprint(), full.fingerprint());
    // `optnone` would forbid the promotion of locals that follows.
    fs::write(project.path("a.bc"), &plain.bitcode).expect("writes");
    let output = std::process::Command::new("llvm-dis-19")
        .args(["-o", "-"])
        .arg(project.path("a.bc"))
        .output()
        .expect("llvm-dis-19 runs");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("define") && text.contains("!dbg"), "{text}");
    assert!(!text.contains("optnone"), "{text}");
}

#[test]
fn libraries_are_found_in_their_directory() {
    let project = Project::new(&[("a.c", HELLO), ("lib/libx.so", ""), ("lib/liby.a", "")]);
    let built = built(project.build(&["a.c"], &["-lx", "-ly", "-l", "z", "-Llib", "-lx"]));
    let expected = project.path("lib/libx.so");
    assert_eq!(built.libs, [expected.to_str().expect("is UTF-8"), "y", "z"]);
    assert!(built.notes[0].contains("-ly: only a static library"), "{:?}", built.notes);
}

#[test]
fn a_repeated_build_comes_from_the_cache() {
    let project = Project::new(&[("a.c", "#warning hear me\nint main(void) { return 0; }\n")]);
    let first = built(project.build(&["a.c"], &[]));
    let second = built(project.build(&["a.c"], &[]));
    assert!(!first.cached && second.cached);
    assert_eq!(Built { cached: true, ..first.clone() }, second);

    // Without the cache the same comes out.
    let without = Builder { cache: None, ..project.builder() };
    let third = built(without.build(&project.spec(&["a.c"])));
    assert_eq!(first, third);

    // Other flags are another build.
    let other = built(project.build(&["a.c"], &["-DX"]));
    assert!(!other.cached);

    // The content counts, not the time.
    fs::write(project.path("a.c"), fs::read(project.path("a.c")).expect("reads")).expect("writes");
    assert!(built(project.build(&["a.c"], &[])).cached);
}

#[test]
fn a_changed_source_or_header_is_noticed() {
    let project = Project::new(&[
        ("a.c", "#include \"in ner.h\"\nint NAME(void) { return 0; }\n"),
        ("in ner.h", "#include \"outer.h\"\n"),
        ("outer.h", "#define NAME first\n"),
    ]);
    let build = || built(project.build(&["a.c"], &[]));
    assert!(has(&build(), "first"));
    assert!(build().cached);
    // The same length at nearly the same time.
    project.write("outer.h", "#define NAME other\n");
    let changed = build();
    assert!(!changed.cached && has(&changed, "other") && !has(&changed, "first"));

    sleep(Duration::from_millis(20));
    project.write("in ner.h", "#define NAME third\n");
    assert!(has(&build(), "third"));
    project.write("a.c", "int fourth(void) { return 0; }\n");
    assert!(has(&build(), "fourth"));
    // A header that is no longer there is an error, not a stale answer.
    project.write("a.c", "#include \"outer.h\"\nint NAME(void) { return 0; }\n");
    assert!(has(&build(), "other"));
    fs::remove_file(project.path("outer.h")).expect("removes");
    assert!(message(project.build(&["a.c"], &[])).contains("'outer.h' file not found"));
}

#[test]
fn a_large_program_is_lowered_once_and_is_the_same_from_the_cache() {
    let function = |n: u32| {
        format!(
            "int f{n}(int a) {{ switch (a) {{ case 1: return x + {n}; case 7: return a; }} return 3; }}\n"
        )
    };
    let text: String = (0..3000).map(function).collect();
    let project =
        Project::new(&[("a.c", &format!("int x;\n{text}int main(void) {{ return 0; }}\n"))]);
    let made = built(project.build(&["a.c"], &["-g"]));
    let lower = |builder: &Builder, locals| {
        format!("{:?}", builder.lower(&made.bitcode, locals).expect("is lowered"))
    };
    let entries = || {
        let files = fs::read_dir(project.cache())
            .expect("lists")
            .map(|file| file.expect("is there").path());
        files
            .filter(|path| path.extension().is_some_and(|ending| ending == "lowered"))
            .collect::<Vec<_>>()
    };
    let without = lower(&Builder { cache: None, ..project.builder() }, Locals::Promoted);
    assert!(entries().is_empty());
    let first = lower(&project.builder(), Locals::Promoted);
    let kept = entries();
    assert_eq!(kept.len(), 1);
    // Reading an entry says that it was used.
    let long_ago = SystemTime::now() - Duration::from_secs(1000);
    let used = |path: &Path| fs::metadata(path).and_then(|m| m.modified()).expect("has a time");
    fs::File::options()
        .write(true)
        .open(&kept[0])
        .and_then(|f| f.set_modified(long_ago))
        .expect("sets it");
    let second = lower(&project.builder(), Locals::Promoted);
    assert!(used(&kept[0]) > long_ago + Duration::from_secs(500));
    assert!(first == second && first == without);

    let in_memory = lower(&project.builder(), Locals::InMemory);
    assert!(in_memory != first && entries().len() == 2);
    fs::write(&kept[0], "no program").expect("writes");
    assert!(lower(&project.builder(), Locals::Promoted) == first);
}

#[test]
fn a_damaged_cache_is_built_anew() {
    let project = Project::new(&[("a.c", HELLO)]);
    let first = built(project.build(&["a.c"], &[]));
    let entries: Vec<_> = fs::read_dir(project.cache()).expect("lists").collect();
    assert_eq!(entries.len(), 1);
    let entry = entries[0].as_ref().expect("lists").path();
    let whole = fs::read(&entry).expect("reads");
    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 1;
    for damaged in [&whole[..whole.len() / 2], &[], b"garbage", &flipped] {
        fs::write(&entry, damaged).expect("writes");
        let again = built(project.build(&["a.c"], &[]));
        assert_eq!(again, first);
    }
    // A cache that cannot be written does no harm.
    let nowhere = Builder { cache: Some("/dev/null/cache".into()), ..project.builder() };
    assert_eq!(built(nowhere.build(&project.spec(&["a.c"]))), first);
}

#[test]
fn flags_of_the_compilation_database_apply() {
    let project = Project::new(&[
        ("deep/a.c", "#include <v.h>\nint NAME(void) { return VALUE + FORCED; }\n"),
        ("deep/inc/v.h", "#define VALUE 1\n"),
        ("deep/forced.h", "#define FORCED 1\n"),
    ]);
    let directory = project.path("deep");
    let directory = directory.to_str().expect("is UTF-8");
    let entry = |file: &str, flags: &str| {
        format!(r#"{{"directory": "{directory}", "file": "{file}", {flags}}}"#)
    };
    let command = r#""command": "cc -Iinc '-DNAME=by_database' -include forced.h -O2 -c a.c""#;
    let database = format!("[{}, {}]", entry("b.c", r#""arguments": []"#), entry("a.c", command));
    project.write("compile_commands.json", &database);
    let first = built(project.build(&["deep/a.c"], &[]));
    assert!(has(&first, "by_database"));
    assert!(first.notes[0].contains("compile_commands.json"), "{:?}", first.notes);
    // The user's flags win.
    assert!(has(&built(project.build(&["deep/a.c"], &["-UNAME", "-DNAME=by_user"])), "by_user"));

    // A change to the database is a change to the build.
    let arguments = r#""arguments": ["cc", "-I", "inc", "-DNAME=anew", "-DFORCED=0"]"#;
    project.write("compile_commands.json", &format!("[{}]", entry("a.c", arguments)));
    assert!(has(&built(project.build(&["deep/a.c"], &[])), "anew"));

    // One that was given is used, and ignored if that was asked for.
    fs::rename(project.path("compile_commands.json"), project.path("db.json")).expect("renames");
    let with = |database| BuildSpec { database, ..project.spec(&["deep/a.c"]) };
    let given = with(CompilationDatabase::At("db.json".into()));
    assert!(has(&built(project.builder().build(&given)), "anew"));
    project.write("compile_commands.json", &database);
    let text = message(project.builder().build(&with(CompilationDatabase::Ignore)));
    assert!(text.contains("'v.h' file not found"), "{text}");

    // A broken one is an error if it was given, and a note if it was only found.
    project.write("db.json", "[{");
    let text = message(project.builder().build(&given));
    assert!(text.contains("cannot use the compilation database") && text.contains("db.json"));
    project.write("compile_commands.json", "[{");
    project.write("b.c", HELLO);
    let noted = built(project.build(&["b.c"], &[]));
    assert!(noted.notes[0].contains("cannot use the compilation database"), "{:?}", noted.notes);
}

#[test]
fn open_tells_files_apart_by_content() {
    let project = Project::new(&[("a.c", HELLO)]);
    let source = built(project.builder().open(&project.spec(&["a.c"])));
    // Endings say nothing.
    fs::write(project.path("bitcode"), &source.bitcode).expect("writes");
    let bitcode = built(project.builder().open(&project.spec(&["bitcode"]).with_flags(["-lm"])));
    assert_eq!(bitcode.bitcode, source.bitcode);
    assert_eq!(bitcode.libs, ["m"]);
    assert_eq!(built(open(project.path("bitcode"))).fingerprint(), source.fingerprint());

    source.write(project.path("container.c")).expect("writes");
    let container = built(project.builder().open(&project.spec(&["container.c"])));
    assert_eq!(container.bitcode, source.bitcode);
    assert_eq!(container.spec, source.spec);
    let text = message(project.build(&["a.c", "container.c"], &[]));
    assert!(text.contains("cannot be combined"), "{text}");
}

#[test]
fn a_container_holds_all_of_a_build() {
    let project = Project::new(&[("a.cc", "#warning hear me\nint main() { return 0; }\n")]);
    let made = built(project.build(&["a.cc"], &["-O2", "-lm"]));
    let path = project.path("prog.unravel");
    made.write(&path).expect("writes");
    let read = built(open(&path));
    // Who knows where a container comes from.
    assert_eq!(read, Built { cached: true, foreign: true, ..made });
    assert_eq!(read.libs, ["m", "stdc++"]);
    assert!(read.warnings.contains("hear me"));
    // Nothing else is left in the directory.
    assert_eq!(fs::read_dir(project.path("")).expect("lists").count(), 2);
}

#[test]
fn a_damaged_container_is_refused() {
    let project = Project::new(&[("a.c", HELLO)]);
    let path = project.path("prog.unravel");
    built(project.build(&["a.c"], &[])).write(&path).expect("writes");
    let whole = fs::read(&path).expect("reads");
    let complaint = |bytes: &[u8]| {
        fs::write(&path, bytes).expect("writes");
        let error = open(&path).expect_err("is damaged");
        let text = error.to_string();
        assert!(text.contains("prog.unravel"), "{text}");
        match error {
            BuildError::Container { problem, .. } => (problem, text),
            other => panic!("{other:?}"),
        }
    };
    let cut = complaint(&whole[..whole.len() - 1]);
    assert!(matches!(cut.0, SealError::Truncated { .. }), "{}", cut.1);
    assert!(matches!(complaint(&whole[..20]).0, SealError::Truncated { .. }));
    let longer = [&whole[..], &[0]].concat();
    assert!(matches!(complaint(&longer).0, SealError::TrailingBytes { .. }));
    let mut newer = whole.clone();
    newer[8] = 200;
    assert!(complaint(&newer).1.contains("format 200, this program reads up to 1; update"));
    // Lengths that lie must not be believed.
    let mut lies = whole.clone();
    lies[12..20].fill(0xff);
    assert!(matches!(complaint(&lies).0, SealError::Truncated { .. }));
    for at in (28..whole.len()).step_by(97) {
        let mut flipped = whole.clone();
        flipped[at] ^= 0x10;
        assert!(matches!(complaint(&flipped).0, SealError::Corrupt), "byte {at}");
    }
}

/// Runs itself again with other variables, because they belong to the whole process.
#[test]
fn the_environment_is_obeyed() {
    const SOURCE: &str = "UNRAVEL_TEST_SOURCE";
    if let Some(source) = std::env::var_os(SOURCE) {
        let spec = BuildSpec::new([&source]);
        println!(
            "build: {}",
            build(&spec).map_or_else(|e| e.to_string(), |b| b.cached.to_string())
        );
        println!(
            "open: {}",
            open(&source).map_or_else(|e| e.to_string(), |b| b.cached.to_string())
        );
        return;
    }
    let project = Project::new(&[("a.c", HELLO)]);
    let run = |variables: &[(&str, &str)]| {
        let output = std::process::Command::new(std::env::current_exe().expect("is running"))
            .args(["--exact", "the_environment_is_obeyed", "--nocapture"])
            .env(SOURCE, project.path("a.c"))
            .env("XDG_CACHE_HOME", project.cache())
            .env_remove("UNRAVEL_CACHE")
            .env_remove("UNRAVEL_CLANG")
            .envs(variables.iter().copied())
            .output()
            .expect("runs itself");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let text = run(&[("UNRAVEL_CACHE", "off")]);
    assert!(text.contains("build: false") && text.contains("open: false"), "{text}");
    assert!(!project.cache().exists());
    let text = run(&[]);
    assert!(text.contains("build: false") && text.contains("open: true"), "{text}");
    assert!(project.cache().join("unravel").is_dir());
    let text = run(&[("UNRAVEL_CLANG", "/nonexistent/clang")]);
    assert!(text.contains("UNRAVEL_CLANG=/nonexistent/clang"), "{text}");
    // The usual place is found without a search path.
    let text = run(&[("PATH", "/nonexistent")]);
    assert!(text.contains("build: ") && !text.contains("not installed"), "{text}");
}

#[test]
fn a_preprocessed_source_is_known_by_its_own_lines() {
    // Another file of the name that its markers say, with other lines.
    let project = Project::new(&[
        ("queue.c", "int other;\n"),
        (
            "queue.i",
            "# 1 \"queue.c\"\n# 90 \"queue.c\"\nint main(void) {\n# 95 \"queue.c\"\n  return 3; }\n",
        ),
    ]);
    let built = built(project.build(&["queue.i"], &[]));
    let program = unravel_program::load(&built.bitcode).expect("loads");
    let places = program.sites.iter().map(|site| (site.place.file.to_string(), site.place.line));
    let places: Vec<(String, u32)> = places.collect();
    assert!(places.contains(&("queue.i".to_owned(), 5)), "{places:?}");
    assert!(places.iter().all(|(file, _)| file == "queue.i"), "{places:?}");
}
