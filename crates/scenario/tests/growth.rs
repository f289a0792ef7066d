//! How much memory scenarios take, counted allocation by allocation.

use scenario::{Assembled, Scenario, load_text};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// The system's allocator, which counts what is held.
struct Counting;

static HELD: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is handed on as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let held = HELD.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        MOST.fetch_max(held, Ordering::Relaxed);
        // SAFETY: the caller keeps the contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller keeps the contract.
        unsafe { System.dealloc(place, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// One test at a time: the counts are of the whole process.
static ALONE: Mutex<()> = Mutex::new(());

/// The most bytes held at once while `work` runs, beyond those held before.
fn most_held<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let before = HELD.load(Ordering::Relaxed);
    MOST.store(before, Ordering::Relaxed);
    let done = work();
    (done, MOST.load(Ordering::Relaxed) - before)
}

fn assembled(text: &str) -> Assembled {
    load_text("a.toml", text, &[])
        .and_then(Scenario::assemble)
        .unwrap_or_else(|e| panic!("{e}"))
}

/// A fabric of about `size` hosts, with a message between the first two and a fault on every link.
fn fabric(kind: &str, size: u32) -> String {
    let (key, size) = match kind {
        "star" => ("hosts", size),
        "dumbbell" => ("pairs", size / 2),
        "multi-bottleneck" => ("flows", size),
        other => panic!("no key for {other}"),
    };
    format!(
        "transport.kind = \"expresspass\"\n[topology]\nkind = \"{kind}\"\n{key} = {size}\n\
         [[workload]]\nkind = \"long-flows\"\npairs = [\"0 -> 1\"]\n\
         [[faults]]\nkind = \"loss\"\nlink = \"* -> *\"\nchance = 0.1\n[run]\nuntil = \"1us\"\n"
    )
}

#[test]
fn checking_and_running_take_memory_in_proportion_to_hosts() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    for kind in ["star", "dumbbell", "multi-bottleneck"] {
        let [(check, run), (check_twice, run_twice)] = [1_000, 2_000].map(|size| {
            let ((of, figures), check) = most_held(|| {
                let of = assembled(&fabric(kind, size));
                let figures = of.figures();
                (of, figures)
            });
            assert!(
                figures.iter().any(|f| f.name.starts_with("queue bound")),
                "{kind}"
            );
            let (record, run) = most_held(|| of.run(1, "", &mut scenario::Alone));
            assert!(record.is_ok(), "{kind}");
            (check, run)
        });
        assert!(
            check_twice < check * 9 / 4,
            "{kind}: {check} then {check_twice}"
        );
        assert!(run_twice < run * 9 / 4, "{kind}: {run} then {run_twice}");
    }
}
