//! The engine as functions that a page calls: room for a request, its answer, and what a panic said.
//!
//! The page writes a request into the room that [`tidegate_room`] gives, calls [`tidegate_answer`] and
//! reads the answer. A panic ends the instance; what it said can still be read.

use crate::Engine;
use scenario::{Progress, Watch};
use std::cell::RefCell;

thread_local! {
    static ENGINE: RefCell<Engine> = RefCell::new(Engine::default());
    static REQUEST: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static ANSWER: RefCell<String> = const { RefCell::new(String::new()) };
    static PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

#[link(wasm_import_module = "tidegate")]
unsafe extern "C" {
    /// Simulated time and its end in microseconds, packet-hops, messages that ended and all of them.
    safe fn progress(now: f64, until: f64, hops: f64, done: f64, total: f64);
}

/// Tells the page how far a run is.
struct Page;

impl Watch for Page {
    fn progress(&mut self, at: &Progress) -> bool {
        let us = |time: units::Time| time.0 as f64 / 1e6;
        let (hops, done, total) = (at.hops as f64, at.done as f64, at.total as f64);
        progress(us(at.now), us(at.until), hops, done, total);
        true
    }
}

/// Room for a request of `len` bytes. It stays until the next call.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn tidegate_room(len: usize) -> *mut u8 {
    REQUEST.with_borrow_mut(|room| {
        room.clear();
        room.resize(len, 0);
        room.as_mut_ptr()
    })
}

/// Answers the request in the room, and returns how long the answer is, in bytes.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn tidegate_answer() -> usize {
    std::panic::set_hook(Box::new(|what| {
        PANIC.with_borrow_mut(|text| *text = what.to_string());
    }));
    let request = REQUEST.take();
    let request = String::from_utf8_lossy(&request);
    let answer = ENGINE.with_borrow_mut(|engine| engine.answer(&request, &mut Page));
    let len = answer.len();
    ANSWER.set(answer);
    len
}

/// Where the answer is, until the next request.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn tidegate_text() -> *const u8 {
    ANSWER.with_borrow(|text| text.as_ptr())
}

/// How long what a panic said is, in bytes; 0 where nothing panicked.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn tidegate_panic() -> usize {
    PANIC.with_borrow(String::len)
}

/// Where what a panic said is.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn tidegate_panic_text() -> *const u8 {
    PANIC.with_borrow(|text| text.as_ptr())
}
