//! What can be set, its defaults and where they come from.

use toml::{Table, Value};
use transports::parts::keys::{self, Key, count, span};
use transports::{ParamError, Parameter};
use units::Span;

/// Everything that can be set in `[transport.fixed-window]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Params {
    /// Name of the profile that the absent keys come from.
    pub profile: &'static str,
    /// Bytes that may be on the way, in percent of rate times base round trip.
    pub window: u16,
    /// How long a packet may go unanswered before it is sent again.
    pub retry: Span,
    /// The longest such wait, after doubling.
    pub retry_max: Span,
    /// Waits in a row after which an end gives up.
    pub retries_max: u16,
    /// Connections that one host keeps at once.
    pub connections_max: u16,
}

impl Params {
    /// The profile that is taken where none is named.
    pub const DEFAULT: Self = Self {
        profile: "default",
        window: 100,
        retry: Span::ms(1),
        retry_max: Span::ms(1_000),
        retries_max: 16,
        connections_max: u16::MAX,
    };

    /// Every profile, the default one first. One per published set of values is a good habit.
    const PROFILES: [(&str, Self); 1] = [("default", Self::DEFAULT)];

    /// Reads the table of a scenario.
    ///
    /// # Errors
    /// The key that is wrong and what to write instead.
    pub fn read(table: &Table) -> Result<Self, ParamError> {
        let name = keys::profile(table, Self::DEFAULT.profile)?;
        let known = Self::PROFILES.iter().find(|(known, _)| *known == name);
        let Some((_, profile)) = known else {
            let names = Self::PROFILES.iter().map(|(name, _)| *name);
            return Err(keys::error(
                "profile",
                keys::unknown("no such profile", name, names),
            ));
        };
        let mut params = profile.clone();
        keys::apply(&KEYS, table, &mut params)?;
        if params.retry > params.retry_max {
            return Err(keys::error("retry", "is longer than retry_max"));
        }
        Ok(params)
    }

    /// Every parameter with its value, for `resolved.toml`.
    pub fn resolved(&self) -> Table {
        keys::write(&KEYS, self.profile, self)
    }

    /// The wait of try number `tries`, counted from 0: it doubles.
    pub fn wait(&self, tries: u16) -> Span {
        self.retry.times(1 << tries.min(40)).min(self.retry_max)
    }

    /// How long an end goes on asking one that does not answer.
    pub fn patience(&self) -> Span {
        let waits = (0..=self.retries_max).map(|tries| self.wait(tries));
        waits.fold(Span::ZERO, |sum, wait| Span(sum.0 + wait.0))
    }
}

/// The documentation of every parameter.
pub fn parameters() -> Vec<Parameter> {
    keys::document(&KEYS, &Params::DEFAULT)
}

/// Shortest and longest wait that makes sense. [ours]
const RETRY: (Span, Span) = (Span::us(1), Span::ms(60_000));

static KEYS: [Key<Params>; 5] = [
    Key {
        key: "window",
        meaning: "bytes that may be on the way, in percent of the host's rate times the base round trip",
        source: "[ours] 100 keeps one line full and no queue",
        get: |p| Value::from(i64::from(p.window)),
        set: |p, v| count(v, 1, 10_000).map(|n| p.window = n),
    },
    Key {
        key: "retry",
        meaning: "how long a packet may go unanswered before it is sent again",
        source: "[ours] longer than a full switch buffer takes to drain",
        get: |p| Value::from(p.retry.to_string()),
        set: |p, v| span(v, RETRY.0, RETRY.1).map(|wait| p.retry = wait),
    },
    Key {
        key: "retry_max",
        meaning: "the longest such wait, after doubling",
        source: "[ours]",
        get: |p| Value::from(p.retry_max.to_string()),
        set: |p, v| span(v, RETRY.0, RETRY.1).map(|wait| p.retry_max = wait),
    },
    Key {
        key: "retries_max",
        meaning: "waits in a row after which an end gives up",
        source: "[ours] about eight seconds with the other defaults",
        get: |p| Value::from(i64::from(p.retries_max)),
        set: |p, v| count(v, 1, 100).map(|n| p.retries_max = n),
    },
    Key {
        key: "connections_max",
        meaning: "connections that one host keeps at once; more are refused",
        source: "[ours]",
        get: |p| Value::from(i64::from(p.connections_max)),
        set: |p, v| count(v, 1, u16::MAX).map(|n| p.connections_max = n),
    },
];
