//! The tables of a run: each column once, for CSV, Parquet, Python, the reference and whoever asks what it means.
//!
//! A column knows how to find its value in a row. Most are plain numbers, which are found without a call that is chosen
//! for each; the others may look at the run, too. `Line` writes a row as CSV, and `columns` makes Parquet of the same.

pub use crate::kind::{Kind, Of};
use crate::line::Line;
use crate::lines::{ports_span, utilisation};
use crate::record::{FlowRow, FlowSeriesRow, MemoryRow, Names, PortRow, PortSeriesRow, RunRecord};
use crate::stats::Figure;
use crate::summary::{fct, slowdown};
use model::{ByClass, Class, Counter, DropReason, HostCounts, Totals};
use std::collections::BTreeSet;
use std::io::{self, Write};
use units::{Span, Time};

/// One value; a number of any kind but a ratio.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Cell<'a> {
    /// It is not known.
    Nothing,
    /// A whole number, a moment, a flag.
    Number(u64),
    /// A number with a fraction.
    Ratio(f64),
    /// A name.
    Text(&'a str),
    /// A name that is a word and a number: `h3`.
    Numbered(&'static str, u64),
}

impl From<Option<u64>> for Cell<'_> {
    fn from(number: Option<u64>) -> Self {
        number.map_or(Self::Nothing, Self::Number)
    }
}

/// What rows are read with.
#[derive(Clone, Copy, Debug)]
pub struct Look<'a> {
    /// What rows name by number.
    pub names: Names<'a>,
    /// When the run ended; never, while it runs.
    pub end: Time,
    /// How long ports were looked at.
    pub span: Span,
}

impl<'a> Look<'a> {
    /// At a whole run.
    pub fn of(run: &'a RunRecord) -> Self {
        Self {
            names: run.names(),
            end: run.end,
            span: ports_span(run),
        }
    }
}

/// How a column finds its value. Most of what tables hold are plain numbers, and those are asked for without a call that
/// is chosen for each of them.
enum Get<R> {
    Number(fn(&R) -> u64),
    Perhaps(fn(&R, &Look<'_>) -> Option<u64>),
    OfClass(fn(&R) -> &ByClass<u64>, Class),
    Any(Box<Any<R>>),
}

type Any<R> = dyn for<'a> Fn(&'a R, &Look<'a>) -> Cell<'a> + Send + Sync;

/// One column.
pub struct Column<R> {
    /// Its title.
    pub name: String,
    /// What it holds.
    pub kind: Kind,
    /// Whether a value may be missing.
    pub optional: bool,
    /// What it says, with its unit.
    pub meaning: String,
    get: Get<R>,
}

impl<R> Column<R> {
    /// The value in `row`.
    #[inline]
    pub fn get<'a>(&self, row: &'a R, look: &Look<'a>) -> Cell<'a> {
        match &self.get {
            Get::Number(get) => Cell::Number(get(row)),
            Get::Perhaps(get) => get(row, look).into(),
            Get::OfClass(get, class) => Cell::Number(get(row)[*class]),
            Get::Any(get) => get(row, look),
        }
    }

    /// Whether every row has a plain number in it, which needs no look at the run.
    #[cfg(feature = "parquet")]
    pub(crate) fn is_plain(&self) -> bool {
        matches!(self.get, Get::Number(_) | Get::OfClass(..))
    }

    /// Adds what `of` makes of the numbers in `rows`.
    ///
    /// # Panics
    /// If the column is not [plain](Self::is_plain).
    #[cfg(feature = "parquet")]
    pub(crate) fn numbers<T>(&self, rows: &[R], of: impl Fn(u64) -> T, to: &mut Vec<T>) {
        let rows = rows.iter();
        match self.get {
            Get::Number(get) => to.extend(rows.map(|row| of(get(row)))),
            Get::OfClass(get, class) => to.extend(rows.map(|row| of(get(row)[class]))),
            Get::Perhaps(_) | Get::Any(_) => panic!("{} holds no plain numbers", self.name),
        }
    }
}

/// Columns in their order.
pub struct Table<R>(pub Vec<Column<R>>);

impl<R: 'static> Table<R> {
    fn add(
        &mut self,
        name: impl Into<String>,
        kind: Kind,
        meaning: impl Into<String>,
        get: impl for<'a> Fn(&'a R, &Look<'a>) -> Cell<'a> + Send + Sync + 'static,
    ) {
        self.push(name, kind, meaning, Get::Any(Box::new(get)));
    }

    fn push(
        &mut self,
        name: impl Into<String>,
        kind: Kind,
        meaning: impl Into<String>,
        get: Get<R>,
    ) {
        self.0.push(Column {
            name: name.into(),
            kind,
            optional: false,
            meaning: meaning.into(),
            get,
        });
    }

    fn number(&mut self, name: &str, kind: Kind, meaning: &str, get: fn(&R) -> u64) {
        self.push(name, kind, meaning, Get::Number(get));
    }

    /// One that may be missing.
    fn perhaps(&mut self, name: &str, meaning: &str, get: fn(&R, &Look<'_>) -> Option<u64>) {
        self.push(name, Kind::Ps, meaning, Get::Perhaps(get));
        self.last_is_optional();
    }

    fn last_is_optional(&mut self) {
        self.0.last_mut().expect("one was added").optional = true;
    }

    /// One column per class.
    fn by_class(&mut self, prefix: &str, of: Of, meaning: &str, get: fn(&R) -> &ByClass<u64>) {
        for class in Class::ALL {
            let name = format!("{prefix}_{}", class.name());
            let meaning = format!("{meaning}: class {}.", class.name());
            self.push(name, Kind::U64(of), meaning, Get::OfClass(get, class));
        }
    }

    /// The titles, as the first line of a CSV file has them.
    pub fn titles(&self) -> String {
        let names: Vec<&str> = self.0.iter().map(|column| column.name.as_str()).collect();
        names.join(",")
    }

    /// Writes titles and rows as CSV.
    ///
    /// # Errors
    /// If `out` cannot be written.
    pub fn csv<'a>(
        &self,
        out: &mut dyn Write,
        rows: impl IntoIterator<Item = &'a R>,
        look: Look<'a>,
    ) -> io::Result<()>
    where
        R: 'a,
    {
        writeln!(out, "{}", self.titles())?;
        self.csv_rows(out, rows, look)
    }

    /// Writes rows as CSV.
    ///
    /// # Errors
    /// If `out` cannot be written.
    pub fn csv_rows<'a>(
        &self,
        out: &mut dyn Write,
        rows: impl IntoIterator<Item = &'a R>,
        look: Look<'a>,
    ) -> io::Result<()>
    where
        R: 'a,
    {
        let mut line = Line::default();
        for row in rows {
            for column in &self.0 {
                match &column.get {
                    Get::Number(get) => line.number(get(row)),
                    Get::Perhaps(get) => line.perhaps(get(row, &look)),
                    Get::OfClass(get, class) => line.number(get(row)[*class]),
                    Get::Any(get) => line.cell(get(row, &look)),
                }
            }
            line.end(out)?;
        }
        Ok(())
    }
}

/// One row per message, by number: `flows`. What an unfinished one has taken by the end of the run is its
/// completion time; nothing while the run goes on.
#[allow(clippy::too_many_lines, reason = "a few lines per column")]
pub fn flows() -> Table<FlowRow> {
    let mut t = Table::<FlowRow>(Vec::new());
    t.number(
        "flow_id",
        Kind::U32(Of::Thing),
        "The message's number in the traffic.",
        |r| r.message.into(),
    );
    t.number("conn", Kind::U32(Of::Thing), "Its connection.", |r| {
        r.conn.into()
    });
    t.number(
        "src",
        Kind::U32(Of::Thing),
        "The host that sends it.",
        |r| r.src.into(),
    );
    t.number(
        "dst",
        Kind::U32(Of::Thing),
        "The host that receives it.",
        |r| r.dst.into(),
    );
    t.number(
        "size",
        Kind::U64(Of::Bytes),
        "Bytes; less than asked where it was stopped.",
        |r| r.size,
    );
    t.perhaps("start_ps", "When the sender was told to send.", |r, _| {
        Some(r.start?.0)
    });
    t.perhaps(
        "end_ps",
        "When it counts as finished, by `run.fct`.",
        |r, _| Some(r.end?.0),
    );
    t.perhaps(
        "fct_ps",
        "Completion time; of an unfinished one, what it has taken by the end of the run.",
        |r, look| known(fct(r, look.end), look),
    );
    t.perhaps(
        "ideal_ps",
        "The time that it would take in an idle network by all its shortest ways together, a bound below where these are unequal; none where it sends until it is stopped.",
        |r, _| (!r.timed).then_some(r.ideal.0),
    );
    t.add(
        "slowdown",
        Kind::Ratio,
        "Completion time over that in an idle network.",
        |r, look| known(slowdown(r, look.end), look).map_or(Cell::Nothing, Cell::Ratio),
    );
    t.last_is_optional();
    t.number("finished", Kind::Flag, "Whether it ended.", |r| {
        r.end.is_some().into()
    });
    t.number(
        "received",
        Kind::U64(Of::Bytes),
        "Bytes that the receiver had when the run ended; of a run that was interrupted, 0 where that is not known.",
        |r| r.received,
    );
    t.perhaps(
        "stopped_ps",
        "When the receiver heard that the sender was done. [xpass artefact]",
        |r, _| Some(r.stopped?.0),
    );
    t.number(
        "timed",
        Kind::Flag,
        "Whether the scenario gives it a time to stop: it has no completion time then.",
        |r| r.timed.into(),
    );
    t.add(
        "tag",
        Kind::Text,
        "Its tag; `untagged` where it has none.",
        |r, look| Cell::Text(look.names.tag(r)),
    );
    t.add("transport", Kind::Text, "Its transport.", |r, look| {
        Cell::Text(look.names.transport(r))
    });
    t
}

/// A figure, unless it grows while the run goes on.
fn known<T>(figure: Option<Figure<T>>, look: &Look<'_>) -> Option<T> {
    let figure = figure.filter(|of| !of.at_least || look.end != Time::NEVER)?;
    Some(figure.value)
}

/// One row per link, by number: `ports`.
#[allow(clippy::too_many_lines, reason = "a few lines per column")]
pub fn ports() -> Table<PortRow> {
    let mut t = Table::<PortRow>(Vec::new());
    t.number("link", Kind::U32(Of::Thing), "The link's number.", |r| {
        r.link.into()
    });
    t.add(
        "from",
        Kind::Text,
        "The node that sends.",
        |r: &PortRow, _| Cell::Text(&r.from),
    );
    t.add(
        "to",
        Kind::Text,
        "The node that receives.",
        |r: &PortRow, _| Cell::Text(&r.to),
    );
    t.number(
        "from_tier",
        Kind::U8(Of::Thing),
        "Tier of the sending node: host 0, ToR 1, aggregation 2, core 3.",
        |r| r.from_tier.into(),
    );
    t.number(
        "to_tier",
        Kind::U8(Of::Thing),
        "Tier of the receiving node.",
        |r| r.to_tier.into(),
    );
    t.number(
        "rate_bps",
        Kind::U64(Of::Rate),
        "Rate of the link, in bits per second.",
        |r| r.rate.0,
    );
    t.add(
        "utilisation",
        Kind::Ratio,
        "Share of the run's active time in which the line was busy: of a packet on it at the beginning or the end, the part within; of the time until the last packet where what followed the last message would make it more than 1.",
        |r, look| Cell::Ratio(utilisation(r, look.span)),
    );
    t.number(
        "queue_max",
        Kind::U64(Of::Bytes),
        "Most bytes of data that waited at once, but for those in a background or legacy queue, which nothing bounds; at a plain FIFO with what was left of the frame on the line.",
        |r| r.queue_max,
    );
    t.number(
        "credits_max",
        Kind::U32(Of::Count),
        "Most credits that waited at once.",
        |r| r.credits_max.into(),
    );
    t.add(
        "data_max",
        Kind::U64(Of::Bytes),
        "Most bytes of packets that carry data that were there at once, with what was left of one on the line; \
         where output.data_queues asks for it, at ports of switches.",
        |r, _| r.data_max.into(),
    );
    t.last_is_optional();
    t.number(
        "marked",
        Kind::U64(Of::Count),
        "Packets that left marked; a plain FIFO counts them when they come.",
        |r| r.marked,
    );
    t.number(
        "pauses",
        Kind::U64(Of::Count),
        "Pauses that its switch has asked of the neighbour on this link.",
        |r| r.pauses,
    );
    t.number(
        "paused_ps",
        Kind::U64(Of::Ps),
        "How long pauses of the neighbour kept at least one of its gates closed, in picoseconds.",
        |r| r.paused.0,
    );
    t.number(
        "pause_longest_ps",
        Kind::U64(Of::Ps),
        "The longest that one of its gates was closed, in picoseconds.",
        |r| r.pause_longest.0,
    );
    t.number(
        "headroom_max",
        Kind::U64(Of::Bytes),
        "Most bytes of headroom that one priority of what came from the neighbour used at once.",
        |r| r.headroom_max,
    );
    t.by_class(
        "packets",
        Of::Count,
        "Packets put on the line, each as soon as its first bit is",
        |r| &r.packets,
    );
    t.by_class("bytes", Of::Bytes, "Bytes of these packets", |r| &r.bytes);
    t.by_class("dropped", Of::Count, "Packets dropped at the port", |r| {
        &r.dropped
    });
    for reason in DropReason::ALL {
        let name = format!("dropped_by_{}", reason.name().replace([' ', '-'], "_"));
        let meaning = format!("Packets dropped at the port: {}.", reason.name());
        t.add(
            name,
            Kind::U64(Of::Count),
            meaning,
            move |r: &PortRow, _| Cell::Number(r.drop_reasons[reason]),
        );
    }
    for priority in 0..8 {
        let name = format!("dropped_at_priority_{priority}");
        let meaning = format!(
            "Packets of priority {priority} dropped at the port, but for those behind it that had no way on or that a host did not want."
        );
        t.add(
            name,
            Kind::U64(Of::Count),
            meaning,
            move |r: &PortRow, _| Cell::Number(r.drop_priorities[priority]),
        );
    }
    t.by_class(
        "lost",
        Of::Count,
        "Packets lost to a fault on the line",
        |r| &r.lost,
    );
    t.by_class("copied", Of::Count, "Copies that a fault added", |r| {
        &r.copied
    });
    t
}

/// One row per sample of a port that says something new, by (time, link): `series`.
pub fn series() -> Table<PortSeriesRow> {
    let mut t = Table::<PortSeriesRow>(Vec::new());
    t.number("at_ps", Kind::Ps, "The moment.", |r| r.at.0);
    t.number("link", Kind::U32(Of::Thing), "The port's link.", |r| {
        r.link.into()
    });
    t.number(
        "queue",
        Kind::U64(Of::Bytes),
        "Bytes of data that wait, those in a background or legacy queue among them.",
        |r| r.queue,
    );
    t.number("credits", Kind::U32(Of::Count), "Credits that wait.", |r| {
        r.credits.into()
    });
    t.by_class(
        "sent",
        Of::Bytes,
        "Bytes of packets whose first bit was on the line, since the run began",
        |r| &r.sent,
    );
    t.number(
        "marked",
        Kind::U64(Of::Count),
        "Packets marked since the run began.",
        |r| r.marked,
    );
    t.by_class(
        "dropped",
        Of::Count,
        "Packets dropped since the run began",
        |r| &r.dropped,
    );
    t
}

/// One row per sample of a connection, by (time, connection): `flow-series`.
pub fn flow_series() -> Table<FlowSeriesRow> {
    let mut t = Table::<FlowSeriesRow>(Vec::new());
    t.number("at_ps", Kind::Ps, "The moment.", |r| r.at.0);
    t.number("conn", Kind::U32(Of::Thing), "The connection.", |r| {
        r.conn.into()
    });
    t.number(
        "received",
        Kind::U64(Of::Bytes),
        "Bytes that its receivers accepted since the run began.",
        |r| r.received,
    );
    t
}

/// One row per part of a switch's memory that held anything, by switch: `memory`.
pub fn memory() -> Table<MemoryRow> {
    let mut t = Table::<MemoryRow>(Vec::new());
    t.add("node", Kind::Text, "The switch.", |r: &MemoryRow, _| {
        Cell::Text(&r.node)
    });
    t.add(
        "link",
        Kind::U32(Of::Thing),
        "The link of the port; missing for the whole switch.",
        |r, _| r.link.map(u64::from).into(),
    );
    t.last_is_optional();
    t.add(
        "neighbour",
        Kind::Text,
        "The node at the other end of it.",
        |r, _| Cell::Text(&r.neighbour),
    );
    t.add(
        "part",
        Kind::Text,
        "switch: all of it; came, came at priority: what came from the neighbour; waits, waits at priority, queue: what \
         waited for the line to it; headroom: of what came at the priority, what came after a pause was asked for.",
        |r, _| Cell::Text(r.part.name()),
    );
    t.add(
        "number",
        Kind::U8(Of::Thing),
        "The number of the priority or the queue; missing where it is of neither.",
        |r, _| r.number.map(u64::from).into(),
    );
    t.last_is_optional();
    t.number(
        "bytes_max",
        Kind::U64(Of::Bytes),
        "Most bytes that it held at once.",
        |r| r.most,
    );
    t
}

/// One row per host and transport: `hosts`. `own` are the counters that the transports declare: one that a
/// transport does not count is missing in its rows.
pub fn hosts<'c>(own: impl IntoIterator<Item = &'c Counter>) -> Table<HostCounts> {
    let mut t = Table::<HostCounts>(Vec::new());
    t.number("host", Kind::U32(Of::Thing), "The host.", |r| r.host.into());
    t.add(
        "name",
        Kind::Text,
        "Its name in the fabric.",
        |r: &HostCounts, look| {
            let name = look.names.hosts.get(r.host as usize);
            name.map_or(Cell::Numbered("h", r.host.into()), |name| Cell::Text(name))
        },
    );
    t.add(
        "transport",
        Kind::Text,
        "The transport.",
        |r: &HostCounts, look| {
            let name = look.names.transports.get(usize::from(r.transport));
            Cell::Text(name.map_or("", String::as_str))
        },
    );
    for (place, counter) in Totals::ALL.iter().enumerate() {
        t.add(
            counter.name,
            Kind::U64(Of::Counted(counter.unit)),
            described(counter),
            move |r: &HostCounts, _| Cell::Number(r.totals.values()[place]),
        );
    }
    let mut names = BTreeSet::new();
    for counter in own {
        if !names.insert(counter.name) {
            continue;
        }
        let name = counter.name;
        t.add(
            name,
            Kind::U64(Of::Counted(counter.unit)),
            described(counter),
            move |r: &HostCounts, _| {
                let of = r.own.iter().find(|(counter, _)| counter.name == name);
                of.map(|&(_, value)| value).into()
            },
        );
        t.last_is_optional();
    }
    t
}

fn described(counter: &Counter) -> String {
    format!("{} In {}.", counter.meaning, counter.unit)
}

/// The counters that the transports of `run` declare.
pub fn own_counters(run: &RunRecord) -> impl Iterator<Item = &'static Counter> + '_ {
    let all = run.counts.iter().flat_map(|of| &of.own);
    all.map(|&(counter, _)| counter)
}

/// What a table is, and each of its columns with what it says.
pub struct Described {
    /// The name of its files: `flows`.
    pub name: &'static str,
    /// One row per what.
    pub about: &'static str,
    /// Its columns in their order.
    pub columns: Vec<DescribedColumn>,
}

/// What a column is.
pub struct DescribedColumn {
    /// Its title.
    pub name: String,
    /// What it holds.
    pub kind: Kind,
    /// Whether a value may be missing.
    pub optional: bool,
    /// What it says.
    pub meaning: String,
}

/// Every table, for documents; `own` as in [`hosts`].
pub fn dictionary<'c>(own: impl IntoIterator<Item = &'c Counter>) -> Vec<Described> {
    fn of<R: 'static>(name: &'static str, about: &'static str, table: Table<R>) -> Described {
        let columns = table.0.into_iter();
        Described {
            name,
            about,
            columns: columns
                .map(|column| DescribedColumn {
                    name: column.name,
                    kind: column.kind,
                    optional: column.optional,
                    meaning: column.meaning,
                })
                .collect(),
        }
    }
    vec![
        of("flows", "One row per message, by number.", flows()),
        of("ports", "One row per link, by number.", ports()),
        of(
            "hosts",
            "One row per host and transport. What one transport alone counts is empty in the rows of others.",
            hosts(own),
        ),
        of(
            "series",
            "One row per sample of a port that says something new, by time and link, up to the end of the run; none, and no file, where the run ends before its first sample.",
            series(),
        ),
        of(
            "flow-series",
            "One row per sample of a connection, by time and connection, up to the end of the run; where output.flows asks for it.",
            flow_series(),
        ),
        of(
            "memory",
            "One row per part of a switch's memory that held anything, by switch; where output.memory asks for it.",
            memory(),
        ),
    ]
}
