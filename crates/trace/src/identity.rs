//! Which event of one run is which of another.

use serde::{Deserialize, Serialize};

use crate::{SiteId, ThreadName};

/// An event across runs and paths: the `occurrence`th (from 0) of this thread at this site.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct EventKey {
    pub thread: ThreadName,
    pub site: SiteId,
    pub occurrence: u32,
}
