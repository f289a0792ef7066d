//! Message lists in files: ours, and the flow files of the HPCC family of simulators.
//!
//! Ours has one message per line, `src,dst,size,start[,tag]`, with units: `0,1,64KB,1.5us,incast`.
//! A first line without numbers is a header, of these names in this order. A host goes by its name in the fabric, or by its
//! number where none has that name. A message without a tag has the tag `untagged`.
//!
//! HPCC's `flow.txt` has the number of flows first, then `src dst pg dport size start` per line,
//! with sizes in bytes and starts in seconds. `dport` 100 marks normal flows and 200 incast; `pg`
//! is a priority group, which a transport decides here and is not kept. Several published files
//! have text after the announced flows, so that is ignored with a warning.
//! [hpcc artefact, `traffic_gen`, `simulation/scratch/third.cc`]

use crate::traffic::{ENDLESS, OneShots, Tags};
use crate::{Message, Start, TextError, Traffic, WorkloadError};
use std::collections::BTreeMap;
use std::fmt::Write;
use units::text::{Field, comma_lines, decimal, lines};
use units::{Bytes, PS_PER_SEC, Span, Time};

/// What a flow file says, and what its reader should know.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FlowFile {
    /// The messages.
    pub traffic: Traffic,
    /// Oddities that the file's own reader would treat otherwise, or not notice.
    pub warnings: Vec<String>,
}

/// The columns of our list; the last may be left out.
const COLUMNS: [&str; 5] = ["src", "dst", "size", "start", "tag"];
/// What HPCC's two usual ports mean. [hpcc artefact, `traffic_gen/README.md`]
const HPCC_TAGS: [(&str, &str); 2] = [("100", "normal"), ("200", "incast")];
/// Sizes are read into 32 bits there. [hpcc artefact, third.cc]
const HPCC_SIZE_MAX: u64 = u32::MAX as u64;

/// Reads our list of messages between `hosts` hosts, each on a connection of its own. `names` has the
/// numbers of hosts that the list may call by name.
///
/// # Errors
/// With the line and column of whatever cannot be understood.
pub fn parse_csv(
    text: &str,
    hosts: u32,
    names: &BTreeMap<&str, u32>,
) -> Result<Traffic, TextError> {
    let mut flows = Tagged::default();
    let mut forms = [false; 2];
    // A message has a size and a moment, which begin with digits.
    let word = |field: &Field<'_>| !field.text.starts_with(|c: char| c.is_ascii_digit());
    let header = |row: &Result<Vec<Field<'_>>, _>| {
        row.as_ref().is_ok_and(|row| {
            row[0].text.eq_ignore_ascii_case("src") || (row.len() > 2 && row.iter().all(word))
        })
    };
    let mut rows = comma_lines(text).peekable();
    if let Some(row) = rows.next_if(header) {
        is_header(&row?)?;
    }
    for row in rows {
        let row = row?;
        let (fields, tag) = match row[..] {
            [src, dst, size, start] => ([src, dst, size, start], None),
            [src, dst, size, start, tag] => ([src, dst, size, start], Some(tag)),
            _ => {
                return Err(row[0].error(format!(
                    "{} fields; a message is \"src,dst,size,start[,tag]\", like \
                     \"0,1,64KB,1.5us\"",
                    row.len()
                )));
            }
        };
        let [src, dst, size, start] = fields;
        let ends = named_ends(&src, &dst, hosts, names)?;
        let bytes: Bytes = size.quantity()?;
        if bytes.0 >= ENDLESS {
            let said = size.text;
            return Err(size.error(format!("a message of {said}, and one has less than 70 TB")));
        }
        let size = bytes;
        let start: Span = start.quantity()?;
        let named = named_tag(tag.as_ref(), &src, &mut forms)?;
        flows
            .push(ends, size.0, Time::ZERO.after(start), &named)
            .map_err(|error| tag.unwrap_or(src).error(error.to_string()))?;
    }
    flows.finish()
}

/// Whether a header names the columns as they are read.
fn is_header(row: &[Field<'_>]) -> Result<(), TextError> {
    let wrong = |(field, name): &(&Field<'_>, &str)| !field.text.eq_ignore_ascii_case(name);
    match row.iter().zip(COLUMNS).find(wrong) {
        None if (COLUMNS.len() - 1..=COLUMNS.len()).contains(&row.len()) => Ok(()),
        found => {
            let at = found.map_or(row[0], |(field, _)| *field);
            let columns = "the columns are \"src,dst,size,start[,tag]\", in this order";
            Err(at.error(format!("{columns}; write them so, or leave the header out")))
        }
    }
}

/// The tag of a message of our list. `forms` says whether there were messages without one, and messages with the
/// tag that these get: both in one list would become one group without a word.
fn named_tag(
    tag: Option<&Field<'_>>,
    first: &Field<'_>,
    forms: &mut [bool; 2],
) -> Result<String, TextError> {
    let written = tag.filter(|tag| !tag.text.is_empty());
    let name = written.map_or_else(|| model::UNTAGGED.to_owned(), Field::quotes);
    let at = tag.unwrap_or(first);
    if name.trim().is_empty() || name.chars().any(char::is_control) {
        return Err(at.error(format!(
            "{name:?} is no tag: it has nothing to read, or characters that control a terminal; write a word, like \
             \"checkpoint\""
        )));
    }
    if name == model::UNTAGGED {
        forms[usize::from(written.is_some())] = true;
        if *forms == [true; 2] {
            return Err(at.error(format!(
                "messages without a tag are called \"{name}\", and others have that for a tag; give either \
                 another one"
            )));
        }
    }
    Ok(name)
}

/// Writes our list.
///
/// # Errors
/// If a message waits for another: a list has only times.
pub fn write_csv(traffic: &Traffic) -> Result<String, WorkloadError> {
    let mut text = String::from("src,dst,size,start,tag\n");
    for (message, time) in timed(traffic)? {
        let (src, dst) = (traffic.sender(message), traffic.receiver(message));
        let tag = &traffic.tags[usize::from(message.tag)];
        // White space around a field is no part of it.
        let plain = !tag.contains([',', '"']) && tag.trim() == tag;
        let tag = match plain {
            true => tag.clone(),
            false => format!("\"{}\"", tag.replace('"', "\"\"")),
        };
        let size = Bytes(message.size);
        writeln!(text, "{src},{dst},{size},{time},{tag}")
            .expect("a string takes all that is written");
    }
    Ok(text)
}

/// Reads HPCC's flow file; `host_of` translates the file's node numbers.
///
/// # Errors
/// With the line and column of whatever cannot be understood.
pub fn parse_hpcc(text: &str, host_of: impl Fn(u32) -> Option<u32>) -> Result<FlowFile, TextError> {
    let mut rows = lines(text);
    let head = rows.next().ok_or_else(|| TextError {
        line: 1,
        column: 1,
        message: "the file is empty; write the number of flows first".into(),
    })?;
    let count: usize = head[0].number("a number of flows")?;
    if let Some(extra) = head.get(1) {
        return Err(extra.error("text after the number of flows; put the first flow on a new line"));
    }
    let mut flows = Tagged::default();
    let mut warnings = Vec::new();
    let (mut last, mut ignored) = (Time::ZERO, 0);
    for row in rows {
        if flows.len() == count {
            ignored += 1;
            continue;
        }
        let [src, dst, pg, dport, size, start] = row[..] else {
            return Err(row[0].error(format!(
                "{} fields; a flow is \"src dst pg dport bytes start\", like \
                 \"0 1 3 100 65536 2.0\"",
                row.len()
            )));
        };
        let ends = ends(&src, &dst, &host_of, 0)?;
        let _: u32 = pg.number("a priority group")?;
        let port: u32 = dport.number("a port")?;
        let size = size.number("a size in bytes")?;
        let start = decimal(start.text, 12)
            .map(Time)
            .ok_or_else(|| start.error(format!("\"{}\" is not a time in seconds", start.text)))?;
        if start < last && warnings.is_empty() {
            warnings.push(format!(
                "line {} starts before the line above it; HPCC's reader would delay it, here it \
                 starts in time",
                src.line
            ));
        }
        last = start;
        let known = HPCC_TAGS.iter().find(|(number, _)| *number == dport.text);
        let tag = known.map_or_else(|| format!("dport {port}"), |(_, tag)| (*tag).to_string());
        flows
            .push(ends, size, start, &tag)
            .map_err(|error| dport.error(error.to_string()))?;
    }
    if flows.len() < count {
        let message = format!("{count} flows announced, {} listed", flows.len());
        return Err(head[0].error(message));
    }
    if ignored > 0 {
        warnings.push(format!(
            "{ignored} lines after the {count} flows announced in line {} were ignored",
            head[0].line
        ));
    }
    Ok(FlowFile {
        traffic: flows.finish()?,
        warnings,
    })
}

/// Writes HPCC's flow file, and warnings where its reader would fail.
///
/// # Errors
/// If a message waits for another: the file has only times.
pub fn write_hpcc(traffic: &Traffic) -> Result<(String, Vec<String>), WorkloadError> {
    let mut warnings = Vec::new();
    let mut text = format!("{}\n", traffic.messages.len());
    for (message, time) in timed(traffic)? {
        let (src, dst) = (traffic.sender(message), traffic.receiver(message));
        let tag = &traffic.tags[usize::from(message.tag)];
        let known = HPCC_TAGS.iter().find(|(_, name)| name == tag);
        let port = known.map_or("100", |(number, _)| *number);
        if message.size > HPCC_SIZE_MAX && warnings.is_empty() {
            warnings.push(format!(
                "a message of {} bytes; HPCC's reader keeps 32 bits of a size",
                message.size
            ));
        }
        let (seconds, rest) = (time.0 / PS_PER_SEC, time.0 % PS_PER_SEC);
        writeln!(
            text,
            "{src} {dst} 3 {port} {} {seconds}.{rest:012}",
            message.size
        )
        .expect("a string takes all that is written");
    }
    Ok((text, warnings))
}

/// Messages with the times at which they start.
fn timed(traffic: &Traffic) -> Result<Vec<(&Message, Time)>, WorkloadError> {
    let time = |message: &Message| match message.start {
        Start::At(time) => Ok(time),
        Start::After { .. } | Start::Fired { .. } => Err(WorkloadError(
            "a message waits for another, which a list of times cannot say; write only open-loop \
             traffic"
                .into(),
        )),
    };
    traffic
        .messages
        .iter()
        .map(|message| Ok((message, time(message)?)))
        .collect()
}

pub(crate) fn ends(
    src: &Field<'_>,
    dst: &Field<'_>,
    host_of: impl Fn(u32) -> Option<u32>,
    hosts: u32,
) -> Result<(u32, u32), TextError> {
    let host = |field: &Field<'_>| {
        let id = field.number("a host")?;
        host_of(id).ok_or_else(|| match hosts {
            0 => field.error(format!("node {id} is no host of the topology")),
            _ => field.error(format!("host {id} of {hosts}; hosts are numbered from 0")),
        })
    };
    let (a, b) = (host(src)?, host(dst)?);
    if a == b {
        return Err(dst.error(format!(
            "a message from host {a} to itself; name another host"
        )));
    }
    Ok((a, b))
}

/// The ends of a message of our list.
fn named_ends(
    src: &Field<'_>,
    dst: &Field<'_>,
    hosts: u32,
    names: &BTreeMap<&str, u32>,
) -> Result<(u32, u32), TextError> {
    let host = |field: &Field<'_>| {
        let named = field.quotes();
        if let Some(&host) = names.get(named.as_str()) {
            return Ok(host);
        }
        if !field.text.starts_with(|c: char| c.is_ascii_digit()) {
            let first = names.iter().min_by_key(|&(_, number)| number);
            let like = first.map_or("0".to_owned(), |(name, _)| format!("\"{name}\""));
            return Err(field.error(format!(
                "there is no host \"{named}\"; write the name of one, like {like}, or a number below {hosts}"
            )));
        }
        let number: u32 = field.number("a host")?;
        let known = (number < hosts).then_some(number);
        known.ok_or_else(|| {
            field.error(format!(
                "host {number} of {hosts}; hosts are numbered from 0"
            ))
        })
    };
    let (a, b) = (host(src)?, host(dst)?);
    if a == b {
        return Err(dst.error(format!(
            "a message from host {} to itself; name another host",
            dst.text
        )));
    }
    Ok((a, b))
}

/// One-shot messages with tags of their own.
#[derive(Default)]
struct Tagged {
    flows: OneShots,
    tags: Tags,
}

impl Tagged {
    fn push(
        &mut self,
        (src, dst): (u32, u32),
        size: u64,
        start: Time,
        tag: &str,
    ) -> Result<(), WorkloadError> {
        let tag = self.tags.number(tag)?;
        self.flows.push_tagged(src, dst, size, start, tag);
        Ok(())
    }

    fn len(&self) -> usize {
        self.flows.len()
    }

    fn finish(self) -> Result<Traffic, TextError> {
        self.flows
            .finish_tagged(self.tags.names)
            .map_err(|error| TextError {
                line: 1,
                column: 1,
                message: error.to_string(),
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_host(id: u32) -> Option<u32> {
        (id < 1000).then_some(id)
    }

    #[test]
    fn a_list_is_read_with_units_and_put_into_order() {
        let text = "src,dst,size,start,tag\n# comment\n1,0, 64KB ,2us,late\r\n0,1,1B,1.5us\n";
        let traffic = parse_csv(text, 2, &BTreeMap::new()).unwrap();
        assert_eq!(traffic.tags, ["late", "untagged"]);
        assert_eq!(
            write_csv(&traffic).unwrap(),
            "src,dst,size,start,tag\n0,1,1B,1.5us,untagged\n1,0,64KB,2us,late\n"
        );
    }

    #[test]
    fn a_size_that_no_message_has_is_shown_where_it_is_written() {
        let error = parse_csv("0,1,1B,1us\n0,1,100TB,1us\n", 2, &BTreeMap::new()).unwrap_err();
        assert_eq!((error.line, error.column), (2, 5));
        assert!(error.message.contains("100TB"), "{error:?}");
    }

    #[test]
    fn a_header_names_the_columns_as_they_are_read() {
        let read =
            |header: &str| parse_csv(&format!("{header}\n0,1,1B,1us\n"), 2, &BTreeMap::new());
        for header in ["src,dst,size,start", "SRC, Dst ,size,start,tag"] {
            assert_eq!(read(header).map(|traffic| traffic.messages.len()), Ok(1));
        }
        for (header, column) in [
            ("src,dst,start,size", 9),
            ("src,dst,size,start,label", 20),
            ("src,dst,size", 1),
            ("source,dest,size,start", 1),
            ("from,to,bytes,at", 1),
            ("src,dst,size,start,tag,prio", 1),
        ] {
            let error = read(header).unwrap_err();
            assert_eq!((error.line, error.column), (1, column), "{header}");
            assert!(error.message.contains("in this order"), "{error:?}");
        }
    }

    #[test]
    fn a_list_may_call_hosts_by_their_names() {
        let names = BTreeMap::from([("gpu0", 0), ("gpu8", 2), ("1", 3)]);
        let text = "gpu0,gpu8,4MB,0us,allreduce\n0,1,1B,1us\n";
        let traffic = parse_csv(text, 4, &names).unwrap();
        let written = write_csv(&traffic).unwrap();
        let lines: Vec<&str> = written.lines().skip(1).collect();
        assert_eq!(
            lines,
            ["0,2,4MB,0ps,allreduce", "0,3,1B,1us,untagged"],
            "a name before a number"
        );
    }

    #[test]
    fn a_tag_with_quotes_is_read_as_other_programs_write_it() {
        let text =
            "src,dst,size,start,tag\r0,1,1B,0ps,\"the \"\"big\"\", one\"\r0,1,1B,0ps,\" b\"\r";
        let traffic = parse_csv(text, 2, &BTreeMap::new()).unwrap();
        assert_eq!(traffic.tags, ["the \"big\", one", " b"]);
        assert_eq!(
            write_csv(&traffic).unwrap(),
            text.replace('\r', "\n"),
            "what is written is read back"
        );
        // All messages of a list that tidegate wrote may have the tag of those without one.
        let text = "0,1,1B,0s,untagged\n0,1,1B,0s,untagged\n";
        assert_eq!(
            parse_csv(text, 2, &BTreeMap::new()).unwrap().tags,
            ["untagged"]
        );
    }

    #[test]
    fn a_flow_file_is_read_as_its_own_reader_does() {
        let text =
            "3\n0 1 3 100 5000000000 2.000000001\n1 2 3 200 1 2\n2 0 3 7 10 2.5\nleft over\n";
        let file = parse_hpcc(text, any_host).unwrap();
        let written: Vec<_> = write_csv(&file.traffic)
            .unwrap()
            .lines()
            .map(String::from)
            .collect();
        assert_eq!(
            written[1..],
            [
                "1,2,1B,2s,incast",
                "0,1,5GB,2.000000001s,normal",
                "2,0,10B,2.5s,dport 7"
            ]
        );
        assert_eq!(
            file.warnings,
            [
                "line 3 starts before the line above it; HPCC's reader would delay it, here it \
                 starts in time",
                "1 lines after the 3 flows announced in line 1 were ignored",
            ]
        );
        let (text, warnings) = write_hpcc(&file.traffic).unwrap();
        assert!(
            text.starts_with(
                "3\n1 2 3 200 1 2.000000000000\n0 1 3 100 5000000000 2.000000001000\n"
            )
        );
        assert_eq!(
            warnings,
            ["a message of 5000000000 bytes; HPCC's reader keeps 32 bits of a size"]
        );
    }

    #[test]
    fn one_tag_too_many_is_refused_where_it_stands_and_long_before_the_end() {
        use std::fmt::Write as _;
        let mut text = String::new();
        for tag in 0..65_535 {
            writeln!(text, "0,1,1B,0s,t{tag}").unwrap();
        }
        assert_eq!(
            parse_csv(&text, 2, &BTreeMap::new()).unwrap().tags.len(),
            65_535
        );
        text.push_str("0,1,1B,0s,t7\n0,1,1B,0s,more\nnonsense\n");
        let error = parse_csv(&text, 2, &BTreeMap::new())
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with("65537:11: \"more\" is one tag too many"),
            "{error}"
        );
    }

    #[test]
    fn a_byte_order_mark_is_no_part_of_a_file() {
        let list = "src,dst,size,start\n0,1,64KB,2us\n";
        let marked = format!("\u{feff}{list}");
        assert_eq!(
            parse_csv(&marked, 2, &BTreeMap::new()),
            parse_csv(list, 2, &BTreeMap::new())
        );
        let flows = "1\n0 1 3 100 5 2\n";
        assert_eq!(
            parse_hpcc(&format!("\u{feff}{flows}"), any_host),
            parse_hpcc(flows, any_host)
        );
        let matrix = "Nodes 2\nConnections 1\n0->1 start 0 size 1000\n";
        let read = |text: &str| crate::parse_cm(text, 2, crate::StartUnit::Picoseconds);
        assert_eq!(read(&format!("\u{feff}{matrix}")), read(matrix));
        assert!(read(matrix).is_ok());
        let curve = "0 0\n100 1\n";
        let read = |text: &str| crate::parse_cdf("x", text, crate::CdfOptions::default());
        let marked = read(&format!("\u{feff}{curve}")).unwrap();
        assert_eq!(
            marked.dist.mean().to_bits(),
            read(curve).unwrap().dist.mean().to_bits()
        );
    }

    #[test]
    fn every_mistake_in_a_list_has_a_place_and_a_cure() {
        for (text, expected) in [
            ("0,1,64KB\n", "1:1: 3 fields; a message is"),
            (
                "0,9,64KB,1us\n",
                "1:3: host 9 of 4; hosts are numbered from 0",
            ),
            ("0,0,64KB,1us\n", "1:3: a message from host 0 to itself"),
            ("0,1,64,1us\n", "1:5: \"64\" needs a unit"),
            ("0,1,64KB, 1GB\n", "1:11: \"GB\" is no unit of a time"),
            (
                "x,1,64KB,1us\n",
                "1:1: there is no host \"x\"; write the name of one, like \"gpu0\", or a number below 4",
            ),
            ("gpu1,1,64KB,1us\n", "1:6: a message from host 1 to itself"),
            (
                "0,1,1B,0s,a\n0,1,1B,0s,\"ring\n",
                "2:11: a quote that does not",
            ),
            ("0,1,1B,0s,a\n0,1,1B,0s,\"  \"\n", "2:12: \"  \" is no tag"),
            ("0,1,1B,0s,a\u{1b}b\n", "1:11: \"a\\u{1b}b\" is no tag"),
            (
                "0,1,1B,0s,\n0,1,1B,0s,untagged\n",
                "2:11: messages without a tag are called \"untagged\"",
            ),
            (
                "0,1,1B,0s,untagged\n0,1,1B,0s\n",
                "2:1: messages without a tag are called \"untagged\"",
            ),
        ] {
            let names = BTreeMap::from([("gpu0", 0), ("gpu1", 1)]);
            let error = parse_csv(text, 4, &names).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{text:?} gave {error}");
        }
    }

    #[test]
    fn every_mistake_in_a_flow_file_has_a_place_and_a_cure() {
        for (text, expected) in [
            ("", "1:1: the file is empty"),
            ("2\n0 1 3 100 5 2\n", "1:1: 2 flows announced, 1 listed"),
            ("1 0 1 3 100 5 2\n", "1:3: text after the number of flows"),
            ("1\n0 1 3 100 5\n", "2:1: 5 fields; a flow is"),
            (
                "1\n0 9 3 100 5 2\n",
                "2:3: node 9 is no host of the topology",
            ),
            (
                "1\n0 1 3 100 5 soon\n",
                "2:13: \"soon\" is not a time in seconds",
            ),
            ("1\n0 1 3 100 -5 2\n", "2:11: \"-5\" is not a size in bytes"),
        ] {
            let error = parse_hpcc(text, |id| (id < 4).then_some(id))
                .unwrap_err()
                .to_string();
            assert!(error.starts_with(expected), "{text:?} gave {error}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(
            rows in prop::collection::vec((0..9u32, 0..8u32, 0..1u64 << 40, 0..1u64 << 50, 0..3usize), 0..40)
        ) {
            let mut flows = Tagged::default();
            for (src, dst, size, start, tag) in rows {
                let dst = if dst < src { dst } else { dst + 1 };
                flows.push((src, dst), size, Time(start), ["normal", "in\"cast, ", "dport 3"][tag]).unwrap();
            }
            let traffic = flows.finish().unwrap();
            // Connection numbers follow the lines of the file, which follow the order of starts.
            let lines = write_csv(&traffic).unwrap();
            prop_assert_eq!(write_csv(&parse_csv(&lines, 9, &BTreeMap::new()).unwrap()).unwrap(), lines);
            let (text, _) = write_hpcc(&traffic).unwrap();
            let again = parse_hpcc(&text, any_host).unwrap();
            prop_assert!(again.warnings.is_empty());
            prop_assert_eq!(write_hpcc(&again.traffic).unwrap().0, text);
        }

        #[test]
        fn no_text_makes_a_reader_panic(text in "[0-9a-z.,#\" \r\n-]{0,200}") {
            let _ = parse_csv(&text, 4, &BTreeMap::new());
            let _ = parse_hpcc(&text, any_host);
            let _ = crate::parse_cdf("any", &text, crate::CdfOptions::default());
        }
    }
}
