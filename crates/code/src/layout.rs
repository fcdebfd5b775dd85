//! Where things live: the fixed addresses of the arena.
//!
//! The VM maps one arena at a fixed address, so a pointer has the same value in every run and
//! native library functions can work on it directly. Addresses of functions, globals and blocks are
//! decided here, at lowering time, and become plain constants of the code.

/// First address of the arena. Everything of the program is in `ARENA_BASE..ARENA_END`; memory
/// outside belongs to native libraries ("foreign").
pub const ARENA_BASE: u64 = 1 << 44;

/// Eight bytes that inline assembly reads in place of the processor's time stamp counter. The rest of the
/// arena's first page is nobody's.
pub const TIME_STAMP: u64 = ARENA_BASE + 0x800;

/// Function `i` has the address `FUNCTIONS + i * FUNCTION_STRIDE`. The VM puts a jump there, so that
/// native code may call it too.
pub const FUNCTIONS: u64 = ARENA_BASE + 0x1000;
pub const FUNCTION_STRIDE: u64 = 16;

/// Block addresses (`&&label`): `BLOCKS + function * BLOCKS_PER_FUNCTION + block`, the blocks whose address
/// is taken being counted. They are tokens, never dereferenced.
pub const BLOCKS: u64 = ARENA_BASE + 0x0400_0000;
pub const BLOCKS_PER_FUNCTION: u64 = 1 << 12;

/// Global variables, in the order of the module, with a red zone between them.
pub const GLOBALS: u64 = ARENA_BASE + 0x1_0000_0000;
/// Upper bound on the size of all globals.
pub const GLOBALS_MAX: u64 = 1 << 32;
/// Bytes without an owner between two globals, so that an overrun is noticed.
pub const RED_ZONE: u64 = 16;

/// Thread slots. Slot `i` owns one stack and one heap region, so that an address does not depend on
/// how the allocations of different threads interleave.
pub const SLOTS: u64 = 512;
pub const STACKS: u64 = ARENA_BASE + 0x10_0000_0000;
pub const STACK_SIZE: u64 = 16 << 20;
pub const HEAPS: u64 = ARENA_BASE + 0x20_0000_0000;
pub const HEAP_SIZE: u64 = 1 << 30;
pub const ARENA_END: u64 = HEAPS + SLOTS * HEAP_SIZE;
pub const ARENA_SIZE: u64 = ARENA_END - ARENA_BASE;
/// The arena's shadow: a byte for every eight, at an eighth of their address, so that compiled code needs no register to find it.
pub const SHADOW: u64 = ARENA_BASE / 8;
