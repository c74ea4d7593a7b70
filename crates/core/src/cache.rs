//! Prefetch hint to the CPU cache.

/// Asks for the line of the cache in which `value` begins. Nothing waits for it, as it would for a
/// value that is read, and nothing changes but how long a later use takes.
#[inline(always)]
pub fn fetch<T>(value: &T) {
    branches::prefetch_read_data::<T, 0>(value);
}
