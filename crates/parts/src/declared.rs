//! A transport that is declared: what it declares once is all that the program asks of it.

use crate::keys::{self, Key, Profiles};
use crate::{Factory, ParamError, Parameter, Transport};
use model::Counter;
use model::wire::Codec;
use toml::Table;
use units::Span;

/// Parameters of a transport, by [`params!`](crate::params), with what else it declares.
pub trait Declared: Clone + 'static {
    /// Every key, in the order of the documentation.
    const KEYS: &'static [Key<Self>];
    /// Sets of values, the default one first.
    const PROFILES: &'static Profiles<Self>;
    /// How packets look on a wire.
    const CODEC: &'static dyn Codec;
    /// What endpoints count besides [`Totals`](model::Totals).
    const COUNTERS: &'static [Counter] = &[];

    /// Name of the profile that the absent keys come from.
    fn profile(&self) -> &'static str;

    /// Refuses what no single key shows, and fills in what follows from other keys of `table`.
    ///
    /// # Errors
    /// The key that is wrong and what to write instead.
    #[allow(unused_variables, reason = "names for those who write one")]
    fn agree(&mut self, table: &Table) -> Result<(), ParamError> {
        Ok(())
    }
}

/// What a configured transport says of itself; of one that is [`Declared`] it is known.
pub trait Described {
    /// How its packets look on a wire.
    fn codec(&self) -> &'static dyn Codec;
    /// Every parameter with its final value, for `resolved.toml`.
    fn resolved(&self) -> Table;
}

impl<P: Declared> Described for P {
    fn codec(&self) -> &'static dyn Codec {
        P::CODEC
    }
    fn resolved(&self) -> Table {
        keys::write(P::KEYS, self.profile(), self)
    }
}

/// A declared transport in the registry, or a variant of one: its name, and what it is in one line.
#[derive(Debug)]
pub struct Entry<P> {
    name: &'static str,
    summary: &'static str,
    variant: fn(P) -> P,
}

impl<P> Entry<P> {
    /// The transport as its profiles have it.
    pub const fn new(name: &'static str, summary: &'static str) -> Self {
        Self::variant(name, summary, std::convert::identity)
    }

    /// A transport of its own whose profiles are changed in this way.
    pub const fn variant(name: &'static str, summary: &'static str, variant: fn(P) -> P) -> Self {
        Self {
            name,
            summary,
            variant,
        }
    }
}

impl<P: Declared> Entry<P> {
    /// Reads `[transport.<name>]`; absent keys have the profile's value.
    ///
    /// # Errors
    /// The key that is wrong and what to write instead.
    pub fn read(&self, table: &Table) -> Result<P, ParamError> {
        let (_, profile) = keys::profile(table, P::PROFILES)?;
        let mut params = (self.variant)(profile);
        keys::apply(P::KEYS, table, &mut params)?;
        params.agree(table)?;
        Ok(params)
    }
}

impl<P: Declared + Factory> Transport for Entry<P> {
    fn name(&self) -> &'static str {
        self.name
    }
    fn summary(&self) -> &'static str {
        self.summary
    }
    fn codec(&self) -> &'static dyn Codec {
        P::CODEC
    }
    fn parameters(&self) -> Vec<Parameter> {
        let (_, default) = P::PROFILES[0];
        keys::document(P::PROFILES, P::KEYS, &(self.variant)(default()))
    }
    fn counters(&self) -> &'static [Counter] {
        P::COUNTERS
    }
    fn configure(&self, table: &Table) -> Result<Box<dyn Factory>, ParamError> {
        Ok(Box::new(self.read(table)?))
    }
}

/// Refuses receivers that remember a message for less than twice the `timeout` of its sender.
///
/// # Errors
/// If `linger` is shorter.
pub fn outlives(linger: Span, timeout: Span) -> Result<(), ParamError> {
    let least = timeout.times(2);
    if linger >= least {
        return Ok(());
    }
    let message = format!(
        "is less than twice the timeout: a sender may ask longer than its receiver remembers; set it to \"{least}\" or \
         more"
    );
    Err(keys::error("linger", message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_sender_may_ask_for_is_remembered_twice_as_long() {
        let said = |linger| outlives(Span::ms(linger), Span::ms(10)).map_err(|e| e.to_string());
        assert_eq!((said(20), said(21)), (Ok(()), Ok(())));
        assert_eq!(
            said(19).unwrap_err(),
            "linger: is less than twice the timeout: a sender may ask longer than its receiver remembers; set it to \
             \"20ms\" or more"
        );
    }
}
