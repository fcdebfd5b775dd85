//! Sites that may touch what others share, as far as their names tell: what no run has executed, no run has learnt.
//!
//! Two kinds: those whose variable or field has the name of one that is known to be shared, and those of a global variable
//! that two functions use. Both err on the side of too many; a site that is nobody else's costs an event, no more.
//!
//! *Not modelled*: memory without a name (`*p`), and programs without debug information. What is missed is learnt as soon as
//! a run executes it.

use rustc_hash::{FxHashMap, FxHashSet};
use unravel_code::{AccessKind, Program};
use unravel_trace::{SiteId, VisibleSet};

/// These sites and their kin.
pub(crate) fn kin(program: &Program, visible: &VisibleSet) -> VisibleSet {
    let path = |index: usize| program.accesses.get(index)?.path.as_deref();
    let shared: FxHashSet<&str> =
        visible.iter().filter_map(|site| last_name(path(site.index())?)).collect();
    let globals = common_globals(program);
    let mut kin = visible.clone();
    for (index, access) in program.accesses.iter().enumerate() {
        let Some(path) = path(index).filter(|_| access.kind != AccessKind::None) else { continue };
        let named = last_name(path).is_some_and(|name| shared.contains(name));
        let global = first_name(path).is_some_and(|name| globals.contains(name));
        if named || global {
            kin.insert(SiteId(index as u32));
        }
    }
    kin
}

/// Globals that more than one function uses.
fn common_globals(program: &Program) -> FxHashSet<&str> {
    let names: FxHashSet<&str> =
        program.globals.iter().map(|global| global.name.as_str()).collect();
    let mut users: FxHashMap<&str, FxHashSet<&str>> = FxHashMap::default();
    for (access, site) in program.accesses.iter().zip(&program.sites) {
        let name = access.path.as_deref().and_then(first_name);
        if let Some(name) = name.filter(|name| names.contains(name)) {
            users.entry(name).or_default().insert(&site.place.function);
        }
    }
    users.into_iter().filter(|(_, users)| users.len() > 1).map(|(name, _)| name).collect()
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The first name of a location as the programmer wrote it: the variable.
fn first_name(path: &str) -> Option<&str> {
    let end = path.find(|c| !is_name(c)).unwrap_or(path.len());
    Some(&path[..end]).filter(|name| !name.is_empty())
}

/// The last name: the field, or the variable itself. `buffer[i]` is the buffer, whatever `i` is.
fn last_name(path: &str) -> Option<&str> {
    let mut path = path;
    while path.ends_with(']') {
        path = &path[..path.rfind('[')?];
    }
    let start = path.rfind(|c| !is_name(c)).map_or(0, |at| at + 1);
    Some(&path[start..]).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locations_are_known_by_their_first_and_last_names() {
        assert_eq!(last_name("fifo->mut"), Some("mut"));
        assert_eq!(last_name("accounts[3].amount"), Some("amount"));
        assert_eq!(last_name("grid[i][j]"), Some("grid"));
        assert_eq!(last_name("*p"), Some("p"));
        assert_eq!(first_name("accounts[3].amount"), Some("accounts"));
        assert_eq!(first_name("*p"), None);
    }
}
