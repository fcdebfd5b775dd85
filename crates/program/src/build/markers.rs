//! Line markers of preprocessed sources (`# 12 "queue.c" 2`), which say where a line came from.
//!
//! A source that begins with one went through a preprocessor, often elsewhere: the file it names may be missing, or another one of
//! that name. What the user gave us is what is compiled, so that is what reports show and repairs change: markers are overruled by
//! the line and name of the source itself. Those of system headers stay, as their code is nobody's to change, and so does `#line`,
//! by which generators name the file that people edit. Errs in a raw string that has a line like a marker in a preprocessed
//! source: that line of it changes.

/// The text with its markers overruled, line by line the same otherwise; `None` if a preprocessor did not make it.
pub(super) fn overruled(text: &[u8], name: &str) -> Option<Vec<u8>> {
    let first = text.split(|byte| *byte == b'\n').find(|line| !line.trim_ascii().is_empty())?;
    flags(first)?;
    let name = name.replace('\\', "\\\\").replace('"', "\\\"");
    let mut result = Vec::with_capacity(text.len());
    for (index, line) in text.split_inclusive(|byte| *byte == b'\n').enumerate() {
        match flags(line) {
            // A marker speaks of the line after it; the first is number 1.
            Some(flags) if !flags.split(' ').any(|flag| flag == "3") => {
                let next = index + 2;
                result.extend(format!("# {next} \"{name}\" {flags}").trim_end().bytes());
                result.push(b'\n');
            }
            _ => result.extend(line),
        }
    }
    Some(result)
}

/// What follows the name in a line marker that names a file; `None` if it is none.
fn flags(line: &[u8]) -> Option<&str> {
    let rest = line.trim_ascii().strip_prefix(b"# ")?.trim_ascii_start();
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let name = rest[digits..].trim_ascii_start().strip_prefix(b"\"").filter(|_| digits > 0)?;
    let end = name.iter().rposition(|byte| *byte == b'"')?;
    std::str::from_utf8(&name[end + 1..]).ok().map(str::trim)
}

#[cfg(test)]
mod tests {
    fn overruled(text: &str) -> Option<String> {
        super::overruled(text.as_bytes(), "d\\\"q.i").map(|text| String::from_utf8(text).unwrap())
    }

    #[test]
    fn markers_say_where_a_line_is_and_headers_stay() {
        let text = "# 1 \"q.c\"\n# 1 \"/usr/include/stdio.h\" 1 3 4\nint puts();\n# 2 \"q.c\" 2\nint x;\n#line 7 \"q.y\"\nint y;";
        let expected = "# 2 \"d\\\\\\\"q.i\"\n# 1 \"/usr/include/stdio.h\" 1 3 4\nint puts();\n# 5 \"d\\\\\\\"q.i\" 2\nint x;\n#line 7 \"q.y\"\nint y;";
        assert_eq!(overruled(text).as_deref(), Some(expected));
    }

    #[test]
    fn what_nobody_preprocessed_is_left_alone() {
        for text in ["", "int x;\n# 4 \"q.c\"\n", "#line 3 \"q.y\"\nint x;\n", "#define A 1\n# 1\n"]
        {
            assert_eq!(overruled(text), None, "{text}");
        }
    }
}
