//! Stretches that exclude each other, by a mutex of their own.

use super::{Draft, DraftError, wish};
use crate::source::Guard;
use crate::spots::Stretch;

impl Draft<'_> {
    /// A new mutex, held in all of these stretches.
    pub(super) fn new_lock(&mut self, stretches: &[Stretch]) -> Result<(), DraftError> {
        let mut files: Vec<&str> = stretches.iter().map(|stretch| stretch.file.as_str()).collect();
        files.sort_unstable();
        files.dedup();
        let function = stretches.first().map_or("", |stretch| stretch.region.function.as_str());
        let name = self.name(&wish(function, "lock"), &files)?;
        let is_cpp = self.speaks_cpp(&files)?;
        let is_alone = files.len() == 1;
        let initializer = self.initializer(&files, "MUTEX")?;
        for (number, file) in files.iter().enumerate() {
            let within = stretches.iter().filter(|stretch| stretch.file == *file);
            let first_use = within.map(|stretch| stretch.region.bytes.start).min().unwrap_or(0);
            let (header, declaration) = match (is_cpp, is_alone, number) {
                (true, true, _) => ("<mutex>", format!("static std::mutex {name};")),
                (true, false, 0) => ("<mutex>", format!("std::mutex {name};")),
                (true, false, _) => ("<mutex>", format!("extern std::mutex {name};")),
                (false, true, _) => {
                    ("<pthread.h>", format!("static pthread_mutex_t {name} = {initializer};"))
                }
                (false, false, 0) => {
                    ("<pthread.h>", format!("pthread_mutex_t {name} = {initializer};"))
                }
                (false, false, _) => ("<pthread.h>", format!("extern pthread_mutex_t {name};")),
            };
            let patch = self.patch(file)?;
            patch.include(header);
            patch.declare(&declaration, first_use);
        }
        for stretch in stretches {
            let guard = if is_cpp {
                let hold = self.source(&stretch.file)?.fresh_name("hold");
                Guard::Scoped {
                    declaration: format!("std::unique_lock<std::mutex> {hold}({name});"),
                    to_the_end: format!("std::lock_guard<std::mutex> {hold}({name});"),
                    release: format!("{hold}.unlock();"),
                }
            } else {
                Guard::Statements {
                    lock: format!("pthread_mutex_lock(&{name});"),
                    unlock: format!("pthread_mutex_unlock(&{name});"),
                }
            };
            self.patch(&stretch.file)?.guard(&stretch.region, &guard)?;
        }
        Ok(())
    }
}
