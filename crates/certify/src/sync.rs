//! What sync objects demand.
use unravel_solve::proof::Literal;
use unravel_solve::{SyncFamily, SyncId};

use crate::checker::{Checker, Refused, Unchecked};
use crate::closure::Closure;
use crate::rules::Rules;

pub(crate) fn holds(
    _checker: &Checker,
    _closure: &Closure<'_, '_>,
    rules: &Rules<'_>,
    sync: SyncId,
    _clause: &[Literal],
) -> Result<Option<Unchecked>, Refused> {
    Ok(Some(match rules.model.sync(sync).family {
        SyncFamily::Cond => Unchecked::Condition,
        SyncFamily::Barrier => Unchecked::Barrier,
        _ => Unchecked::IrregularLock,
    }))
}
