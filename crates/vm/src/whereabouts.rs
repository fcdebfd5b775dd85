//! Where the run of this process is, in memory that forked processes share with us: of a run that comes to no end, nothing else
//! is known. Several processes write the same place; the last one counts.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use unravel_trace::SiteId;

/// A page that forked processes share.
#[derive(Debug)]
struct Page {
    /// One more than the site.
    site: AtomicU32,
    threads: AtomicU32,
}

fn page() -> Option<&'static Page> {
    static PAGE: OnceLock<Option<usize>> = OnceLock::new();
    let address = (*PAGE.get_or_init(|| {
        let (protection, flags) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_ANONYMOUS);
        // SAFETY: a new mapping, never unmapped.
        let page = unsafe {
            libc::mmap(std::ptr::null_mut(), size_of::<Page>(), protection, flags, -1, 0)
        };
        (page != libc::MAP_FAILED).then_some(page as usize)
    }))?;
    // SAFETY: mapped for ever; zeros are numbers.
    Some(unsafe { &*(address as *const Page) })
}

/// Nothing is known of the program that comes now. Called before the first fork.
pub(crate) fn forget() {
    if let Some(page) = page() {
        page.site.store(0, Ordering::Relaxed);
    }
}

#[inline]
pub(crate) fn note(site: SiteId, threads: usize) {
    if let Some(page) = page() {
        page.site.store(site.0 + 1, Ordering::Relaxed);
        page.threads.store(threads as u32, Ordering::Relaxed);
    }
}

/// The site, and how many threads there were.
pub(crate) fn last() -> Option<(SiteId, u64)> {
    let page = page()?;
    let site = page.site.load(Ordering::Relaxed).checked_sub(1)?;
    Some((SiteId(site), page.threads.load(Ordering::Relaxed).into()))
}
