//! The table of sites: what the program's lowering says of each of them.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use unravel_code::{AccessKind, Program};
use unravel_trace::{SiteKey, SiteRow, SiteTable};

/// Names the sites of a program called `module`.
pub(crate) fn name_sites(program: &mut Program, module: &str) {
    let module: Arc<str> = module.into();
    let keys = keys(program, &module);
    for (site, key) in program.sites.iter_mut().zip(keys) {
        site.key = Some(key);
    }
}

/// The sites of a program.
pub(crate) fn sites(program: &Program) -> SiteTable {
    let globals = common_globals(program);
    let mut names: FxHashMap<&str, u32> = FxHashMap::default();
    let rows = program.sites.iter().enumerate().map(|(index, site)| {
        let access = program.accesses.get(index);
        let path = access.and_then(|access| access.path.as_deref());
        let next = names.len() as u32;
        SiteRow {
            site: site.clone(),
            accesses: access.is_some_and(|access| access.kind != AccessKind::None),
            name: path.and_then(last_name).map(|name| *names.entry(name).or_insert(next)),
            global: path.and_then(first_name).is_some_and(|name| globals.contains(name)),
        }
    });
    SiteTable::new(rows.collect(), program.fingerprint)
}

/// What each site is called: the function whose code it is in first, and which of that function's sites it is. Those that no
/// code is at come behind the others of their function.
fn keys(program: &Program, module: &Arc<str>) -> Vec<SiteKey> {
    let mut positions: FxHashMap<Arc<str>, u32> = FxHashMap::default();
    let mut next = |function: &Arc<str>| {
        let position = positions.entry(function.clone()).or_insert(0);
        *position += 1;
        SiteKey { module: module.clone(), function: function.clone(), position: *position - 1 }
    };
    let mut keys: Vec<Option<SiteKey>> = vec![None; program.sites.len()];
    for function in &program.functions {
        let Some(body) = &function.body else { continue };
        let name: Arc<str> = function.name.as_str().into();
        for site in &body.places {
            if let Some(key @ None) = keys.get_mut(site.index()) {
                *key = Some(next(&name));
            }
        }
    }
    let sites = keys.into_iter().zip(&program.sites);
    sites.map(|(key, site)| key.unwrap_or_else(|| next(&site.place.function))).collect()
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
