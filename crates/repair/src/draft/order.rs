//! One stretch after another: a flag with a condition variable, raised after the first, awaited before the second.

use super::{Draft, DraftError, wish};
use crate::spots::Stretch;

impl Draft<'_> {
    pub(super) fn order(&mut self, first: &Stretch, then: &Stretch) -> Result<(), DraftError> {
        let mut files = vec![first.file.as_str(), then.file.as_str()];
        files.dedup();
        let name = self.name(&wish(&first.region.function, "done"), &files)?;
        let (announce, wait) = (format!("announce_{name}"), format!("await_{name}"));
        let is_cpp = self.speaks_cpp(&files)?;
        let linkage = if files.len() == 1 { "static " } else { "" };
        let text = if is_cpp {
            cpp(&name, &announce, &wait, linkage)
        } else {
            c(&name, &announce, &wait, linkage)
        };
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

fn c(name: &str, announce: &str, wait: &str, linkage: &str) -> String {
    format!(
        "static pthread_mutex_t {name}_lock = PTHREAD_MUTEX_INITIALIZER;\n\
         static pthread_cond_t {name}_changed = PTHREAD_COND_INITIALIZER;\n\
         static int {name};\n\
         \n\
         {linkage}void {announce}(void)\n\
         {{\n\
         \tpthread_mutex_lock(&{name}_lock);\n\
         \t{name} = 1;\n\
         \tpthread_cond_broadcast(&{name}_changed);\n\
         \tpthread_mutex_unlock(&{name}_lock);\n\
         }}\n\
         \n\
         {linkage}void {wait}(void)\n\
         {{\n\
         \tpthread_mutex_lock(&{name}_lock);\n\
         \twhile (!{name})\n\
         \t\tpthread_cond_wait(&{name}_changed, &{name}_lock);\n\
         \tpthread_mutex_unlock(&{name}_lock);\n\
         }}"
    )
}

fn cpp(name: &str, announce: &str, wait: &str, linkage: &str) -> String {
    format!(
        "static std::mutex {name}_lock;\n\
         static std::condition_variable {name}_changed;\n\
         static bool {name};\n\
         \n\
         {linkage}void {announce}()\n\
         {{\n\
         \tstd::lock_guard<std::mutex> hold({name}_lock);\n\
         \t{name} = true;\n\
         \t{name}_changed.notify_all();\n\
         }}\n\
         \n\
         {linkage}void {wait}()\n\
         {{\n\
         \tstd::unique_lock<std::mutex> hold({name}_lock);\n\
         \t{name}_changed.wait(hold, [] {{ return {name}; }});\n\
         }}"
    )
}
