//! Ladders in tests and on pages.

use crate::{Make, Pair};
use model::wire::Codec;

/// The ladder of a conversation of two hosts that `script` writes down and that comes to its end.
pub fn ladder(
    make: &Make<'_>,
    codec: &'static dyn Codec,
    script: impl FnOnce(&mut Pair<'_>),
) -> String {
    let mut pair = Pair::new(make, codec);
    script(&mut pair);
    pair.run();
    pair.ladder()
}

/// The first block of text on a page.
///
/// # Panics
/// If there is none.
pub fn shown(page: &str) -> &str {
    let rest = page.split_once("```text\n").map(|(_, rest)| rest);
    let block = rest.and_then(|rest| rest.split_once("```"));
    block.expect("the page shows a ladder as ```text").0
}

/// Compares ladders line by line; the margin does not count.
///
/// # Panics
/// If they differ, with what was found.
#[track_caller]
pub fn same(found: &str, wanted: &str) {
    let lines = |text: &str| {
        let trimmed = text.lines().map(str::trim).filter(|line| !line.is_empty());
        trimmed.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(lines(found), lines(wanted), "found:\n{found}");
}

#[cfg(test)]
mod tests {
    use super::{same, shown};

    #[test]
    fn a_margin_does_not_count_and_a_line_does() {
        let page = "# A page\n\n```text\n  one\n  two\n```\n\n```text\nthree\n```\n";
        same("one\ntwo\n", shown(page));
        let short = std::panic::catch_unwind(|| same("one\n", shown(page)));
        assert!(short.is_err());
    }
}
