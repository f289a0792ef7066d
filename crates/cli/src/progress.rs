//! The progress bar, and signals that end a run.

use crate::screen::Screen;
use indicatif::{ProgressBar, ProgressStyle};
use results::{FileError, FlowRow, FlowWriter, Names, human};
use scenario::{Progress, Watch};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// A second signal within this time belongs to the first: a terminal that closes sends several. [ours]
const SAME_SIGNAL: Duration = Duration::from_millis(500);

/// Lets Ctrl-C end runs after their current window, and what asks a program to end (SIGTERM) or tells
/// it that its terminal is gone (SIGHUP) likewise. Asked again it ends the program at once.
pub(crate) fn catch_interrupts() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let ignored = hangup::is_ignored();
        let mut first = None;
        // Where a handler is set already (inside another program), that one decides.
        let _ = ctrlc::set_handler(move || {
            let now = clock();
            let asked = *first.get_or_insert(now);
            INTERRUPTED.store(true, Ordering::Relaxed);
            if now.duration_since(asked) > SAME_SIGNAL {
                #[allow(clippy::exit, reason = "asked twice, and nothing else ends a window")]
                std::process::exit(crate::exit::INTERRUPTED);
            }
        });
        if ignored {
            hangup::ignore();
        }
    });
}

/// Lets a file that grows beyond what the system allows be an error of writing, and not the end of the program.
#[cfg(unix)]
pub(crate) fn outlive_large_files() {
    // SAFETY: no code runs on a signal that is ignored.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}

#[cfg(not(unix))]
pub(crate) fn outlive_large_files() {}

/// Whether a run must end.
pub(crate) fn interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

/// What `nohup` asks for: to go on where the terminal is gone.
#[cfg(unix)]
mod hangup {
    pub(super) fn is_ignored() -> bool {
        let mut action = std::mem::MaybeUninit::<libc::sigaction>::uninit();
        // SAFETY: with no new action the call only fills in the old one.
        unsafe {
            libc::sigaction(libc::SIGHUP, std::ptr::null(), action.as_mut_ptr()) == 0
                && action.assume_init().sa_sigaction == libc::SIG_IGN
        }
    }

    pub(super) fn ignore() {
        // SAFETY: no code runs on a signal that is ignored.
        unsafe { libc::signal(libc::SIGHUP, libc::SIG_IGN) };
    }
}

#[cfg(not(unix))]
mod hangup {
    pub(super) fn is_ignored() -> bool {
        false
    }
    pub(super) fn ignore() {}
}

/// Real time, for what people see; nothing simulated depends on it.
#[allow(
    clippy::disallowed_methods,
    reason = "progress and meta.json are about real time"
)]
pub(crate) fn clock() -> Instant {
    Instant::now()
}

/// The date, for `meta.json`.
#[allow(clippy::disallowed_methods, reason = "meta.json is about real time")]
pub(crate) fn date() -> SystemTime {
    SystemTime::now()
}

/// Completions are written for whoever kills the run before its end, and a run that is over sooner writes all of them by itself.
const TELL_EVERY: Duration = Duration::from_secs(1);

/// Between two looks at the clock.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Shows how far a run is, streams its completions to a file, and ends it when asked to.
pub(crate) struct Viewer {
    bar: Option<ProgressBar>,
    began: Instant,
    shown: Instant,
    flows: Option<FlowWriter>,
    /// Completions that are to be written, and when others were.
    rows: Vec<FlowRow>,
    told: Instant,
    /// The first file that could not be written; the run goes on.
    pub(crate) failed: Option<FileError>,
}

impl Viewer {
    pub(crate) fn new(screen: &Screen, name: &str, flows: Option<FlowWriter>) -> Self {
        let bar = screen.live.then(|| {
            let bar = ProgressBar::new(1000);
            let style = ProgressStyle::with_template(" {prefix} [{bar:12}] {wide_msg}");
            bar.set_style(style.expect("the template is fixed").progress_chars("=> "));
            bar.set_prefix(name.to_owned());
            bar
        });
        let now = clock();
        Self {
            bar,
            began: now,
            shown: now,
            flows,
            rows: Vec::new(),
            told: now,
            failed: None,
        }
    }

    /// Takes the bar away.
    pub(crate) fn finish(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
        self.flows = None;
    }

    fn show(&mut self, progress: &Progress) {
        let Some(bar) = &self.bar else { return };
        let now = clock();
        if now.duration_since(self.shown) < LOOK_EVERY {
            return;
        }
        self.shown = now;
        let elapsed = now.duration_since(self.began).as_secs_f64();
        let by_time = progress.now.0 as f64 / progress.until.0.max(1) as f64;
        let by_messages = progress.done as f64 / progress.total.max(1) as f64;
        // A run ends with its last message or with its time, whichever is first.
        let share = by_time.max(by_messages).clamp(0.0, 1.0);
        let left = if share > 0.01 {
            elapsed * (1.0 - share) / share
        } else {
            f64::INFINITY
        };
        let left = if left.is_finite() {
            format!(", {:.0} s left", left.ceil())
        } else {
            String::new()
        };
        let rate = progress.hops as f64 / elapsed.max(1e-6) / 1e6;
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "0 to 1 times 1000"
        )]
        bar.set_position((share * 1000.0) as u64);
        // A narrow terminal cuts the end off: what matters most comes first.
        bar.set_message(format!(
            "{:.0}%{left}, {} simulated, {rate:.1} Mhops/s, {} active, {} of {} messages done",
            (share * 100.0).floor(),
            human::time(units::Span(progress.now.0)),
            human::count(progress.active),
            human::count(progress.done),
            human::count(progress.total),
        ));
    }
}

impl Watch for Viewer {
    fn progress(&mut self, progress: &Progress) -> bool {
        self.show(progress);
        !interrupted()
    }

    fn warned(&mut self, warning: &str) {
        if let Some(bar) = &self.bar {
            bar.println(warning);
        }
    }

    fn completed(&mut self, rows: &[FlowRow], names: Names<'_>) {
        let Some(writer) = &mut self.flows else {
            return;
        };
        self.rows.extend_from_slice(rows);
        let now = clock();
        if now.duration_since(self.told) < TELL_EVERY {
            return;
        }
        self.told = now;
        if let Err(error) = writer.append(&self.rows, names) {
            self.failed.get_or_insert(error);
            self.flows = None;
        }
        self.rows.clear();
    }
}
