//! Where text goes: tables to standard output, errors and progress to standard error.

use crate::args::Global;
use crate::exit;
use indicatif::{ProgressBar, ProgressStyle};
use results::Style;
use scenario::{Errors, ends_of};
use std::io::{self, IsTerminal, Write};
use std::sync::OnceLock;

/// Columns of a terminal that does not say how wide it is.
const WIDTH: usize = 120;

/// The terminal, or its replacement.
pub(crate) struct Screen {
    quiet: bool,
    verbose: bool,
    /// How tables are shown.
    pub(crate) style: Style,
    error_color: bool,
    /// Whether somebody sees standard error as it is written.
    pub(crate) live: bool,
    /// Why standard output does not hold all that was printed.
    lost: OnceLock<io::Error>,
}

impl Screen {
    pub(crate) fn new(global: &Global) -> Self {
        let wanted = !global.no_color && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty());
        let (out, err) = (io::stdout().is_terminal(), io::stderr().is_terminal());
        let columns = std::env::var("COLUMNS").ok().and_then(|c| c.parse().ok());
        let measured = || {
            console::Term::stdout()
                .size_checked()
                .map(|(_, columns)| columns.into())
        };
        let width = columns.or_else(measured).unwrap_or(WIDTH);
        let style = if out {
            Style {
                width,
                colour: wanted,
            }
        } else {
            Style::PLAIN
        };
        Self {
            quiet: global.quiet,
            verbose: global.verbose,
            style,
            error_color: wanted && err,
            live: err && !global.quiet,
            lost: OnceLock::new(),
        }
    }

    /// One that shows nothing but errors, for runs side by side.
    pub(crate) fn silent() -> Self {
        Self {
            quiet: true,
            verbose: false,
            style: Style::PLAIN,
            error_color: false,
            live: false,
            lost: OnceLock::new(),
        }
    }

    /// A bar that counts runs.
    pub(crate) fn count_bar(&self, runs: u64) -> ProgressBar {
        if !self.live {
            return ProgressBar::hidden();
        }
        let bar = ProgressBar::new(runs);
        let style = ProgressStyle::with_template(" [{bar:24}] {pos}/{len} runs, {eta} left");
        bar.set_style(style.expect("the template is fixed").progress_chars("=> "));
        bar.tick();
        bar
    }

    /// Prints what was asked for.
    pub(crate) fn print(&self, text: &str) {
        let mut out = io::stdout().lock();
        if let Err(error) = out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
            self.lose(error);
        }
    }

    /// Notes that something could not be printed; [`Screen::end`] tells.
    pub(crate) fn lose(&self, error: io::Error) {
        // A reader that went away (`| head`) is no failure of ours.
        if error.kind() != io::ErrorKind::BrokenPipe {
            let _ = self.lost.set(error);
        }
    }

    /// The exit code of a command that ended with `code`: another one where all was well and what was
    /// asked for was not printed.
    pub(crate) fn end(&self, code: i32) -> i32 {
        match self.lost.get() {
            Some(error) => {
                let told = self.fail(exit::IO, &format!("cannot write standard output: {error}"));
                if code == exit::OK { told } else { code }
            }
            None => code,
        }
    }

    /// Prints unless --quiet.
    pub(crate) fn say(&self, text: &str) {
        if !self.quiet {
            self.print(text);
        }
    }

    /// A remark on standard error, with --verbose.
    pub(crate) fn detail(&self, text: &str) {
        if self.verbose {
            let _ = writeln!(io::stderr(), "{text}");
        }
    }

    /// A warning on standard error, unless --quiet.
    pub(crate) fn warn(&self, text: &str) {
        if !self.quiet {
            let _ = writeln!(io::stderr(), "warning: {}", ends_of(text));
        }
    }

    /// What is wrong with a scenario; returns the exit code.
    pub(crate) fn wrong(&self, errors: &Errors) -> i32 {
        let _ = write!(io::stderr(), "{}", errors.render(self.error_color));
        exit::USAGE
    }

    /// An error without a place; returns `code`.
    #[allow(clippy::unused_self, reason = "every output goes through the screen")]
    pub(crate) fn fail(&self, code: i32, text: &str) -> i32 {
        let _ = writeln!(io::stderr(), "error: {}", ends_of(text));
        code
    }
}
