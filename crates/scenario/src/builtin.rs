//! Scenarios that need no file.

/// A scenario that is part of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Builtin {
    /// Its name on the command line.
    pub name: &'static str,
    /// Its file, with comments.
    pub text: &'static str,
}

impl Builtin {
    /// What it shows: the first comment of its file.
    pub fn summary(&self) -> &'static str {
        self.text
            .lines()
            .next()
            .unwrap_or("")
            .trim_start_matches(['#', ' '])
    }
}

macro_rules! builtins {
    ($($name:literal),* $(,)?) => {
        &[$(Builtin { name: $name, text: include_str!(concat!("../scenarios/", $name, ".toml")) }),*]
    };
}

/// Every built-in scenario, in the order in which lists show them.
pub fn all() -> &'static [Builtin] {
    builtins![
        "incast",
        "incast-rr",
        "permutation",
        "shuffle",
        "all-to-all",
        "dumbbell",
        "parking-lot",
        "multi-bottleneck",
        "long-flows",
        "web-server",
        "cache-follower",
        "web-search",
        "data-mining",
        "xpass-fat-tree",
        "aeolus-world",
    ]
}

/// The built-in scenario of this name.
pub fn find(name: &str) -> Option<&'static Builtin> {
    all().iter().find(|b| b.name == name)
}
