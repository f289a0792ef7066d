//! Parameters as one table of keys: what reads them, writes them and documents them.

use super::forms::Takes;
use crate::{Control, ParamError, Parameter, Transport};
use model::{Counter, Encap, EndpointConfig, HostId, Totals};
use toml::{Table, Value};
use units::Rate;
use units::text::edits;

/// One parameter of a transport whose parameters are a `P`.
pub struct Key<P> {
    /// Its name in TOML.
    pub key: &'static str,
    /// What it means, with its unit.
    pub meaning: &'static str,
    /// Where the default comes from.
    pub source: &'static str,
    /// Writes it as TOML.
    pub get: fn(&P) -> Value,
    /// Reads it from TOML; the error says what to write instead.
    pub set: fn(&mut P, &Value) -> Result<(), String>,
    /// What values it takes.
    pub takes: fn() -> Takes,
    /// Whether there is such a key beside what is no parameter: a variant of the transport may do without.
    pub exists: fn(&P) -> bool,
}

/// Sets of values under a name, the default one first.
pub type Profiles<P> = [(&'static str, fn() -> P)];

/// The key that selects a set of values; it is read before all others.
const PROFILE: &str = "profile";

/// The name under `profile` and its values.
///
/// # Errors
/// If there is no profile of that name.
pub fn profile<P>(table: &Table, profiles: &Profiles<P>) -> Result<(&'static str, P), ParamError> {
    let (default, _) = profiles[0];
    let name = match table.get(PROFILE) {
        None => default,
        Some(Value::String(name)) => name,
        Some(other) => {
            let message = format!("{other} is no name; write it like \"{default}\"");
            return Err(error(PROFILE, message));
        }
    };
    match profiles.iter().find(|(known, _)| *known == name) {
        Some(&(name, values)) => Ok((name, values())),
        None => {
            let known = profiles.iter().map(|profile| profile.0);
            Err(error(PROFILE, unknown("no such profile", name, known)))
        }
    }
}

/// Changes `params` by what `table` says.
///
/// # Errors
/// The first key that is unknown or has a value out of range.
pub fn apply<P>(keys: &[Key<P>], table: &Table, params: &mut P) -> Result<(), ParamError> {
    for (name, value) in table {
        if name == PROFILE {
            continue;
        }
        let Some(key) = existing(keys, params).find(|key| key.key == name) else {
            let known = existing(keys, params).map(|key| key.key).chain([PROFILE]);
            return Err(error(name, unknown("no such parameter", name, known)));
        };
        (key.set)(params, value).map_err(|message| error(name, message))?;
    }
    Ok(())
}

/// The keys that there are.
fn existing<'a, P>(keys: &'a [Key<P>], params: &P) -> impl Iterator<Item = &'a Key<P>> {
    keys.iter().filter(|key| (key.exists)(params))
}

/// Every parameter of `params`, as a table that [`apply`] reads back.
pub fn write<P>(keys: &[Key<P>], profile: &str, params: &P) -> Table {
    let mut table = Table::new();
    table.insert(PROFILE.to_owned(), Value::String(profile.to_owned()));
    table.extend(existing(keys, params).map(|key| (key.key.to_owned(), (key.get)(params))));
    table
}

/// The documentation of `profile` and of every key, with the values of `defaults`.
pub fn document<P>(profiles: &Profiles<P>, keys: &[Key<P>], defaults: &P) -> Vec<Parameter> {
    let names: Vec<_> = profiles.iter().map(|profile| profile.0).collect();
    let profile = Parameter {
        key: PROFILE,
        default: format!("\"{}\"", names[0]),
        meaning: format!(
            "where absent keys come from: {}",
            Takes::Words(names.clone())
        ),
        source: "ours",
        takes: Takes::Words(names),
    };
    let document = |key: &Key<P>| Parameter {
        key: key.key,
        default: (key.get)(defaults).to_string(),
        meaning: key.meaning.trim_start().to_owned(),
        source: key.source,
        takes: (key.takes)(),
    };
    std::iter::once(profile)
        .chain(existing(keys, defaults).map(document))
        .collect()
}

/// An error about `key`.
pub fn error(key: &str, message: impl Into<String>) -> ParamError {
    ParamError {
        key: key.to_owned(),
        message: message.into(),
    }
}

/// "what; did you mean X?" or the list of what is known.
pub fn unknown(what: &str, name: &str, known: impl Iterator<Item = &'static str>) -> String {
    let known: Vec<_> = known.collect();
    let near = known.iter().map(|k| (edits(name, k), k)).min();
    match near {
        Some((distance, near)) if distance <= name.len().max(3) / 2 => {
            format!("{what}; did you mean \"{near}\"?")
        }
        _ => format!("{what}; known are {}", known.join(", ")),
    }
}

/// Checks what must hold of what a transport declares: its default parameters resolve to themselves, every key
/// is explained and takes its own default, and a typing error is answered with the right key; its endpoints
/// report the counters that it names, each explained.
///
/// # Panics
/// If one of them does not hold.
pub fn examine(transport: &dyn Transport) {
    let read = |table: &Table| Ok(transport.configure(table)?.resolved());
    let about = (transport.name(), transport.summary());
    examine_parameters(about, &transport.parameters(), &read);
    examine_counters(transport);
}

fn examine_counters(transport: &dyn Transport) {
    let name = transport.name();
    let factory = transport.configure(&Table::new());
    let factory = factory.unwrap_or_else(|error| panic!("{name}: defaults: {error}"));
    let line = EndpointConfig::new(HostId(0), Rate::gbps(10), Encap::PAPER);
    let mut reported = Vec::new();
    let mut report = |counter: &'static Counter, _| reported.push(*counter);
    factory.make(&line).counters(&mut report);
    assert_eq!(
        reported,
        transport.counters(),
        "{name} reports other counters than it declares"
    );
    for counter in transport.counters() {
        let shared = Totals::ALL.iter().any(|of| of.name == counter.name);
        assert!(!shared, "{name}: every transport counts {}", counter.name);
        assert!(!counter.meaning.is_empty(), "{name}: {counter:?}");
    }
}

/// What must hold of a flow control's parameters: the same as of a transport's.
///
/// # Panics
/// If it does not hold.
pub fn examine_control(control: &dyn Control) {
    let read = |table: &Table| Ok(control.configure(table)?.resolved());
    let about = (control.name(), control.summary());
    examine_parameters(about, &control.parameters(), &read);
}

/// Reads parameters and says what they are then.
type Resolve<'a> = dyn Fn(&Table) -> Result<Table, ParamError> + 'a;

fn examine_parameters(
    (name, summary): (&str, &str),
    parameters: &[Parameter],
    resolve: &Resolve<'_>,
) {
    let read = |text: &str| {
        let table: Table = text
            .parse()
            .unwrap_or_else(|error| panic!("{name}: {text}: {error}"));
        resolve(&table)
    };
    assert!(!summary.is_empty(), "{name} has no summary");
    let default = read("").unwrap_or_else(|error| panic!("{name}: defaults: {error}"));
    let again =
        read(&default.to_string()).unwrap_or_else(|error| panic!("{name}: resolved: {error}"));
    assert_eq!(again, default, "{name}: resolving twice changes something");
    for Parameter {
        key,
        default: text,
        meaning,
        source,
        takes,
    } in parameters
    {
        let line = format!("{key} = {text}");
        let found = read(&line).unwrap_or_else(|error| panic!("{name}: {line}: {error}"));
        assert_eq!(found, default, "{name}: {line} is not the default");
        assert!(!meaning.is_empty() && !source.is_empty(), "{name}: {key}");
        assert!(!takes.to_string().is_empty(), "{name}: {key}");
        let wrong = format!("{key}x = {text}");
        let error = read(&wrong)
            .err()
            .unwrap_or_else(|| panic!("{name}: {wrong} is accepted"));
        assert!(
            error.to_string().contains(&format!("\"{key}\"")),
            "{name}: {wrong}: {error}"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::{KEYS, Odd, PROFILES, Params, takes_nothing};

    #[test]
    fn a_misspelt_key_gets_the_nearest_one() {
        assert_eq!(
            unknown(
                "no such parameter",
                "w_ini",
                ["alpha", "w_init", "w_min"].into_iter()
            ),
            "no such parameter; did you mean \"w_init\"?"
        );
        assert_eq!(
            unknown(
                "no such parameter",
                "colour",
                ["alpha", "w_init"].into_iter()
            ),
            "no such parameter; known are alpha, w_init"
        );
    }

    #[test]
    fn the_nearest_is_proposed_where_it_is_near_enough() {
        // Half of a name may be wrong, and one letter of a short one.
        let found = |name| unknown("no", name, ["abcdef"].into_iter());
        assert_eq!(found("abcxyz"), "no; did you mean \"abcdef\"?");
        assert_eq!(found("abwxyz"), "no; known are abcdef");
        assert_eq!(
            unknown("no", "x", ["y"].into_iter()),
            "no; did you mean \"y\"?"
        );
        assert_eq!(unknown("no", "x", ["yz"].into_iter()), "no; known are yz");
    }

    fn table(text: &str) -> Table {
        text.parse().unwrap()
    }

    #[test]
    fn a_profile_is_chosen_by_name_and_the_first_one_by_none() {
        let chosen =
            |text| profile(&table(text), PROFILES).map(|(name, params)| (name, params.window));
        assert_eq!(chosen(""), Ok(("calm", 10)));
        assert_eq!(chosen("profile = 'bold'"), Ok(("bold", 99)));
        let wrong = |text| chosen(text).unwrap_err().to_string();
        assert_eq!(
            wrong("profile = 7"),
            "profile: 7 is no name; write it like \"calm\""
        );
        assert_eq!(
            wrong("profile = 'bolt'"),
            "profile: no such profile; did you mean \"bold\"?"
        );
    }

    #[test]
    fn what_a_table_says_is_read_and_written_back() {
        let read = |text: &str| {
            let mut params = Params::DEFAULT;
            apply(KEYS, &table(text), &mut params).map(|()| params)
        };
        let params = read("burst = 7\nprofile = 'bold'").unwrap();
        assert_eq!((params.window, params.burst), (10, 7));
        let written = write(KEYS, "bold", &params);
        assert_eq!(written, table("profile = 'bold'\nwindow = 10\nburst = 7"));
        let again = read(&written.to_string()).unwrap();
        assert_eq!(write(KEYS, "bold", &again), written);
        let wrong = |text: &str| read(text).unwrap_err().to_string();
        assert_eq!(
            wrong("windov = 3"),
            "windov: no such parameter; did you mean \"window\"?"
        );
        assert_eq!(
            wrong("window = 0"),
            "window: 0 is no whole number from 1 to 1000"
        );
    }

    #[test]
    fn the_documentation_has_the_profile_first_and_every_key_with_its_default() {
        let rows: Vec<_> = document(PROFILES, KEYS, &Params::DEFAULT)
            .into_iter()
            .map(|p| (p.key, p.default, p.meaning, p.takes))
            .collect();
        let row = |key, default: &str, meaning: &str, takes| {
            (key, default.to_owned(), meaning.to_owned(), takes)
        };
        let from = "where absent keys come from: \"calm\" or \"bold\"";
        assert_eq!(
            rows,
            [
                row(
                    "profile",
                    "\"calm\"",
                    from,
                    Takes::Words(vec!["calm", "bold"])
                ),
                row("window", "10", "packets on the way", Takes::Count(1, 1000)),
                row("burst", "2", "packets at once", Takes::Count(1, 1000)),
            ]
        );
    }

    /// What a counter is that nobody has anything against.
    const PULLS: Counter = Counter {
        name: "pulls",
        unit: "packets",
        meaning: "Pulls sent.",
        hashed: false,
    };

    /// Each with what the complaint says.
    const ODDITIES: [(&str, Odd); 9] = [
        (
            "has no summary",
            Odd {
                summary: "",
                ..Odd::NONE
            },
        ),
        (
            "resolving twice changes something",
            Odd {
                drift: 1,
                ..Odd::NONE
            },
        ),
        (
            "profilex = \"calm\" is accepted",
            Odd {
                deaf: true,
                ..Odd::NONE
            },
        ),
        (
            "profilex = \"calm\": ",
            Odd {
                mute: true,
                ..Odd::NONE
            },
        ),
        (
            "window = 11 is not the default",
            Odd {
                change: |p| p.default = "11".to_owned(),
                ..Odd::NONE
            },
        ),
        (
            "window = 0: window",
            Odd {
                change: |p| p.default = "0".to_owned(),
                ..Odd::NONE
            },
        ),
        (
            "odd: window",
            Odd {
                change: |p| p.meaning.clear(),
                ..Odd::NONE
            },
        ),
        (
            "odd: window",
            Odd {
                change: |p| p.source = "",
                ..Odd::NONE
            },
        ),
        (
            "odd: window",
            Odd {
                change: takes_nothing,
                ..Odd::NONE
            },
        ),
    ];

    fn complaint(examine: impl FnOnce() + std::panic::UnwindSafe) -> String {
        let panic = std::panic::catch_unwind(examine).expect_err("nobody complains");
        *panic.downcast::<String>().expect("a formatted message")
    }

    #[test]
    fn what_is_odd_about_parameters_is_found() {
        examine(&Odd::NONE);
        examine_control(&Odd::NONE);
        for (wanted, odd) in ODDITIES {
            for said in [
                complaint(|| examine(&odd)),
                complaint(|| examine_control(&odd)),
            ] {
                assert!(said.contains(wanted), "{wanted}: {said}");
            }
        }
    }

    #[test]
    fn what_is_odd_about_counters_is_found() {
        const SHARED: Counter = Counter {
            name: "data_sent",
            ..PULLS
        };
        const UNSAID: Counter = Counter {
            meaning: "",
            ..PULLS
        };
        examine(&Odd {
            declared: &[PULLS],
            reported: &[PULLS],
            ..Odd::NONE
        });
        for (wanted, declared, reported) in [
            ("reports other counters", &[PULLS] as &[_], &[] as &[_]),
            ("reports other counters", &[], &[PULLS]),
            ("every transport counts data_sent", &[SHARED], &[SHARED]),
            ("odd: Counter", &[UNSAID], &[UNSAID]),
        ] {
            let odd = Odd {
                declared,
                reported,
                ..Odd::NONE
            };
            let said = complaint(|| examine(&odd));
            assert!(said.contains(wanted), "{wanted}: {said}");
        }
    }
}
