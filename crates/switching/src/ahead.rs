//! What the cache can fetch before it is needed.

/// Has the cache fetch the line at `place`, wherever that is. Nothing where the machine has no such thing.
#[inline(always)] // one instruction
pub fn fetch<T>(place: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: nothing is read.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(place.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = place;
}
