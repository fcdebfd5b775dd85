//! One stretch after another: a flag with a condition variable, raised after the first, awaited before the second. Where
//! several threads have to be through with the first, the flag is a count of them.
//!
//! Within one file both are written where they happen; between two files they are functions that both know.

use super::{Draft, DraftError, wish};
use crate::spots::Stretch;

/// What is declared, done and awaited, in the language of the files.
struct Words {
    headers: &'static [&'static str],
    declarations: String,
    announce: String,
    wait: String,
}

impl Draft<'_> {
    /// All of `thens` wait until `first` was gone through so many times.
    pub(super) fn order(
        &mut self,
        first: &Stretch,
        times: usize,
        thens: &[&Stretch],
    ) -> Result<(), DraftError> {
        let mut files = vec![first.file.as_str()];
        files.extend(thens.iter().map(|then| then.file.as_str()));
        files.sort_unstable();
        files.dedup();
        let flag = self.name(&wish(&first.region.function, "done"), &files)?;
        let is_cpp = self.speaks_cpp(&files)?;
        let unit = self.source(&first.file)?.indent_unit();
        let words = if is_cpp {
            cpp(&flag, times)
        } else {
            let initializers =
                [self.initializer(&files, "MUTEX")?, self.initializer(&files, "COND")?];
            c(&flag, times, &initializers)
        };
        let text = |text: &str| text.replace('\t', unit);
        if files.len() == 1 {
            let uses = thens.iter().map(|then| then.region.bytes.start);
            let first_use = uses.fold(first.region.bytes.start, usize::min);
            let patch = self.patch(&first.file)?;
            words.headers.iter().for_each(|header| patch.include(header));
            patch.declare(&words.declarations, first_use);
            patch.after(&first.region, &text(&in_braces(&words.announce, is_cpp)))?;
            for then in thens {
                patch.before(&then.region, &text(&in_braces(&words.wait, is_cpp)))?;
            }
            return Ok(());
        }
        let (announce, wait) = (format!("announce_{flag}"), format!("await_{flag}"));
        let nothing = if is_cpp { "" } else { "void" };
        let function = |name: &str, body: &str| {
            let body = body.replace('\n', "\n\t");
            format!("void {name}({nothing})\n{{\n\t{body}\n}}")
        };
        let functions = [function(&announce, &words.announce), function(&wait, &words.wait)];
        let declared = [words.declarations.clone(), functions.join("\n\n")].join("\n\n");
        let patch = self.patch(&first.file)?;
        words.headers.iter().for_each(|header| patch.include(header));
        patch.declare(&text(&declared), first.region.bytes.start);
        patch.after(&first.region, &format!("{announce}();"))?;
        for (index, then) in thens.iter().enumerate() {
            let patch = self.patch(&then.file)?;
            let is_declared = thens[..index].iter().any(|other| other.file == then.file);
            if then.file != first.file && !is_declared {
                patch.declare(&format!("void {wait}({nothing});"), then.region.bytes.start);
            }
            patch.before(&then.region, &format!("{wait}();"))?;
        }
        Ok(())
    }
}

/// What holds a guard needs a block of its own.
fn in_braces(statements: &str, is_cpp: bool) -> String {
    match is_cpp {
        true => format!("{{\n\t{}\n}}", statements.replace('\n', "\n\t")),
        false => statements.to_owned(),
    }
}

fn c(flag: &str, times: usize, [mutex, condition]: &[String; 2]) -> Words {
    let (raise, is_low) = match times {
        1 => (format!("{flag} = 1;"), format!("!{flag}")),
        _ => (format!("{flag}++;"), format!("{flag} < {times}")),
    };
    Words {
        headers: &["<pthread.h>"],
        declarations: format!(
            "static pthread_mutex_t {flag}_lock = {mutex};\n\
             static pthread_cond_t {flag}_changed = {condition};\n\
             static int {flag};"
        ),
        announce: format!(
            "pthread_mutex_lock(&{flag}_lock);\n\
             {raise}\n\
             pthread_cond_broadcast(&{flag}_changed);\n\
             pthread_mutex_unlock(&{flag}_lock);"
        ),
        wait: format!(
            "pthread_mutex_lock(&{flag}_lock);\n\
             while ({is_low})\n\
             \tpthread_cond_wait(&{flag}_changed, &{flag}_lock);\n\
             pthread_mutex_unlock(&{flag}_lock);"
        ),
    }
}

fn cpp(flag: &str, times: usize) -> Words {
    let (of_type, raise, is_high) = match times {
        1 => ("bool", format!("{flag} = true;"), flag.to_owned()),
        _ => ("int", format!("{flag}++;"), format!("{flag} >= {times}")),
    };
    Words {
        headers: &["<condition_variable>", "<mutex>"],
        declarations: format!(
            "static std::mutex {flag}_lock;\n\
             static std::condition_variable {flag}_changed;\n\
             static {of_type} {flag};"
        ),
        announce: format!(
            "std::lock_guard<std::mutex> hold({flag}_lock);\n\
             {raise}\n\
             {flag}_changed.notify_all();"
        ),
        wait: format!(
            "std::unique_lock<std::mutex> hold({flag}_lock);\n\
             {flag}_changed.wait(hold, [] {{ return {is_high}; }});"
        ),
    }
}
