//! htsim's connection matrix (`.cm`): flows that start at a time, or with a trigger that others
//! fire.
//!
//! ```text
//! Nodes 16
//! Connections 2
//! Triggers 1
//! 0->1 id 1 start 0 size 20000 recv_done_trigger 1
//! 1->2 id 2 trigger 1 size 20000
//! trigger id 1 oneshot
//! ```
//!
//! A `oneshot` trigger releases its flows at its first firing, a `barrier count k` at its k-th, and
//! a `multishot` one flow per firing, in the order of the file. Starts are in picoseconds, in files
//! of before November 2023 in microseconds. They are read exactly, where the original rounds to a
//! 32-bit float. `prio` and `addon` decide nothing here. [htsim, `connection_matrix.cpp`, trigger.cpp]

use crate::files::ends;
use crate::traffic::place32;
use crate::{Conn, FlowFile, Message, Milestone, Start, TextError, Traffic, Trigger};
use std::collections::BTreeMap;
use units::text::{Field, decimal, lines};
use units::{Span, Time};

/// What a start without a unit counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StartUnit {
    /// 10^-12 s, since November 2023.
    Picoseconds,
    /// 10^-6 s, before.
    Microseconds,
}

/// Tag of the messages.
const TAG: &str = "cm";

/// Reads a connection matrix between the first of `hosts` hosts.
///
/// # Errors
/// With the line and column of whatever cannot be understood, or cannot happen.
pub fn parse_cm(text: &str, hosts: u32, unit: StartUnit) -> Result<FlowFile, TextError> {
    let mut file = Matrix::default();
    for row in lines(text) {
        let (first, rest) = (row[0], &row[1..]);
        match first.text {
            "Nodes" | "Connections" | "Triggers" | "Failures" => {
                let [count] = rest else {
                    return Err(first.error(format!("write one number after {}", first.text)));
                };
                let count: u32 = count.number("a number")?;
                file.announced.push((first, count));
            }
            "trigger" => file.trigger(first, rest)?,
            "failure" => {
                return Err(first.error(
                    "a failure is no traffic here; remove the line and write [[faults]] with \
                     kind = \"down\" and the link",
                ));
            }
            ends if ends.contains("->") => file.flow(first, rest, hosts, unit)?,
            other => {
                return Err(first.error(format!(
                    "\"{other}\" begins no line; write \"0->1 start 0 size 1000\" or \"trigger id \
                     1 oneshot\""
                )));
            }
        }
    }
    file.finish(hosts)
}

/// When a trigger lets its flows go.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Release {
    First,
    Count(u32),
    OneByOne,
}

#[derive(Default)]
struct Matrix<'a> {
    announced: Vec<(Field<'a>, u32)>,
    traffic: Traffic,
    warnings: Vec<String>,
    /// By the file's number: where it is declared, and how it releases.
    declared: BTreeMap<u32, (Field<'a>, Release)>,
    /// By the file's number: the flows that it releases, with the place that says so.
    targets: BTreeMap<u32, Vec<(u32, Field<'a>)>>,
    /// By the file's number: what fires it, with the place that says so.
    causes: BTreeMap<u32, Vec<(u32, Milestone, Field<'a>)>>,
}

/// A word and the number after it.
fn value<'a>(
    key: Field<'a>,
    words: &mut std::slice::Iter<'_, Field<'a>>,
) -> Result<Field<'a>, TextError> {
    let missing = || key.error(format!("{} needs a number after it", key.text));
    words.next().copied().ok_or_else(missing)
}

/// The hosts at both ends of an arrow.
fn both(arrow: Field<'_>) -> (Field<'_>, Field<'_>) {
    let (src, dst) = arrow.text.split_once("->").unwrap_or((arrow.text, ""));
    let after = u32::try_from(src.chars().count()).unwrap_or(u32::MAX) + 2;
    let dst = Field {
        text: dst,
        column: arrow.column + after,
        ..arrow
    };
    (Field { text: src, ..arrow }, dst)
}

/// When a flow starts.
fn moment(at: Field<'_>, unit: StartUnit) -> Result<Time, TextError> {
    let shift = match unit {
        StartUnit::Picoseconds => 0,
        StartUnit::Microseconds => 6,
    };
    let none = || at.error(format!("\"{}\" is no time", at.text));
    decimal(at.text, shift).map(Time).ok_or_else(none)
}

impl<'a> Matrix<'a> {
    fn flow(
        &mut self,
        first: Field<'a>,
        rest: &[Field<'a>],
        hosts: u32,
        unit: StartUnit,
    ) -> Result<(), TextError> {
        let (src, dst) = both(first);
        let (a, b) = ends(&src, &dst, |host| (host < hosts).then_some(host), hosts)?;
        let number = place32(self.traffic.messages.len());
        let (mut start, mut size) = (None, None);
        let mut words = rest.iter();
        while let Some(&key) = words.next() {
            match key.text {
                "start" => {
                    let at = moment(value(key, &mut words)?, unit)?;
                    once(key, &mut start, Start::At(at))?;
                }
                "trigger" => {
                    let id = value(key, &mut words)?.number("a trigger")?;
                    // The numbers are filled in when all triggers are known.
                    let waits = Start::Fired {
                        trigger: id,
                        nth: 0,
                        delay: Span::ZERO,
                    };
                    once(key, &mut start, waits)?;
                    self.targets.entry(id).or_default().push((number, key));
                }
                "size" => {
                    let bytes: u64 = value(key, &mut words)?.number("a size in bytes")?;
                    once(key, &mut size, bytes)?;
                }
                "send_done_trigger" | "recv_done_trigger" => {
                    let id = value(key, &mut words)?.number("a trigger")?;
                    let milestone = if key.text == "send_done_trigger" {
                        Milestone::Sent
                    } else {
                        Milestone::Received
                    };
                    let causes = self.causes.entry(id).or_default();
                    causes.push((number, milestone, key));
                }
                "id" | "msg" => {
                    let _: u32 = value(key, &mut words)?.number("a number")?;
                }
                "prio" => {
                    let _: i64 = value(key, &mut words)?.number("a priority")?;
                    self.not_used(key);
                }
                // It stands alone; what is public of htsim reads it and does nothing.
                "addon" => self.not_used(key),
                other => {
                    return Err(key.error(format!(
                        "\"{other}\" is no property of a flow; there are id, msg, start, trigger, \
                         size, prio, send_done_trigger and recv_done_trigger"
                    )));
                }
            }
        }
        let missing = |what: &str| first.error(format!("the flow has no {what}"));
        let start = start.ok_or_else(|| missing("start; write start <time> or trigger <id>"))?;
        let size = size.ok_or_else(|| missing("size; write size <bytes>"))?;
        self.traffic.conns.push(Conn {
            a,
            b,
            one_shot: true,
        });
        self.traffic.messages.push(Message {
            conn: number,
            from_a: true,
            size,
            start,
            stop: None,
            tag: 0,
        });
        Ok(())
    }

    /// Warns of a property that decides nothing here, once.
    fn not_used(&mut self, key: Field<'a>) {
        if self.warnings.is_empty() {
            let why = match key.text {
                "prio" => "transports decide on priorities here",
                _ => "no public version of htsim acts on it",
            };
            let text = format!("line {}: {} is not used; {why}", key.line, key.text);
            self.warnings.push(text);
        }
    }

    fn trigger(&mut self, first: Field<'a>, rest: &[Field<'a>]) -> Result<(), TextError> {
        let (mut id, mut kind, mut count) = (None, None, None);
        let mut words = rest.iter();
        while let Some(&key) = words.next() {
            match key.text {
                "id" => once(key, &mut id, value(key, &mut words)?)?,
                "count" => once(key, &mut count, value(key, &mut words)?.number("a count")?)?,
                "oneshot" | "multishot" | "barrier" => once(key, &mut kind, key)?,
                other => {
                    return Err(key.error(format!(
                        "\"{other}\" is no property of a trigger; there are id, oneshot, \
                         multishot, barrier and count"
                    )));
                }
            }
        }
        let missing = |what: &str| first.error(format!("the trigger has no {what}"));
        let id_field = id.ok_or_else(|| missing("id; write trigger id 1 oneshot"))?;
        let kind = kind.ok_or_else(|| missing("kind; write oneshot, multishot or barrier"))?;
        let release = match (kind.text, count) {
            ("oneshot", None) => Release::First,
            ("multishot", None) => Release::OneByOne,
            ("barrier", Some(count)) if count > 0 => Release::Count(count),
            ("barrier", _) => return Err(kind.error("a barrier needs count <firings>, from 1")),
            _ => return Err(kind.error(format!("{} takes no count", kind.text))),
        };
        let id: u32 = id_field.number("a trigger")?;
        match self.declared.insert(id, (id_field, release)) {
            None => Ok(()),
            Some((before, _)) => Err(id_field.error(format!(
                "trigger {id} is declared in line {} already",
                before.line
            ))),
        }
    }

    fn finish(mut self, hosts: u32) -> Result<FlowFile, TextError> {
        for (head, count) in std::mem::take(&mut self.announced) {
            let found = match head.text {
                "Connections" => place32(self.traffic.messages.len()),
                "Triggers" => place32(self.declared.len()),
                "Failures" => 0,
                _ if count > hosts => {
                    return Err(head.error(format!("{count} nodes, but {hosts} hosts")));
                }
                _ => continue,
            };
            if found != count {
                let what = head.text.to_lowercase();
                return Err(head.error(format!("{count} {what} announced, {found} listed")));
            }
        }
        let named = self
            .targets
            .iter()
            .filter_map(|(id, t)| Some((id, t.first()?.1)));
        let fired = self
            .causes
            .iter()
            .filter_map(|(id, c)| Some((id, c.first()?.2)));
        for (id, place) in named.chain(fired) {
            if !self.declared.contains_key(id) {
                return Err(place.error(format!(
                    "there is no trigger {id}; add a line like \"trigger id {id} oneshot\""
                )));
            }
        }
        for (number, (id, &(place, release))) in (0u32..).zip(&self.declared) {
            let causes = self.causes.get(id).map_or(&[][..], Vec::as_slice);
            let targets = self.targets.get(id).map_or(&[][..], Vec::as_slice);
            for (nth, &(flow, at)) in (1u32..).zip(targets) {
                let nth = match release {
                    Release::First => 1,
                    Release::Count(count) => count,
                    Release::OneByOne => nth,
                };
                if causes.len() < nth as usize {
                    return Err(at.error(format!(
                        "this flow never starts: trigger {id} (line {}) fires {} times, not {nth}",
                        place.line,
                        causes.len()
                    )));
                }
                self.traffic.messages[flow as usize].start = Start::Fired {
                    trigger: number,
                    nth,
                    delay: Span::ZERO,
                };
            }
            self.traffic.triggers.push(Trigger {
                causes: causes.iter().map(|&(flow, done, _)| (flow, done)).collect(),
            });
        }
        self.traffic.tags = vec![TAG.to_owned()];
        let at_top = |error: crate::WorkloadError| TextError {
            line: 1,
            column: 1,
            message: error.to_string(),
        };
        Ok(FlowFile {
            traffic: self.traffic.arranged().map_err(at_top)?,
            warnings: self.warnings,
        })
    }
}

fn once<T>(key: Field<'_>, slot: &mut Option<T>, value: T) -> Result<(), TextError> {
    if slot.is_some() {
        return Err(key.error(format!(
            "\"{}\" says what the line has said already; a flow has one start or trigger, and one \
             of everything else",
            key.text
        )));
    }
    *slot = Some(value);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const RING: &str = "\
# three steps, then all at once
Nodes 4
Connections 5
Triggers 3
0->1 id 1 start 2000000 size 1000 recv_done_trigger 1
1->2 id 2 trigger 1 size 2000 send_done_trigger 3 prio 2\r
1->3 id 3 trigger 1 size 3000 recv_done_trigger 3
2->0 id 4 trigger 3 size 4000 recv_done_trigger 2
3->0 id 5 trigger 2 size 5000
trigger id 3 barrier count 2
trigger id 1 oneshot
trigger id 2 multishot
";

    fn parse(text: &str) -> Result<FlowFile, TextError> {
        parse_cm(text, 4, StartUnit::Picoseconds)
    }

    #[test]
    fn triggers_release_what_names_them() {
        let file = parse(RING).unwrap();
        let shown: Vec<String> = file
            .traffic
            .messages
            .iter()
            .map(|m| match m.start {
                Start::At(at) => format!("{} at {at}", m.size),
                Start::Fired { trigger, nth, .. } => format!("{} with {trigger}.{nth}", m.size),
                Start::After { .. } => unreachable!("only triggers"),
            })
            .collect();
        assert_eq!(
            shown,
            [
                "1000 at 2us",
                "2000 with 0.1",
                "3000 with 0.1",
                "4000 with 2.2",
                "5000 with 1.1"
            ]
        );
        assert_eq!(
            file.traffic.triggers[2].causes,
            [(1, Milestone::Sent), (2, Milestone::Received)]
        );
        assert!(
            file.warnings[0].starts_with("line 6: prio"),
            "{:?}",
            file.warnings
        );
    }

    #[test]
    fn what_decides_nothing_is_a_warning() {
        let file = parse("0->1 id 1 addon start 0 size 9").unwrap();
        assert!(file.warnings[0].starts_with("line 1: addon is not used"));
    }

    #[test]
    fn old_files_count_microseconds() {
        let file = parse_cm("0->1 start 1.5 size 9", 4, StartUnit::Microseconds).unwrap();
        assert_eq!(file.traffic.messages[0].start, Start::At(Time(1_500_000)));
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        let cases = [
            ("0->9 start 0 size 1", "1:4: host 9 of 4"),
            (
                "0->0 start 0 size 1",
                "1:4: a message from host 0 to itself",
            ),
            ("\n 0->1 start x size 1", "2:13: \"x\" is no time"),
            ("0->1 start 0", "1:1: the flow has no size"),
            ("0->1 size 5", "1:1: the flow has no start"),
            ("0->1 start 0 trigger 1 size 5", "1:14: \"trigger\" says"),
            (
                "0->1 start 0 size 5 colour 3",
                "1:21: \"colour\" is no property",
            ),
            ("0->1 start 0 size", "1:14: size needs a number"),
            ("0->1 trigger 7 size 5", "1:6: there is no trigger 7"),
            (
                "0->1 trigger 7 size 5\ntrigger id 7 oneshot",
                "1:6: this flow never starts",
            ),
            ("trigger id 7 barrier", "1:14: a barrier needs count"),
            (
                "trigger id 7 oneshot\ntrigger id 7 oneshot",
                "2:12: trigger 7 is declared in line 1",
            ),
            (
                "Connections 2\n0->1 start 0 size 1",
                "1:1: 2 connections announced, 1 listed",
            ),
            ("Nodes 8", "1:1: 8 nodes, but 4 hosts"),
            ("failure switch_type TOR", "1:1: a failure is no traffic"),
            ("hello", "1:1: \"hello\" begins no line"),
            (
                "0->1 trigger 1 size 5 recv_done_trigger 1\ntrigger id 1 oneshot",
                "1:1: message 0 waits for something that never happens",
            ),
        ];
        for (text, expected) in cases {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{text}: {error}");
        }
    }
}
