//! Memory for code: written, then executed, never both.

const CHUNK: usize = 1 << 20;
/// Functions begin at multiples of this.
const ALIGN: usize = 64;

/// Chunks of memory that hold code.
#[derive(Debug, Default)]
pub(crate) struct Pages {
    chunks: Vec<Chunk>,
}

#[derive(Debug)]
struct Chunk {
    at: *mut u8,
    bytes: usize,
    used: usize,
}

// SAFETY: the memory belongs to the chunk alone; code that is executed is not written.
unsafe impl Send for Chunk {}

impl Pages {
    /// Puts code somewhere and returns where. `None` if there is no memory.
    pub fn add(&mut self, code: &[u8]) -> Option<*const u8> {
        let fits = |chunk: &Chunk| chunk.bytes - chunk.used >= code.len();
        if !self.chunks.last().is_some_and(fits) {
            self.chunks.push(Chunk::new(code.len().next_multiple_of(CHUNK))?);
        }
        self.chunks.last_mut()?.put(code)
    }
}

impl Chunk {
    fn new(bytes: usize) -> Option<Chunk> {
        let (protection, kind) = (libc::PROT_READ, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: an anonymous mapping, wherever there is room.
        let at = unsafe { libc::mmap(std::ptr::null_mut(), bytes, protection, kind, -1, 0) };
        (at != libc::MAP_FAILED).then(|| Chunk { at: at.cast(), bytes, used: 0 })
    }

    fn protect(&self, protection: i32) -> bool {
        // SAFETY: the chunk's own mapping. Nothing in it runs now: who compiles does not run compiled code.
        unsafe { libc::mprotect(self.at.cast(), self.bytes, protection) == 0 }
    }

    fn put(&mut self, code: &[u8]) -> Option<*const u8> {
        if !self.protect(libc::PROT_READ | libc::PROT_WRITE) {
            return None;
        }
        // SAFETY: within the chunk, as `add` has seen.
        let at = unsafe { self.at.add(self.used) };
        // SAFETY: the same; it may be written now.
        unsafe { at.copy_from_nonoverlapping(code.as_ptr(), code.len()) };
        self.used = (self.used + code.len()).next_multiple_of(ALIGN).min(self.bytes);
        self.protect(libc::PROT_READ | libc::PROT_EXEC).then_some(at.cast_const())
    }
}

impl Drop for Chunk {
    fn drop(&mut self) {
        // SAFETY: made by `new`. Whoever has compiled code keeps its compiler, which has this.
        unsafe { libc::munmap(self.at.cast(), self.bytes) };
    }
}
