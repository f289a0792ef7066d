//! What the figures of a comparison rest on: the lists of messages, what ports have room for, and what they dropped of the
//! data that receivers had asked for.

use super::plain;
use crate::page::{Section, Table};
use minijinja::Value;
use results::compare::{Comparison, Group, ports_told};
use results::human;
use results::table::last_part;

/// Messages and lists, a row per combination of settings that is judged.
pub(super) fn lists(comparison: &Comparison, judged: &[&Group]) -> Section {
    let mut table = table(comparison, &[], &["messages", "which", "cut"]);
    table.text.extend(["which", "cut"]);
    table.long = vec!["which", "cut"];
    let or = |text: String, nothing: &str| match text.is_empty() {
        true => nothing.to_owned(),
        false => text,
    };
    let mut one = true;
    for place in judged {
        let shared = comparison.shared(place);
        one &= shared.one_list;
        let mut row = settings(place);
        row.push(plain(human::count(shared.messages)));
        row.push(plain(or(shared.list, "not known")));
        row.push(plain(or(shared.cut, "nothing")));
        table.push(row);
    }
    Section {
        id: "lists".into(),
        title: if one {
            "One list of messages for all".into()
        } else {
            "Lists of messages".into()
        },
        says: "A list is known by a hash over sender, receiver, size and start of each message. What is cut is what the sizes of \
               the traffic lack."
            .into(),
        body: Value::from(""),
        points: 0,
        table: Some(table),
        fold: "",
        wide: true,
    }
}

/// Room in ports and what was lost there, a row per transport at each combination of settings; nothing where no run
/// says anything of it.
pub(super) fn ports(comparison: &Comparison, judged: &[&Group]) -> Option<Section> {
    let columns = [
        "scheduled lost",
        "of",
        "at ports",
        "a port holds",
        "it needs",
    ];
    let mut table = table(comparison, &["transport"], &columns);
    table.text.extend(["at ports", "a port holds", "it needs"]);
    table.long = vec!["at ports", "a port holds"];
    let groups = judged.iter().flat_map(|place| comparison.rivals(place));
    let mut some = false;
    for group in groups {
        let asked = group.asked.as_ref();
        let room = group.ground.room_told();
        some |= asked.is_some() || !room.is_empty();
        let dash = || "-".to_owned();
        let at = asked.filter(|asked| asked.dropped > 0).map(ports_told);
        let mut row = vec![plain(&group.transport)];
        row.extend(settings(group));
        row.extend([
            plain(asked.map_or_else(dash, |asked| human::count(asked.dropped))),
            plain(asked.map_or_else(dash, |asked| human::count(asked.sent))),
            plain(at.unwrap_or_else(dash)),
            plain(if room.is_empty() { dash() } else { room }),
            plain(group.needs_told().unwrap_or_else(dash)),
        ]);
        table.push(row);
    }
    some.then(|| Section {
        id: "ports".into(),
        title: "What ports hold, and what they lost of scheduled data".into(),
        says: format!(
            "Scheduled data was asked for by a credit, a grant, a pull, a token or a slot. What a transport needs is room before a \
             host, so that none of it is lost there. Packets, over {}.",
            comparison.seeds_told()
        ),
        body: Value::from(""),
        points: 0,
        table: Some(table),
        fold: "",
        wide: true,
    })
}

/// Columns that name a row come first, then the settings that differ, then `columns`.
fn table(comparison: &Comparison, names: &[&str], columns: &[&str]) -> Table {
    let keys = comparison.varied.iter().map(|key| last_part(key));
    let head = names.iter().copied().chain(keys);
    Table::new(&head.chain(columns.iter().copied()).collect::<Vec<_>>())
}

/// What differs at a place.
fn settings(place: &Group) -> Vec<Value> {
    let values = place.settings.iter();
    values.map(|(_, value)| plain(value)).collect()
}
