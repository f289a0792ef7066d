//! tidegate with one more transport: every command knows it.

fn main() -> std::process::ExitCode {
    let transports = transports::registry().with(&fixed_window::TRANSPORT);
    tidegate_cli::run(&transports)
}
