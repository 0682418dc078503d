//! First-Fit: the oldest waiting job that fits.
//!
//!     rustc -O --crate-type cdylib -o first_fit.so first_fit.rs
//!     quickswap.LibraryPolicy("first_fit.so")

/// The beginning of `struct qs_view` in quickswap_policy.h.
#[repr(C)]
pub struct View {
    version: i64,
    time: f64,
    servers: i64,
    free: i64,
    classes: i64,
    needs: *const i64,
    waiting: *const i64,
    running: *const i64,
    heads: *const i64,
}

/// # Safety
/// `view` is valid, with arrays of `classes` numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn start(view: *const View) -> i64 {
    let view = unsafe { &*view };
    let array = |first| unsafe { std::slice::from_raw_parts(first, view.classes as usize) };
    let (needs, waiting, heads) = (array(view.needs), array(view.waiting), array(view.heads));
    let fitting = (0..needs.len()).filter(|&i| waiting[i] > 0 && needs[i] <= view.free);
    fitting.min_by_key(|&i| heads[i]).map_or(-1, |i| i as i64)
}
