//! The command line: parse, call, print. What a scenario means is decided in crate `scenario`,
//! what a table looks like in crate `results`, a page in
//! `report`, what is expected of a published figure in `experiments`.

mod args;
pub mod carried;
mod cmd_advise;
mod cmd_bench;
mod cmd_commands;
mod cmd_compare;
mod cmd_describe;
mod cmd_fuzz;
mod cmd_gallery;
mod cmd_import;
mod cmd_live;
mod cmd_new;
mod cmd_new_transport;
mod cmd_playground;
mod cmd_report;
mod cmd_reproduce;
mod cmd_run;
mod cmd_trace;
mod cmd_why;
mod cmd_wire;
mod complete;
mod find_load;
mod kept;
mod progress;
mod room;
mod screen;

pub use cmd_report::table;
pub use cmd_run::derived;

use args::{Cli, Command, Global};
use clap::Parser;
use screen::Screen;
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::OnceLock;
use transports::Registry;

/// Exit codes, the same for every command.
pub mod exit {
    /// All good.
    pub const OK: i32 = 0;
    /// A threshold of the scenario was not met.
    pub const THRESHOLD: i32 = 1;
    /// The command line or the scenario is wrong; nothing was written.
    pub const USAGE: i32 = 2;
    /// The simulation broke an invariant: packets unaccounted for, or flows stuck, as in a deadlock.
    pub const BROKEN: i32 = 3;
    /// A file could not be read or written.
    pub const IO: i32 = 4;
    /// Interrupted; partial results were kept and are marked.
    pub const INTERRUPTED: i32 = 130;
}

/// Runs the program with the arguments of this process and with these transports: the whole body of
/// a `main`.
pub fn run(transports: &Registry) -> ExitCode {
    let code = main_with(std::env::args_os(), transports);
    ExitCode::from(u8::try_from(code).unwrap_or(u8::MAX))
}

/// The words that start this program again; its own file by default.
static LAUNCHER: OnceLock<Vec<OsString>> = OnceLock::new();

/// Says how to start this program again, where it is not a file of its own but a module of an
/// interpreter. What is said first counts.
pub fn launched_by(words: Vec<OsString>) {
    let _ = LAUNCHER.set(words);
}

/// The words that start this program again.
pub(crate) fn itself() -> io::Result<Vec<OsString>> {
    match LAUNCHER.get() {
        Some(words) => Ok(words.clone()),
        None => Ok(vec![std::env::current_exe()?.into_os_string()]),
    }
}

/// The sources of tidegate that this program carries.
static SOURCES: OnceLock<&'static [u8]> = OnceLock::new();

/// Says that this program carries tidegate's sources, as [`carried::pack`] makes them: a crate that
/// `new-transport` writes is then built with them. What is said first counts.
pub fn carries(sources: &'static [u8]) {
    let _ = SOURCES.set(sources);
}

/// Runs the program with these arguments, its own name first, and returns its exit code.
pub fn main_with(args: impl Iterator<Item = OsString>, transports: &Registry) -> i32 {
    progress::outlive_large_files();
    let mut args = args.peekable();
    let program = args.peek().map(Path::new).and_then(Path::file_stem);
    let program = program.map(|name| name.to_string_lossy().into_owned());
    let mut cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(error) => {
            let text = error.render().to_string();
            let shown = scenario::ends_of(&text);
            if error.use_stderr() && shown != text {
                let _ = writeln!(io::stderr(), "{shown}");
                return exit::USAGE;
            }
            let printed = error.print();
            if error.use_stderr() {
                return exit::USAGE;
            }
            // Help and version go to standard output and are no error.
            let screen = Screen::silent();
            if let Err(lost) = printed {
                screen.lose(lost);
            }
            return screen.end(exit::OK);
        }
    };
    cli.global.transports = transports.clone();
    cli.global.program = program.unwrap_or_default();
    let screen = Screen::new(&cli.global);
    let code = match cli.command {
        Some(command) => dispatch(command, &cli.global, &screen),
        None if cli.version => cmd_describe::version(&cli.global, &screen),
        None => screen.fail(
            exit::USAGE,
            "no command was given; tidegate --help lists them",
        ),
    };
    screen.end(code)
}

/// What the command line asks for and `command` would not do.
fn unheeded(command: &Command, global: &Global) -> Option<&'static str> {
    use Command as C;
    let tells = matches!(
        command,
        C::List(_)
            | C::Explain(_)
            | C::Schema(_)
            | C::Completions(_)
            | C::Complete(_)
            | C::Import(_)
            | C::Version
    );
    let reads = matches!(
        command,
        C::Check(_) | C::Fingerprint(_) | C::Why(_) | C::Trace(_) | C::Pcap(_) | C::Fuzz(_)
    );
    let unplanned = matches!(
        command,
        C::Why(_) | C::Trace(_) | C::Pcap(_) | C::Bench(_) | C::New(_) | C::Report(_)
    );
    let fixed = matches!(
        command,
        C::Bench(_) | C::New(_) | C::NewTransport(_) | C::Report(_)
    );
    // A bench of wires has a limit of its own, and an import is checked.
    let runs_nothing =
        (tells && !matches!(command, C::Import(_))) || fixed || matches!(command, C::Playground);
    let alone = runs_nothing && !matches!(command, C::Bench(_))
        || matches!(command, C::Check(_) | C::Import(_) | C::Wire(_));
    let sown = matches!(command, C::Reproduce(_) | C::Advise(_) | C::Fuzz(_));
    if global.out.is_some() && (tells || reads) {
        Some("--out means nothing here, where no folder of results is written; run writes one")
    } else if global.dry_run && (tells || unplanned) {
        Some("--dry-run means nothing here, where nothing is planned; leave it out")
    } else if global.junit.is_some() && !matches!(command, C::Run(_) | C::Compare(_)) {
        Some("--junit means nothing here, where no threshold is judged; run and compare judge them")
    } else if global.memory_limit.is_some() && (runs_nothing || matches!(command, C::Fuzz(_))) {
        Some("--memory-limit means nothing here, where no scenario of yours runs; leave it out")
    } else if global.jobs.is_some() && alone {
        Some("--jobs means nothing here, where nothing runs in threads; leave it out")
    } else if global.seed.is_some() && sown {
        Some("--seed means nothing here; --seeds says which are used, like --seeds 5")
    } else if (global.seed.is_some() || !global.sets.is_empty()) && (tells || fixed) {
        Some("--set and --seed mean nothing here, where no scenario is read; leave them out")
    } else {
        None
    }
}

fn dispatch(command: Command, global: &Global, screen: &Screen) -> i32 {
    if let Some(why) = unheeded(&command, global) {
        return screen.fail(exit::USAGE, why);
    }
    match command {
        Command::Run(args) => cmd_run::run(&args, global, screen),
        Command::Check(args) => cmd_run::check(&args, global, screen),
        Command::Fingerprint(args) => cmd_run::fingerprint(&args, global, screen),
        Command::Compare(args) => cmd_compare::run(&args, global, screen),
        Command::Bench(args) => cmd_bench::run(&args, global, screen),
        Command::Reproduce(args) => cmd_reproduce::run(&args, global, screen),
        Command::Advise(args) => cmd_advise::run(&args, global, screen),
        Command::Wire(args) => cmd_wire::run(&args, global, screen),
        Command::Why(args) => cmd_why::run(&args, global, screen),
        Command::Trace(args) => cmd_trace::run(&args, global, screen),
        Command::Pcap(args) => cmd_trace::pcap(&args, global, screen),
        Command::Fuzz(args) => cmd_fuzz::run(&args, global, screen),
        Command::New(args) => cmd_new::run(&args, global, screen),
        Command::NewTransport(args) => cmd_new_transport::run(&args, global, screen),
        Command::List(args) => cmd_describe::list(&args, global, screen),
        Command::Explain(args) => cmd_describe::explain(&args, global, screen),
        Command::Schema(args) => cmd_describe::schema(&args, global, screen),
        Command::Completions(args) => complete::script(&args, global, screen),
        Command::Complete(args) => complete::words(&args, global, screen),
        Command::Import(args) => cmd_import::run(&args, global, screen),
        Command::Version => cmd_describe::version(global, screen),
        Command::Playground => cmd_playground::run(global, screen),
        Command::Report(args) => cmd_report::run(&args, global, screen),
    }
}
