//! Properties over many regions: guarded text parses, and a diff leads from the old text to the new one.

use proptest::prelude::*;
use unravel_repair::source::{Guard, Language, Patch, Position, Source, line_change, unified_diff};

const SAMPLES: [(&str, &str); 3] = [
    (
        "queue.c",
        "#include <stdio.h>\n\nstatic int items[8], head, tail;\n\nint pop(int *into)\n{\n\tint n;\n\n\tfor (n = 0; n < 8; n++)\n\t\tif (items[n] == 0) break; else continue;\n\tif (head == tail)\n\t\treturn -1;\n\telse if (n > 3) { goto out; }\n\t*into = items[head++ % 8]; n++;\nout:\n\tswitch (n) {\n\tcase 1: tail--; break;\n\tcase 2:\n\t\treturn tail + n;\n\tdefault:\n\t\tdo tail++; while (tail < 3);\n\t}\n\treturn items[0];\n}\n\nint size(void) { if (head) return tail; return tail - head; }",
    ),
    (
        "cache.cpp",
        "#include <map>\nnamespace cache {\ntemplate <class K> class Cache {\npublic:\n    int get(K k) {\n        auto it = entries.find(k);\n        if (it == entries.end()) return 0;\n        for (auto &e : entries)\n            if (e.second) { try { touch(e); } catch (...) { continue; } }\n        run([&](int n) { while (n--) if (n == hits) return hits; return 0; });\n        return it->second;\n    }\nprivate:\n    std::map<K, int> entries;\n    int hits = 0;\n};\n}\n",
    ),
    (
        "crlf.c",
        "int x;\r\nint f(void)\r\n{\r\n  if (x)\r\n    return x;\r\n#ifdef A\r\n  x++;\r\n#else\r\n  x--; x--;\r\n#endif\r\n  while (x) { x--; if (x == 2) break; }\r\n  return x + 1;\r\n}\r\n",
    ),
];

/// The parts of a hunk's header: the first old line, from 1.
fn hunk_start(header: &str) -> usize {
    let old = header.split_whitespace().nth(1).expect("a hunk names its lines");
    let (start, count) = old[1..].split_once(',').unwrap_or((&old[1..], "1"));
    let start: usize = start.parse().expect("a number");
    if count == "0" { start + 1 } else { start }
}

/// What `patch` does with a diff of one file.
fn patched(old: &str, diff: &str) -> String {
    let old: Vec<&str> = old.split_inclusive('\n').collect();
    let (mut new, mut next) = (String::new(), 0);
    let mut lines = diff.split_inclusive('\n').skip(2).peekable();
    while let Some(line) = lines.next() {
        if line.starts_with("@@") {
            let start = hunk_start(line) - 1;
            new.extend(old[next..start].iter().copied());
            next = start;
            continue;
        }
        let unended = lines.next_if(|hint| hint.starts_with('\\')).is_some();
        let text = if unended { line[1..].trim_end_matches('\n') } else { &line[1..] };
        if !line.starts_with('+') {
            assert_eq!(old[next], text, "context and removed lines are the old ones");
            next += 1;
        }
        if !line.starts_with('-') {
            new.push_str(text);
        }
    }
    new.extend(old[next..].iter().copied());
    new
}

proptest! {
    #[test]
    fn guarded_text_parses_and_its_diff_applies(sample in 0..SAMPLES.len(), at in prop::collection::vec(0usize..2000, 1..3), widen in 0usize..3) {
        let (path, text) = SAMPLES[sample];
        let source = Source::parse(path, text.to_owned()).expect("the sample parses");
        let places: Vec<Position> = at.iter().map(|at| source.position_of(at % text.len())).collect();
        let Some(mut region) = source.region(&places) else { return Ok(()) };
        for _ in 0..widen {
            region = source.wider(&region).unwrap_or(region);
        }
        let guard = Guard::Statements { lock: "lock();".to_owned(), unlock: "unlock();".to_owned() };
        let mut patch = Patch::new(&source);
        // A label in the middle may be jumped to from outside: that is refused, and nothing else is.
        if let Err(refused) = patch.guard(&region, &guard) {
            let jumped_into = refused.to_string().contains("jumped to from outside");
            prop_assert!(jumped_into, "{}", refused);
            return Ok(());
        }
        let new = patch.apply().expect("one guard does not overlap itself");
        let again = Source::parse(path, new.clone()).expect("it is still a source");
        prop_assert!(again.parses(), "{}", new);
        prop_assert_eq!(new.contains('\r'), text.contains('\r'));
        prop_assert!(new.matches("unlock();").count() >= 1, "{}", new);
        let diff = unified_diff(path, text, &new);
        prop_assert_eq!(patched(text, &diff), new);
    }
}

#[test]
fn the_samples_themselves_parse() {
    for (path, text) in SAMPLES {
        let source = Source::parse(path, text.to_owned()).expect("the sample parses");
        assert!(source.parses(), "{path}");
        assert_eq!(source.language() == Language::Cpp, path.ends_with("cpp"));
    }
}

#[test]
fn a_diff_names_both_files_and_counts_its_lines() {
    let diff = unified_diff("src/a.c", "a\nb\nc", "a\nx\ny\nc");
    assert_eq!(
        diff,
        "--- a/src/a.c\n+++ b/src/a.c\n@@ -1,3 +1,4 @@\n a\n-b\n+x\n+y\n c\n\\ No newline at end of file\n"
    );
    let change = line_change("a\nb\nc", "a\nx\ny\nc");
    assert_eq!((change.added, change.removed), (2, 1));
    assert_eq!(unified_diff("a.c", "a\n", "a\n"), "");
}
