//! The program `tidegate`.

use std::process::ExitCode;

fn main() -> ExitCode {
    let code = tidegate_cli::main_with(std::env::args_os());
    ExitCode::from(u8::try_from(code).unwrap_or(u8::MAX))
}
