//! What the command line may say.

use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;
use transports::Registry;
use units::Bytes;

pub(crate) const AFTER: &str = "\
Exit codes: 0 all good, 1 a threshold failed, 2 usage or scenario error, 3 simulation invariant \
broken or flows stuck, 4 file error, 130 interrupted with partial results kept.

First steps:
  tidegate run incast                       a built-in scenario
  tidegate new my.toml --from web-search    a commented file to edit
  tidegate check my.toml                    what follows from it, without running
  tidegate compare my.toml --set 'transport.kind=[expresspass,dctcp]' --seeds 5";

/// Simulate, compare and run proactive datacenter transports.
#[derive(Parser, Debug)]
#[command(name = "tidegate", about, after_help = AFTER, max_term_width = 100)]
#[command(arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    /// Print the version; with --verbose what determines a result
    #[arg(long, short = 'V')]
    pub(crate) version: bool,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// Options of every command.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Global {
    /// Override a key of the scenario; may be repeated: --set workload.load=0.6
    #[arg(long = "set", value_name = "KEY=VALUE", global = true)]
    pub(crate) sets: Vec<String>,
    /// Seed of every random stream, instead of the scenario's
    #[arg(long, value_name = "N", global = true)]
    pub(crate) seed: Option<u64>,
    /// Threads: of one run, or runs side by side in a comparison
    #[arg(long, visible_alias = "threads", value_name = "N", global = true, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) jobs: Option<u16>,
    /// Folder of the results
    #[arg(long, value_name = "DIR", global = true)]
    pub(crate) out: Option<PathBuf>,
    /// Print one JSON document instead of tables
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Print errors only
    #[arg(long, short, global = true, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Say more
    #[arg(long, short, global = true)]
    pub(crate) verbose: bool,
    /// No colours; the variable `NO_COLOR` does the same
    #[arg(long, global = true)]
    pub(crate) no_color: bool,
    /// Say what would run, and stop
    #[arg(long, global = true)]
    pub(crate) dry_run: bool,
    /// Refuse scenarios that would take more memory; what this machine has where nothing is said
    #[arg(long, value_name = "SIZE", global = true)]
    pub(crate) memory_limit: Option<Bytes>,
    /// Also write the verdicts on the thresholds as `JUnit` XML
    #[arg(long, value_name = "FILE", global = true)]
    pub(crate) junit: Option<PathBuf>,
    /// The transports that this program knows: its `main` says so, not the command line.
    #[arg(skip = transports::registry())]
    pub(crate) transports: Registry,
    /// The name under which this program was called.
    #[arg(skip)]
    pub(crate) program: String,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Run a scenario: a file or a built-in name
    Run(RunArgs),
    /// Check a scenario without running it, and print what follows from it
    Check(ScenarioArgs),
    /// Run a scenario and print nothing but its fingerprint
    Fingerprint(ScenarioArgs),
    /// Run every combination of settings and seeds, and tabulate them
    #[command(visible_alias = "sweep")]
    Compare(CompareArgs),
    /// Run the transports on your own traffic, and say which to take for what, and at what price
    Advise(AdviseArgs),
    /// Run the transports on real sockets
    Wire(crate::cmd_wire::WireArgs),
    /// Say where a message's time went: parts that add up, the way of its last byte, its packets
    Why(WhyArgs),
    /// Write the packets of a window of time for Wireshark or Perfetto
    Trace(TraceArgs),
    /// Write the packets of a window of time as a capture, for a pipe: | wireshark -k -i -
    Pcap(PcapArgs),
    /// Run random scenarios from seeds and check what must hold of every run
    Fuzz(FuzzArgs),
    /// Write a commented scenario file to edit
    New(NewArgs),
    /// Write a crate with a transport of your own, and tidegate with it
    NewTransport(NewTransportArgs),
    /// List what is built in
    List(ListArgs),
    /// Explain a key of the scenario file: meaning, default, source, effect
    Explain(ExplainArgs),
    /// Print the JSON schema of scenario files, or the reference as Markdown
    Schema(SchemaArgs),
    /// Print a completion script for a shell: commands, and names of scenarios, keys and experiments
    Completions(CompletionsArgs),
    /// Print the words that fit at the end of a line, for the scripts of `completions`
    #[command(hide = true)]
    Complete(CompleteArgs),
    /// Make a scenario of HPCC's config.txt, or of a command line of htsim
    Import(ImportArgs),
    /// Write the simulator as one page for the browser: --out names the file or its folder
    Playground,
    /// Print the version; with --verbose what determines a result
    Version,
    /// Run published experiments again, with a verdict for every number
    Reproduce(ReproduceArgs),
    /// Measure how fast the simulator is, workload by workload
    Bench(BenchArgs),
    /// Print the table of runs that were written before
    Report(ReportArgs),
}

#[derive(Args, Clone, Debug)]
pub(crate) struct ScenarioArgs {
    /// A scenario file, or a name from `tidegate list scenarios`
    pub(crate) scenario: String,
}

#[derive(Args, Debug)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) of: ScenarioArgs,
    /// Also write live.html: the report with the simulator inside, which whoever receives it can run
    /// again with other values
    #[arg(long)]
    pub(crate) live: bool,
}

/// The number of a message.
fn message(text: &str) -> Result<u32, String> {
    let why = "it takes the number of a message, the first column of flows.csv: 0 is the first";
    text.parse().map_err(|_| why.to_owned())
}

#[derive(Args, Debug)]
pub(crate) struct WhyArgs {
    /// A folder that `tidegate run` wrote, or a scenario to run first
    pub(crate) run: String,
    /// The message: its number in flows.csv; the slowest where none is named
    #[arg(long, visible_alias = "message", value_name = "N", value_parser = message)]
    pub(crate) flow: Option<u32>,
    /// Show about so many packets
    #[arg(long, value_name = "N", default_value_t = 40)]
    pub(crate) ladder: u16,
}

/// Packets of a run.
#[derive(Args, Debug)]
pub(crate) struct PacketArgs {
    /// A folder that `tidegate run` wrote, or a scenario to run first
    pub(crate) run: String,
    /// From when until when, like 1ms..1.1ms; the whole run where none is given
    #[arg(long, value_name = "A..B")]
    pub(crate) window: Option<String>,
    /// Only the connections of these messages: their numbers in flows.csv
    #[arg(
        long = "flow",
        visible_alias = "message",
        value_name = "N",
        value_delimiter = ','
    )]
    pub(crate) flows: Vec<u32>,
}

#[derive(Args, Debug)]
pub(crate) struct PcapArgs {
    #[command(flatten)]
    pub(crate) packets: PacketArgs,
    /// The file to write; without it the capture goes to standard output, if that is no terminal
    #[arg(long, short = 'o', value_name = "FILE")]
    pub(crate) pcapng: Option<PathBuf>,
}

#[derive(Args, Debug)]
#[command(group = clap::ArgGroup::new("files").required(true).multiple(true))]
pub(crate) struct TraceArgs {
    #[command(flatten)]
    pub(crate) packets: PacketArgs,
    /// Write a capture for Wireshark and tshark
    #[arg(long, value_name = "FILE", group = "files")]
    pub(crate) pcapng: Option<PathBuf>,
    /// Write a trace for ui.perfetto.dev
    #[arg(long, value_name = "FILE", group = "files")]
    pub(crate) perfetto: Option<PathBuf>,
    /// Write Wireshark's dissector of our headers, a Lua script
    #[arg(long, value_name = "FILE", group = "files")]
    pub(crate) dissector: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct CompareArgs {
    /// A scenario file, or a name from `tidegate list scenarios`; lists [a,b] and ranges lo..hi:step
    /// in --set make the combinations
    pub(crate) scenario: String,
    /// Seeds for every combination: how many, or a range like 1..5
    #[arg(long, value_name = "N|A..B")]
    pub(crate) seeds: Option<String>,
    /// Of the cases that the scenario's [[compare]] tables name, only these; may be repeated. Kinds of cases of which
    /// none is named keep all
    #[arg(long = "case", value_name = "NAME")]
    pub(crate) cases: Vec<String>,
    /// Leave the cases of the scenario alone.
    #[arg(skip)]
    pub(crate) plain: bool,
    /// Run again what is there already
    #[arg(long)]
    pub(crate) again: bool,
    /// Do only part I of N of the runs, for machines that share a folder or collect it later; the
    /// same command without it then makes the report
    #[arg(long, value_name = "I/N", value_parser = experiments::sweep::shard)]
    pub(crate) shard: Option<experiments::sweep::Shard>,
    /// For every combination, find the highest workload.load from 0.01 to 0.99 that it sustains: all
    /// seeds end, no backlog grows, and the thresholds hold
    #[arg(long)]
    pub(crate) find_max_load: bool,
}

#[derive(Args, Debug)]
pub(crate) struct AdviseArgs {
    /// Messages as CSV, as HPCC's flow.txt or as htsim's .cm, with --topology; or a scenario
    pub(crate) traffic: String,
    /// The fabric of those messages: GraphML, node-link JSON, HPCC's topology.txt, htsim's .topo
    #[arg(long, value_name = "FILE")]
    pub(crate) topology: Option<String>,
    /// Seeds for every transport: how many, or a range like 1..5
    #[arg(long, value_name = "N|A..B", default_value = "5")]
    pub(crate) seeds: String,
    /// Only these transports
    #[arg(long = "transport", value_name = "NAME", value_delimiter = ',')]
    pub(crate) transports: Vec<String>,
}

#[derive(Args, Debug)]
pub(crate) struct FuzzArgs {
    /// How many seeds, from 1 on, or a range like 7..7
    #[arg(long, value_name = "N|A..B", default_value = "100")]
    pub(crate) seeds: String,
}

#[derive(Args, Debug)]
pub(crate) struct NewArgs {
    /// The file to write; it must not exist
    pub(crate) file: PathBuf,
    /// The built-in scenario to start from; or trace, with a list of messages and a fabric in files
    #[arg(long, default_value = "incast")]
    pub(crate) from: String,
}

#[derive(Args, Debug)]
pub(crate) struct NewTransportArgs {
    /// Its name in scenarios, and the name of the crate: lower case, with - or _ between words
    pub(crate) name: String,
    /// The folder to write; it must not exist [default: the name]
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// Where the crate finds tidegate: a clone, or a URL of git [default: the sources that this
    /// program carries, or else the clone that it was built from]
    #[arg(long, value_name = "DIR|URL")]
    pub(crate) tidegate: Option<String>,
}

#[derive(Args, Debug)]
pub(crate) struct ListArgs {
    /// What to list
    #[arg(value_enum)]
    pub(crate) what: Option<ListKind>,
}

#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ListKind {
    Scenarios,
    Transports,
    FlowControls,
    Workloads,
    Topologies,
    Experiments,
}

#[derive(Args, Debug)]
pub(crate) struct ExplainArgs {
    /// A key or a table, like workload.load or transport.dctcp
    pub(crate) key: String,
}

#[derive(Args, Debug)]
pub(crate) struct SchemaArgs {
    /// The reference of all keys as Markdown
    #[arg(long)]
    pub(crate) markdown: bool,
    /// What the tables and documents of a run hold, as Markdown: docs/data.md
    #[arg(long, conflicts_with = "markdown")]
    pub(crate) data: bool,
    /// Every command with its options, as Markdown: docs/commands.md
    #[arg(long, conflicts_with_all = ["markdown", "data"])]
    pub(crate) commands: bool,
}

#[derive(Args, Debug)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Args, Debug)]
pub(crate) struct CompleteArgs {
    /// One word that is a line of a shell, the program first
    #[arg(long)]
    pub(crate) line: bool,
    /// The words behind the program's name; the last is where the cursor is
    #[arg(last = true)]
    pub(crate) words: Vec<String>,
}

#[derive(Args, Debug)]
pub(crate) struct ImportArgs {
    /// The file to write; it must not exist [default: the name of what is read, in this folder]
    #[arg(long, value_name = "FILE")]
    pub(crate) to: Option<PathBuf>,
    /// HPCC's config.txt; or the whole command line of htsim, the program first
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        required = true,
        value_name = "FILE|COMMAND"
    )]
    pub(crate) words: Vec<String>,
}

#[derive(Args, Debug)]
pub(crate) struct ReportArgs {
    /// Folders of runs, or of comparisons
    #[arg(required = true)]
    pub(crate) dirs: Vec<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct BenchArgs {
    /// Workloads to measure; all of them where none is named
    pub(crate) cases: Vec<String>,
    /// Transports to measure
    #[arg(
        long = "transport",
        value_name = "NAME",
        value_delimiter = ',',
        default_value = "expresspass,dctcp"
    )]
    pub(crate) transports: Vec<String>,
    /// Timed runs of each; the median is shown
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=100))]
    pub(crate) rounds: u16,
    /// Count instructions per packet-hop, too (needs valgrind)
    #[arg(long)]
    pub(crate) instructions: bool,
    /// Fail where a workload needs more instructions than this file allows, and measure only what it is about
    #[arg(long, value_name = "FILE")]
    pub(crate) gate: Option<PathBuf>,
    /// Run this command in turn with ours; it prints a number followed by "packet-hops"
    #[arg(long, value_name = "CMD")]
    pub(crate) against: Option<String>,
    /// Frames of this MTU instead of 1500 B, like 8976B
    #[arg(long, value_name = "SIZE")]
    pub(crate) mtu: Option<Bytes>,
    /// Length of each message, of workloads that have one for all, like 8MB
    #[arg(long, value_name = "SIZE")]
    pub(crate) size: Option<Bytes>,
    /// One measurement in this process, for the command's own use
    #[arg(long, value_name = "NAME", hide = true)]
    pub(crate) single: Option<String>,
    /// Length of that measurement, in percent
    #[arg(long, value_name = "N", hide = true, default_value_t = 100)]
    pub(crate) percent: u64,
}

#[derive(Args, Debug)]
pub(crate) struct ReproduceArgs {
    /// Experiments, claims, folders of experiments (with a slash), or all; the list where none is named
    pub(crate) names: Vec<String>,
    /// Only the quick cases, with one seed each
    #[arg(long)]
    pub(crate) quick: bool,
    /// List the experiments by figure and stop
    #[arg(long)]
    pub(crate) list: bool,
    /// Draw every figure from the results on record, at the top of the repository, into --out or docs/figures
    #[arg(long, conflicts_with_all = ["names", "quick", "list"])]
    pub(crate) gallery: bool,
    /// Only cases with this in their names, and those that they are compared with
    #[arg(long, value_name = "TEXT")]
    pub(crate) case: Option<String>,
    /// So many seeds instead of the experiment's own number
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub(crate) seeds: Option<u64>,
    /// Print Markdown: what experiments/NAME/result.md holds or, with --list at the top of the repository,
    /// docs/experiments.md
    #[arg(long)]
    pub(crate) markdown: bool,
    /// Take the runs that --out already has: of the same scenarios, by this same program
    #[arg(long, requires = "out")]
    pub(crate) resume: bool,
}
