//! Statements that tell other threads that something is there: a semaphore is posted, a flag is set, somebody is woken.

use super::Source;
use super::atomics::Act;
use super::region::Region;

/// Functions and methods that do nothing but tell others.
const TELLING: [&str; 9] = [
    "sem_post",
    "pthread_cond_signal",
    "pthread_cond_broadcast",
    "notify_one",
    "notify_all",
    "release",
    "count_down",
    "arrive",
    "set_value",
];

impl Source {
    /// Whether a region is one statement that tells others something: by such a function, or by a number or a name that it puts
    /// somewhere.
    pub fn announces(&self, region: &Region) -> bool {
        if !self.is_plain(region) {
            return false;
        }
        let last = |name: &str| {
            name.rsplit(['.', '>', ':']).next().is_some_and(|last| TELLING.contains(&last))
        };
        self.calls(region.bytes.clone()).iter().any(|call| last(&call.name))
            || self.sets_flag(region)
            || self.atomic_accesses(region.bytes.clone()).iter().any(|access| {
                access.act != Act::Load && access.statement.as_ref() == Some(&region.bytes)
            })
    }

    /// `ready = 1;`
    fn sets_flag(&self, region: &Region) -> bool {
        let text = self.text()[region.bytes.clone()].trim_end_matches(';');
        let Some((target, value)) = text.split_once('=') else { return false };
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let is_plain = |part: &str| !part.is_empty() && part.chars().all(is_word);
        let is_path = |c: char| is_word(c) || matches!(c, '.' | '-' | '>' | '[' | ']');
        is_plain(value.trim()) && target.trim().chars().all(is_path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn announces(file: &str, statement: &str) -> bool {
        let text = format!("void f(void) {{ {statement} g(); }}");
        let source = Source::parse(file, text.clone()).expect("the sample parses");
        let at = source.position_of(text.find(statement).expect("it is there"));
        source.announces(&source.region(&[at]).expect("a statement"))
    }

    #[test]
    fn posts_flags_and_wakes_tell_others() {
        assert!(announces("a.c", "sem_post(&full);"));
        assert!(announces("a.c", "atomic_store(&ready, 1);"));
        assert!(announces("a.c", "q->ready = 1;"));
        assert!(announces("a.cpp", "done.notify_one();"));
        assert!(announces("a.cpp", "done.store(true);"));
    }

    #[test]
    fn what_computes_or_reads_tells_nothing() {
        assert!(!announces("a.c", "int v = atomic_load(&ready);"));
        assert!(!announces("a.c", "a = b + 1;"));
        assert!(!announces("a.c", "if (x) ready = 1;"));
        assert!(!announces("a.c", "int x = 1;"));
        assert!(!announces("a.c", "puts(text);"));
    }
}
