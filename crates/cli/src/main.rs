//! The program `tidegate`.

fn main() -> std::process::ExitCode {
    tidegate_cli::run(&transports::registry())
}
