//! What several of these tests begin with.

use scenario::{Assembled, Request, Scenario, load};

/// A scenario, built in or of a file, with `sets` over it, ready to run.
pub(crate) fn assembled(from: &str, sets: &[&str]) -> Assembled {
    let sets: Vec<_> = sets.iter().map(|s| (*s).to_owned()).collect();
    load(&Request { from, sets: &sets })
        .and_then(Scenario::assemble)
        .unwrap_or_else(|e| panic!("{e}"))
}
