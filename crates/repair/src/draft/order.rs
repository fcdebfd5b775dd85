//! One stretch after another: a flag with a condition variable, raised after the first, awaited before the second. Where
//! several threads have to be through with the first, the flag is a count of them.

use super::{Draft, DraftError, wish};
use crate::spots::Stretch;

/// The names of what is declared.
struct Names<'n> {
    flag: &'n str,
    announce: &'n str,
    wait: &'n str,
    /// `static `, if both stretches are in one file.
    linkage: &'n str,
}

impl Draft<'_> {
    /// `then` waits until `first` was gone through so many times.
    pub(super) fn order(
        &mut self,
        first: &Stretch,
        times: usize,
        then: &Stretch,
    ) -> Result<(), DraftError> {
        let mut files = vec![first.file.as_str(), then.file.as_str()];
        files.dedup();
        let name = self.name(&wish(&first.region.function, "done"), &files)?;
        let (announce, wait) = (format!("announce_{name}"), format!("await_{name}"));
        let is_cpp = self.speaks_cpp(&files)?;
        let linkage = if files.len() == 1 { "static " } else { "" };
        let names = Names { flag: &name, announce: &announce, wait: &wait, linkage };
        let text = if is_cpp { cpp(&names, times) } else { c(&names, times) };
        let text = text.replace('\t', self.source(&first.file)?.indent_unit());
        let headers: &[&str] =
            if is_cpp { &["<condition_variable>", "<mutex>"] } else { &["<pthread.h>"] };
        let first_use = if files.len() == 1 {
            first.region.bytes.start.min(then.region.bytes.start)
        } else {
            first.region.bytes.start
        };
        let patch = self.patch(&first.file)?;
        headers.iter().for_each(|header| patch.include(header));
        patch.declare(&text, first_use);
        patch.after(&first.region, &format!("{announce}();"))?;
        let patch = self.patch(&then.file)?;
        if files.len() > 1 {
            let nothing = if is_cpp { "" } else { "void" };
            patch.declare(&format!("void {wait}({nothing});"), then.region.bytes.start);
        }
        patch.before(&then.region, &format!("{wait}();"))?;
        Ok(())
    }
}

fn c(names: &Names<'_>, times: usize) -> String {
    let Names { flag, announce, wait, linkage } = names;
    let (raise, is_low) = match times {
        1 => (format!("{flag} = 1;"), format!("!{flag}")),
        _ => (format!("{flag}++;"), format!("{flag} < {times}")),
    };
    format!(
        "static pthread_mutex_t {flag}_lock = PTHREAD_MUTEX_INITIALIZER;\n\
         static pthread_cond_t {flag}_changed = PTHREAD_COND_INITIALIZER;\n\
         static int {flag};\n\
         \n\
         {linkage}void {announce}(void)\n\
         {{\n\
         \tpthread_mutex_lock(&{flag}_lock);\n\
         \t{raise}\n\
         \tpthread_cond_broadcast(&{flag}_changed);\n\
         \tpthread_mutex_unlock(&{flag}_lock);\n\
         }}\n\
         \n\
         {linkage}void {wait}(void)\n\
         {{\n\
         \tpthread_mutex_lock(&{flag}_lock);\n\
         \twhile ({is_low})\n\
         \t\tpthread_cond_wait(&{flag}_changed, &{flag}_lock);\n\
         \tpthread_mutex_unlock(&{flag}_lock);\n\
         }}"
    )
}

fn cpp(names: &Names<'_>, times: usize) -> String {
    let Names { flag, announce, wait, linkage } = names;
    let (of_type, raise, is_high) = match times {
        1 => ("bool", format!("{flag} = true;"), (*flag).to_owned()),
        _ => ("int", format!("{flag}++;"), format!("{flag} >= {times}")),
    };
    format!(
        "static std::mutex {flag}_lock;\n\
         static std::condition_variable {flag}_changed;\n\
         static {of_type} {flag};\n\
         \n\
         {linkage}void {announce}()\n\
         {{\n\
         \tstd::lock_guard<std::mutex> hold({flag}_lock);\n\
         \t{raise}\n\
         \t{flag}_changed.notify_all();\n\
         }}\n\
         \n\
         {linkage}void {wait}()\n\
         {{\n\
         \tstd::unique_lock<std::mutex> hold({flag}_lock);\n\
         \t{flag}_changed.wait(hold, [] {{ return {is_high}; }});\n\
         }}"
    )
}
