//! What every transport must do, as a suite that runs over any of them: [`crate::conformance!`]
//! makes its tests.
//!
//! `CONFORMANCE_ONLY=dctcp` restricts it to subjects whose names contain the text, and
//! `CONFORMANCE_SEEDS=1..5000` sets the seeds of the random conversations.

#![allow(
    clippy::redundant_closure_for_method_calls,
    reason = "a method of one lifetime is no function of every lifetime"
)]

mod headers;
mod memory;
mod pauses;
mod suite;

pub use headers::*;
pub use memory::*;
pub use pauses::*;
pub use suite::*;

use crate::{Make, Pair};
use model::wire::Codec;
use model::{Endpoint, EndpointConfig};
use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Makes the tests of the conformance suite, over the subjects that an expression gives: a
/// `Vec<Subject>`. A test file holds it once, for it also counts what is allocated.
///
/// ```
/// # fn subjects() -> Vec<testkit::conformance::Subject> { Vec::new() }
/// testkit::conformance!(subjects());
/// # fn main() {}
/// ```
#[macro_export]
macro_rules! conformance {
    ($subjects:expr) => {
        #[global_allocator]
        static ALLOCATOR: $crate::conformance::Counted = $crate::conformance::Counted;
        $crate::conformance! { $subjects;
            messages_of_every_size_arrive,
            ten_megabytes_fill_the_line_without_repetition,
            any_packet_may_be_lost,
            any_packet_may_come_twice,
            any_packet_may_be_overtaken,
            any_packet_may_come_when_all_is_over,
            any_two_packets_may_be_lost,
            any_moment_may_begin_a_long_silence,
            a_broken_link_delays_but_does_not_end,
            many_send_to_one,
            one_sends_to_many_while_they_answer,
            a_connection_serves_both_ways_again_and_again,
            messages_of_one_connection_queue_in_order,
            a_cancelled_message_ends_on_both_sides_after_what_had_left,
            a_cancelled_question_is_answered,
            a_host_forgets_when_it_is_told_to,
            a_receiver_alone_forgets,
            one_end_forgets_a_lasting_connection,
            a_pause_holds_back_and_is_no_loss,
            a_pause_of_nothing_changes_nothing,
            a_spurious_deadline_changes_nothing,
            work_grows_with_packets_only,
            the_same_seed_gives_the_same_run,
            random_conversations_end_well,
            totals_agree_with_the_line,
            every_header_comes_back_from_the_wire,
            scripts_of_every_seed_leave_endpoints_whole,
            a_message_that_is_done_is_forgotten,
            what_is_forgotten_costs_nothing,
            an_idle_connection_costs_little,
            a_flood_of_openings_is_bounded_and_expires,
        }
    };
    ($subjects:expr; $($test:ident),* $(,)?) => {
        $(
            #[test]
            fn $test() {
                $crate::conformance::$test(&$crate::conformance::chosen($subjects));
            }
        )*
    };
}

/// A transport, configured.
pub struct Subject {
    name: String,
    codec: &'static dyn Codec,
    make: Box<Make<'static>>,
}

impl Subject {
    /// A transport of this name, whose endpoints `make` makes.
    pub fn new(
        name: impl Into<String>,
        codec: &'static dyn Codec,
        make: impl Fn(&EndpointConfig) -> Box<dyn Endpoint> + 'static,
    ) -> Self {
        Self {
            name: name.into(),
            codec,
            make: Box::new(make),
        }
    }

    fn codec(&self) -> &'static dyn Codec {
        self.codec
    }

    fn make(&self) -> &Make<'static> {
        &*self.make
    }

    /// Two hosts on a line.
    fn pair<'a>(&self, make: &'a Make<'a>) -> Pair<'a> {
        Pair::new(make, self.codec).named(&self.name)
    }

    /// Plays a script of hostile bytes against it: see [`crate::feed`].
    pub fn feed(&self, bytes: &[u8]) {
        crate::feed(self.make(), self.codec, bytes);
    }

    /// Several hosts around a hub.
    fn star<'a>(&self, hosts: usize, make: &'a Make<'a>) -> Pair<'a> {
        Pair::star(hosts, make, self.codec).named(&self.name)
    }
}

impl fmt::Debug for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Subject({})", self.name)
    }
}

/// The subjects that `CONFORMANCE_ONLY` asks for: the one of that name, or those whose names
/// contain it; all of them where it is not set.
///
/// # Panics
/// If there is none: a suite without a subject passes whatever is wrong.
pub fn chosen(mut all: Vec<Subject>) -> Vec<Subject> {
    if let Ok(only) = std::env::var("CONFORMANCE_ONLY") {
        let exactly = all.iter().any(|subject| subject.name == only);
        all.retain(|subject| subject.name == only || (!exactly && subject.name.contains(&only)));
    }
    assert!(!all.is_empty(), "no transport to test");
    all
}

/// Runs `test` on every subject, and then complains about all that failed.
fn each(subjects: &[Subject], test: impl Fn(&Subject)) {
    let mut failures = Failures::default();
    for subject in subjects {
        failures.watch(&subject.name, || test(subject));
    }
    failures.report();
}

/// What went wrong, so that one failure does not hide the next.
#[derive(Default)]
struct Failures(Vec<String>);

/// Failures that are shown in full.
const SHOWN_MAX: usize = 5;

impl Failures {
    fn watch(&mut self, what: &str, test: impl FnOnce()) {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(test)) {
            self.0.push(format!("--- {what}: {}", message(&*panic)));
        }
    }

    fn report(self) {
        let shown: Vec<_> = self.0.iter().take(SHOWN_MAX).map(String::as_str).collect();
        assert!(
            shown.is_empty(),
            "{} failures:\n{}",
            self.0.len(),
            shown.join("\n")
        );
    }
}

fn message(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("a panic without a message")
}
