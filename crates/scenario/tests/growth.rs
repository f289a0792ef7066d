//! How much memory scenarios take, counted allocation by allocation.

use scenario::{Assembled, load_text};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use units::Bytes;

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

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // What grows moves without being held twice, where it is large.
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        let held = HELD.fetch_add(size, Ordering::Relaxed) + size;
        MOST.fetch_max(held, Ordering::Relaxed);
        // SAFETY: the caller keeps the contract.
        unsafe { System.realloc(place, layout, size) }
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

fn within(text: &str, limit: u64) -> Result<Assembled, scenario::Errors> {
    let mut scenario = load_text("a.toml", text, &[])?;
    scenario.memory_limit = Some(Bytes(limit));
    scenario.assemble()
}

fn assembled(text: &str) -> Assembled {
    within(text, u64::MAX).unwrap_or_else(|e| panic!("{e}"))
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

const MB: usize = 1_000_000;

/// Asks for more than 3 GB, and is refused with this, before it takes a tenth of that.
fn refused(text: &str, says: [&str; 3]) {
    let (refusal, held) = most_held(|| within(text, 3_000_000_000).map(|_| ()));
    let refusal = refusal
        .expect_err("it takes more than is allowed")
        .to_string();
    for part in says {
        assert!(refusal.contains(part), "no \"{part}\" in {refusal}");
    }
    assert!(held < 300 * MB, "{held} bytes to say {refusal}");
}

#[test]
fn what_does_not_fit_is_refused_before_it_is_made() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let traffic = "[[workload]]\nkind = \"incast\"\nsize = \"1KB\"\nsenders = 2\n";
    let network =
        |topology: &str| format!("transport.kind = \"dctcp\"\n[topology]\n{topology}\n{traffic}");
    refused(
        &network("kind = \"parking-lot\"\nbottlenecks = 65_535"),
        [
            "65,536 switches need 4,294,967,296 routes",
            "bottlenecks = 65_535",
            "smaller topology.bottlenecks",
        ],
    );
    refused(
        &network("kind = \"fat-tree\"\nk = 120"),
        [
            "at least 4.6 GB of memory, and 3 GB may be taken",
            "k = 120",
            "--memory-limit 5.82GB is enough",
        ],
    );
    refused(
        "transport.kind = \"dctcp\"\n[topology]\nkind = \"star\"\nhosts = 8\n[[workload]]\n\
         kind = \"incast\"\nsize = \"1KB\"\nsenders = 16777216\n",
        [
            "16,777,216 messages",
            "senders = 16777216",
            "--memory-limit 36.1GB is enough",
        ],
    );
    // What is large and fits is answered.
    let (of, held) = most_held(|| {
        let of = assembled(&network("kind = \"star\"\nhosts = 60_000"));
        assert!(!of.figures().is_empty());
        of
    });
    assert_eq!(of.topology.hosts, 60_000);
    assert!(held < 100 * MB, "{held}");
}

/// Messages under way and samples are known when all of a run is there; it was measured by its sizes alone.
#[test]
fn a_run_that_takes_more_than_its_sizes_say_is_refused() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let text = "transport.kind = \"expresspass\"\n[topology]\nkind = \"star\"\nhosts = 8\n[[workload]]\n\
                kind = \"incast\"\nsize = \"1KB\"\nsenders = 20000\n";
    let mut of = assembled(text);
    of.look_ahead();
    let need = of.need().0;
    assert!(within(text, need).is_ok());
    let refusal = within(text, need - 1).map(|_| ());
    let refusal = refusal.expect_err("it takes a byte more").to_string();
    assert!(refusal.contains("a smaller workload.senders"), "{refusal}");
}

/// Sizes and starts may say more than the beginning of a run shows, which `check` looks at.
#[test]
fn a_run_that_check_finds_room_for_is_not_refused() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let text = "transport.kind = \"dctcp\"\noutput.every = \"1us\"\n[topology]\nkind = \"star\"\nhosts = 8\n[[workload]]\n\
                kind = \"random\"\nsizes = \"web-server\"\nload = 0.3\nmessages = 20000\n";
    let mut of = assembled(text);
    let before = of.need();
    of.look_ahead();
    let need = of.need();
    assert!(need < before, "{need} of {before}");
    let run = within(text, need.0).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(run.need(), before, "it says of itself what it always does");
    assert!(within(text, need.0 - 1).is_err());
}

/// Of dcPIM's crowd `check` said 168 MB, and a run was refused at 195, which its sizes and starts say.
#[test]
fn a_run_is_refused_where_check_says_more_and_says_as_much() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let incast = "[topology]\nkind = \"star\"\nhosts = 64\n[[workload]]\nkind = \"incast\"\nsenders = 30000\nsize = \"1KB\"\n";
    let sampled = "output.every = \"10ns\"\n[topology]\nkind = \"star\"\nhosts = 64\n[[workload]]\nkind = \"permutation\"\n\
                   size = \"9MB\"\n";
    for (text, key) in [(incast, "workload.senders"), (sampled, "output.every")] {
        for transport in ["dcpim", "dctcp"] {
            let text = format!("transport.kind = \"{transport}\"\n{text}");
            let mut of = assembled(&text);
            of.look_ahead();
            let need = of.need().0;
            assert!(within(&text, need).is_ok(), "{transport}");
            let refusal = within(&text, need - 1).map(|_| ());
            let refusal = refusal.expect_err("check says more").to_string();
            let said = results::human::bytes(Bytes(need));
            let enough = format!("--memory-limit {} is enough", said.replace(' ', ""));
            let taken = format!(
                "about {said} of memory, and {} may be taken",
                Bytes(need - 1)
            );
            for part in [&taken, key, &enough] {
                assert!(
                    refusal.contains(part),
                    "{transport}: no \"{part}\" in {refusal}"
                );
            }
        }
    }
}

/// Of many sources nobody writes the number of messages: it follows from the fabric, from a load, from a file.
#[test]
fn a_refusal_names_a_key_that_makes_it_less() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let star = "kind = \"star\"\nhosts = 200";
    for (topology, workload, less) in [
        (
            star,
            "kind = \"all-to-all\"\nsize = \"1KB\"",
            "choose a smaller topology.hosts",
        ),
        (
            star,
            "kind = \"shuffle\"\nsize = \"1KB\"\ntasks = 1",
            "choose a smaller topology.hosts",
        ),
        (
            star,
            "kind = \"shuffle\"\nsize = \"1KB\"\ntasks = 2",
            "choose a smaller workload.tasks",
        ),
        (
            "kind = \"star\"\nhosts = 9000",
            "kind = \"permutation\"\nsize = \"1KB\"",
            "choose a smaller topology.hosts",
        ),
        (
            star,
            "kind = \"random\"\nload = 0.5\nsizes = \"homa-w1\"\nstop = \"3ms\"",
            "set workload.messages, or choose a shorter run.until",
        ),
        (
            star,
            "kind = \"random\"\nload = 0.5\nsizes = \"homa-w1\"\nmessages = 30000",
            "choose a smaller workload.messages",
        ),
        (
            star,
            "kind = \"incast-rr\"\nsenders = 10\nrounds = 3000\nsize = \"1KB\"",
            "choose a smaller workload.rounds",
        ),
    ] {
        let text = format!(
            "transport.kind = \"dctcp\"\noutput.every = \"0s\"\n[topology]\n{topology}\n[[workload]]\n{workload}\n"
        );
        let refusal = within(&text, 15_000_000).map(|_| ());
        let refusal = refusal.expect_err(workload).to_string();
        assert!(refusal.contains(less), "{workload}: {refusal}");
        let enough = [
            " is enough for this run",
            ": check without one says how much",
        ];
        assert!(
            enough.iter().any(|said| refusal.contains(said)),
            "{refusal}"
        );
    }
}

/// What sizes say is no more than what a run turns out to take, and what they say at most is no less.
#[test]
fn a_limit_that_an_early_refusal_names_is_enough() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let registry = transports::registry();
    let drawn = (1..=60).map(|seed| scenario::fuzz::text(&registry, seed));
    let mut known = 0;
    for text in drawn {
        let scenario = load_text("a.toml", &text, &[]).unwrap_or_else(|e| panic!("{e}\n{text}"));
        let (least, most) = (scenario.need(), scenario.need_at_most());
        let mut of = scenario
            .assemble()
            .unwrap_or_else(|e| panic!("{e}\n{text}"));
        of.look_ahead();
        let need = of.need();
        assert!(least <= need, "{least} of {need}\n{text}");
        if let Some(most) = most {
            known += 1;
            assert!(need <= most, "{need} of {most}\n{text}");
        }
    }
    assert!(known > 20, "{known}");
}

/// A look ahead counts who is under way every few windows, between which a crowd of short messages is over.
#[test]
fn a_crowd_that_starts_at_one_moment_is_under_way_at_that_moment() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let text = "transport.kind = \"dctcp\"\n[topology]\nkind = \"star\"\nhosts = 256\n[[workload]]\n\
                kind = \"all-to-all\"\nsize = \"1KB\"\n";
    let mut of = assembled(text);
    let messages = of.traffic.messages.len() as u64;
    of.look_ahead();
    // The program, and more than a message takes that is over.
    let least = (11 << 20) + 1_000 * messages;
    assert!(of.need().0 > least, "{} of {least}", of.need());
}

/// What `check` says of memory, in bytes.
fn estimate(of: &Assembled) -> f64 {
    let figures = of.figures();
    let memory = figures
        .iter()
        .find(|f| f.name == "memory")
        .expect("it is said");
    let text = memory
        .value
        .strip_prefix("about ")
        .expect("an estimate")
        .replace(' ', "");
    text.parse::<Bytes>().expect("a size").0 as f64
}

#[test]
fn the_estimate_of_memory_is_near_what_a_run_holds() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let star = "[topology]\nkind = \"star\"\nhosts = 8000\n[[workload]]\nkind = \"permutation\"\nsize = \"1KB\"\n";
    let clos = "[topology]\nkind = \"fat-tree\"\nk = 16\n[[workload]]\nkind = \"permutation\"\nsize = \"30KB\"\n";
    let many = "[topology]\nkind = \"star\"\nhosts = 64\n[[workload]]\nkind = \"incast\"\n\
                senders = 40_000\nsize = \"100B\"\njitter = \"4ms\"\n";
    // Cut before the end, with lines so busy that every sample says something new; and with lines of which few are busy.
    let cut = "run.until = \"1ms\"\noutput.every = \"1us\"\n[topology]\nkind = \"star\"\nhosts = 64\n\
               [[workload]]\nkind = \"permutation\"\nsize = \"1GB\"\n";
    let quiet = "run.until = \"1ms\"\noutput.every = \"100ns\"\n[topology]\nkind = \"star\"\nhosts = 64\n\
                 [[workload]]\nkind = \"incast\"\nsenders = 32\nsize = \"1MB\"\n";
    for (name, text) in [
        ("star", star),
        ("clos", clos),
        ("many", many),
        ("cut", cut),
        ("quiet", quiet),
    ] {
        for transport in ["dctcp", "expresspass"] {
            let text = format!("transport.kind = \"{transport}\"\n{text}");
            let (said, held) = most_held(|| {
                let of = assembled(&text);
                let ran = of.run_traced(1, "", &mut scenario::Alone);
                let (record, _events) = ran.expect("it runs");
                assert_eq!(record.flows.len(), of.traffic.messages.len());
                estimate(&of)
            });
            // The program and what writes its tables are in the estimate, and not on this heap.
            let ratio = (said - 11.0 * MB as f64) / held as f64;
            println!("{name}, {transport}: {said} said, {held} held");
            assert!(
                (0.5..2.5).contains(&ratio),
                "{name}, {transport}: {said} said, {held} held"
            );
        }
    }
}

/// Under a flow control a short run keeps nothing of single packets and is run again, to explain its slowest messages.
#[test]
fn what_explaining_takes_under_a_flow_control_is_in_the_estimate() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    for (control, size) in [("pfc", "2MB"), ("bfc", "1MB"), ("ideal", "500KB")] {
        let text = format!(
            "transport.kind = \"dctcp\"\noutput.every = \"0s\"\nswitch.flow_control = \"{control}\"\n[topology]\n\
             kind = \"leaf-spine\"\nleaves = 4\nspines = 4\nhosts_per_leaf = 8\n\
             [[workload]]\nkind = \"permutation\"\nsize = \"{size}\"\n"
        );
        let (said, held) = most_held(|| {
            let of = assembled(&text);
            let ran = of.run_traced(1, "", &mut scenario::Alone);
            let (mut record, seen) = ran.expect("it runs");
            let mut summary = results::Summary::of(&record);
            of.explain_slowest(&mut record, &mut summary, seen, 1, &mut scenario::Alone);
            assert!(!record.why.is_empty(), "{control}");
            estimate(&of)
        });
        let ratio = (said - 11.0 * MB as f64) / held as f64;
        assert!(
            (0.5..2.0).contains(&ratio),
            "{control}: {said} said, {held} held"
        );
    }
}
