//! What figures of a comparison rest on, in words: one list of messages or several, what was cut off it, what ports
//! have room for, and what they dropped of the data that receivers had asked for.

use super::{Comparison, Group, listed};
use crate::grid::{Cell, Column, Paint, Style, render, wrap};
use crate::ground::Asked;
use crate::human;
use std::fmt::Write as _;
use units::Bytes;

/// Ports that are named; of more it is told how many there are. [ours]
const PORTS_NAMED: usize = 4;
/// Transports that share what ports have room for and are named. [ours]
const TRANSPORTS_NAMED: usize = 3;
/// Seeds whose lists are named; of more the first. [ours]
const LISTS_NAMED: usize = 3;

/// What the rivals of one combination of settings share.
pub struct Shared {
    /// Messages of a run.
    pub messages: u64,
    /// Which list of messages they served, in words; empty where that is not known.
    pub list: String,
    /// Whether all served the same.
    pub one_list: bool,
    /// What was cut off it, in words; empty where nothing was.
    pub cut: String,
}

impl Comparison {
    /// What the rivals of `place` share.
    pub fn shared(&self, place: &Group) -> Shared {
        let rivals: Vec<&Group> = self.rivals(place).collect();
        let (list, one_list) = lists(&rivals);
        let cut = place.ground.cut.iter();
        let cut: Vec<String> = cut
            .map(|(name, told)| format!("{name} cut: {told}"))
            .collect();
        Shared {
            messages: rivals.iter().map(|group| group.messages).max().unwrap_or(0),
            list,
            one_list,
            cut: cut.join("; "),
        }
    }

    /// What ports have room for under the rivals of `place`, and what they count on: `385 KB per port (homa, ndp)`.
    pub fn room(&self, place: &Group) -> String {
        let mut rooms: Vec<(String, Vec<&str>)> = Vec::new();
        for group in self.rivals(place) {
            let told = group.ground.room_told();
            match rooms.iter_mut().find(|(known, _)| *known == told) {
                Some((_, names)) => names.push(&group.transport),
                None => rooms.push((told, vec![&group.transport])),
            }
        }
        if let [(told, _)] = rooms.as_slice() {
            return told.clone();
        }
        // Those that most have come last and are not listed.
        rooms.sort_by_key(|(_, names)| names.len());
        let last = rooms.len().saturating_sub(1);
        let each = rooms.iter().enumerate().map(|(i, (told, names))| {
            let told = if told.is_empty() { "not known" } else { told };
            if i == last && names.len() > TRANSPORTS_NAMED {
                format!("{told} (all others)")
            } else {
                format!("{told} ({})", listed(names))
            }
        });
        each.collect::<Vec<_>>().join("; ")
    }

    /// What the rivals of `place` count on in a port before a host: `homa+aeolus 83 KB, which fits`.
    pub fn needs(&self, place: &Group) -> String {
        let each = self
            .rivals(place)
            .filter_map(|group| Some(format!("{} {}", group.transport, group.needs_told()?)));
        each.collect::<Vec<_>>().join("; ")
    }
}

impl Group {
    /// What it counts on in a port before a host, and whether that fits.
    pub fn needs_told(&self) -> Option<String> {
        let needs = self.ground.needs.as_ref()?;
        let fits = if needs.bytes <= needs.port_bytes {
            "which fits"
        } else {
            "which does not fit"
        };
        Some(format!("{}, {fits}", human::bytes(Bytes(needs.bytes))))
    }
}

/// Where scheduled data was lost: `100 at spine0 -> tor4, 60 at tor1 -> h17, and 41 at 7 more ports`.
pub fn ports_told(asked: &Asked) -> String {
    let named = asked.at.iter().take(PORTS_NAMED);
    let named: Vec<String> = named
        .map(|at| format!("{} at {}", human::count(at.dropped), at.port))
        .collect();
    let rest = asked.at.get(PORTS_NAMED..).unwrap_or_default();
    let packets = human::count(rest.iter().map(|at| at.dropped).sum());
    let more = match rest.len() {
        0 => String::new(),
        1 => format!(", and {packets} at 1 more port"),
        n => format!(", and {packets} at {} more ports", human::count(n as u64)),
    };
    format!("{}{more}", named.join(", "))
}

/// The lists of messages that `rivals` served, and whether each seed has one for all of them.
fn lists(rivals: &[&Group]) -> (String, bool) {
    let mut known: Vec<(u64, &str, &str)> = Vec::new();
    for group in rivals {
        for (&seed, list) in group.seeds.iter().zip(&group.lists) {
            if list.is_empty() {
                return (String::new(), false);
            }
            match known.iter().find(|(of, ..)| *of == seed) {
                None => known.push((seed, list, &group.transport)),
                Some((_, same, _)) if same == list => {}
                Some((_, other, whose)) => {
                    let told = format!(
                        "not one list: with seed {seed} {} has {list} where {whose} has {other}",
                        group.transport
                    );
                    return (told, false);
                }
            }
        }
    }
    let told = match known.as_slice() {
        [] => String::new(),
        [(_, list, _)] => format!("one list, {list}"),
        [first, ..] if known.iter().all(|of| of.1 == first.1) => {
            format!("one list with every seed, {}", first.1)
        }
        several => {
            let named = several.iter().take(LISTS_NAMED);
            let named: Vec<String> = named
                .map(|(seed, list, _)| format!("seed {seed} {list}"))
                .collect();
            let more = if several.len() > LISTS_NAMED {
                ", ..."
            } else {
                ""
            };
            format!("one list per seed, {}{more}", named.join(", "))
        }
    };
    (told, true)
}

/// The place, how many messages, which list and what was cut, before its table.
pub(super) fn above(comparison: &Comparison, place: &Group, style: Style) -> String {
    let shared = comparison.shared(place);
    let settings = match place.place() {
        at if at.is_empty() => String::new(),
        at => format!("{at}: "),
    };
    let messages = human::plural(shared.messages, "message", "messages");
    let mut told = format!("{settings}{messages}");
    for more in [&shared.list, &shared.cut] {
        if !more.is_empty() {
            let _ = write!(told, "; {more}");
        }
    }
    let paint = if shared.one_list || shared.list.is_empty() {
        Paint::Bold
    } else {
        Paint::Warn
    };
    style.paint(paint, &wrap(&told, style.width.min(100), 1)) + "\n"
}

/// Room in ports, and what they lost of the data that was asked for, for every combination of settings.
pub(super) fn text(comparison: &Comparison, style: Style) -> String {
    let places = comparison.grounds();
    let mut out = String::new();
    let mut told = |what: &str, of: &dyn Fn(&Group) -> String| {
        for line in once(&places, of) {
            let text = wrap(&format!("{what}{line}"), style.width.min(100), 1);
            let _ = writeln!(out, "{text}");
        }
    };
    told("a port of a switch holds", &|place| comparison.room(place));
    told(
        "so that no scheduled data is lost before a host, it needs room",
        &|place| comparison.needs(place),
    );
    out.push_str(&lost(comparison, &places, style));
    if out.is_empty() {
        return out;
    }
    format!("\n{out}")
}

/// What holds at each place, said once for those where it is the same.
fn once(all: &[&Group], of: &dyn Fn(&Group) -> String) -> Vec<String> {
    let mut each: Vec<(String, Vec<String>)> = Vec::new();
    for place in all {
        let (told, at) = (of(place), place.place());
        match each.iter_mut().find(|(known, _)| *known == told) {
            Some((_, places)) => places.push(at),
            None => each.push((told, vec![at])),
        }
    }
    let all = each.len() == 1;
    each.retain(|(told, _)| !told.is_empty());
    let line = |(told, places): (String, Vec<String>)| match all {
        true => format!(": {told}"),
        false => format!(" at {}: {told}", listed(&places)),
    };
    each.into_iter().map(line).collect()
}

/// The rival of `place` with this transport.
fn under<'a>(comparison: &'a Comparison, place: &'a Group, name: &str) -> Option<&'a Group> {
    let mut rivals = comparison.rivals(place);
    rivals.find(|group| group.transport == name)
}

/// A row per transport, a column per place; below it the ports that lost something.
fn lost(comparison: &Comparison, places: &[&Group], style: Style) -> String {
    let mut names: Vec<&str> = Vec::new();
    for group in places.iter().flat_map(|place| comparison.rivals(place)) {
        if !names.contains(&group.transport.as_str()) {
            names.push(&group.transport);
        }
    }
    let column = |title: String, rank: usize, cells: Vec<Cell>| Column {
        title,
        rank: u8::try_from(rank).unwrap_or(u8::MAX),
        cells,
    };
    let all = names.iter().map(|&name| Cell::new(name)).collect();
    let mut columns = vec![column("scheduled lost".into(), 0, all)];
    let mut below = String::new();
    for (i, &place) in places.iter().enumerate() {
        let cell = |name: &&str| {
            let group = under(comparison, place, name);
            match group.and_then(|group| group.asked.as_ref()) {
                None => Cell::painted("-", Paint::Dim),
                Some(asked) if asked.dropped == 0 => Cell::new("0"),
                Some(asked) => Cell::painted(human::count(asked.dropped), Paint::Warn),
            }
        };
        let title = match place.place() {
            at if at.is_empty() => "packets".to_owned(),
            at => at,
        };
        columns.push(column(title, i + 1, names.iter().map(cell).collect()));
        for group in names
            .iter()
            .filter_map(|name| under(comparison, place, name))
        {
            let Some(asked) = group.asked.as_ref().filter(|asked| asked.dropped > 0) else {
                continue;
            };
            let at = match place.place() {
                at if at.is_empty() => at,
                at => format!(" at {at}"),
            };
            let text = format!(
                "{}{at}: {} of {} packets, {}",
                group.transport,
                human::count(asked.dropped),
                human::count(asked.sent),
                ports_told(asked)
            );
            let _ = writeln!(below, "{}", wrap(&text, style.width.min(100), 3));
        }
    }
    let known = columns[1..].iter().flat_map(|column| &column.cells);
    if known.clone().all(|cell| cell.text == "-") {
        return String::new();
    }
    render(&columns, style) + &below
}
