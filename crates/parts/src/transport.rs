//! What a transport is to the rest of the program.
//!
//! First the registry, by which a program knows transports and flow controls. Then `Transport`, which names and explains one,
//! and `Factory`, which is one with its parameters: it is told what is known before a run, says what it needs of ports or
//! refuses them, and makes endpoints. Last what these say: pace, patience, ports, refusals, parameters and their errors.

use crate::control::Control;
use crate::declared::Described;
use crate::forms::Takes;
use model::intent::{CreditSpec, DropSpec, MarkSpec, PortSpec, QueueSpec, SwitchSpec};
use model::wire::Codec;
use model::wire::declared::Layout;
use model::{Class, Counter, Encap, Endpoint, EndpointConfig, Facts, HostId};
use units::{Bytes, Rate, Span};

/// The transports and flow controls that a program knows: a value that `main` hands to every user.
///
/// Your program can add to it without changing this crate. [ADR 18]
#[derive(Clone, Default)]
pub struct Registry {
    transports: Vec<&'static dyn Transport>,
    controls: Vec<&'static dyn Control>,
}

/// The word for ports without a flow control.
pub const NO_CONTROL: &str = "none";

impl Registry {
    /// These, in the order in which tables list them.
    ///
    /// # Panics
    /// If two have one name, or headers of one number.
    pub fn new(transports: &[&'static dyn Transport]) -> Self {
        let none = Self::default();
        transports.iter().fold(none, |all, one| all.with(*one))
    }

    /// These, and one more flow control.
    ///
    /// # Panics
    /// If its name is taken.
    #[must_use]
    pub fn with_control(mut self, control: &'static dyn Control) -> Self {
        let name = control.name();
        assert!(
            self.control(name).is_none() && name != NO_CONTROL,
            "two flow controls are called \"{name}\""
        );
        self.controls.push(control);
        self
    }

    /// The flow control of that name.
    pub fn control(&self, name: &str) -> Option<&'static dyn Control> {
        self.controls().find(|control| control.name() == name)
    }

    /// All flow controls, in the order in which tables list them.
    pub fn controls(&self) -> impl Iterator<Item = &'static dyn Control> + '_ {
        self.controls.iter().copied()
    }

    /// What a scenario may name as its flow control.
    pub fn control_names(&self) -> Vec<&'static str> {
        let named = self.controls().map(Control::name);
        std::iter::once(NO_CONTROL).chain(named).collect()
    }

    /// These, and one more.
    ///
    /// # Panics
    /// If its name is taken: a scenario could not say which one it means; or the number of its headers, which is all
    /// that a peer or a dissector knows them by.
    #[must_use]
    pub fn with(mut self, transport: &'static dyn Transport) -> Self {
        let name = transport.name();
        assert!(
            self.find(name).is_none(),
            "two transports are called \"{name}\""
        );
        let own = transport.codec().layout();
        let other = self.layouts().into_iter().find(|other| {
            own.is_some_and(|own| own.transport == other.transport && own.name != other.name)
        });
        if let Some(other) = other {
            panic!(
                "headers of {name} have the number {}, which those of {} have",
                other.transport, other.name
            );
        }
        self.transports.push(transport);
        self
    }

    /// The transport of that name.
    pub fn find(&self, name: &str) -> Option<&'static dyn Transport> {
        self.iter().find(|transport| transport.name() == name)
    }

    /// All of them, in the order in which tables list them.
    pub fn iter(&self) -> impl Iterator<Item = &'static dyn Transport> + '_ {
        self.transports.iter().copied()
    }

    /// The headers that they declare, each once.
    pub fn layouts(&self) -> Vec<&'static Layout> {
        let mut layouts: Vec<&'static Layout> = Vec::new();
        for codec in self.iter().map(Transport::codec) {
            let known =
                |other: &&Layout| Some(other.transport) == codec.layout().map(|l| l.transport);
            if !layouts.iter().any(known) {
                layouts.extend(codec.layout());
            }
        }
        layouts
    }

    /// Their names, in the same order.
    pub fn names(&self) -> Vec<&'static str> {
        self.iter().map(Transport::name).collect()
    }
}

impl std::fmt::Debug for Registry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list()
            .entries(self.names())
            .entries(self.controls().map(Control::name))
            .finish()
    }
}

/// A transport as the rest of the program sees it.
pub trait Transport: Sync {
    /// Its name in scenarios.
    fn name(&self) -> &'static str;
    /// What it is, in one line.
    fn summary(&self) -> &'static str;
    /// How its packets look on a wire.
    fn codec(&self) -> &'static dyn Codec;
    /// Every parameter with default, meaning and source.
    fn parameters(&self) -> Vec<Parameter>;
    /// What its endpoints count besides [`Totals`](model::Totals): the `ALL` of its
    /// [`counters!`](model::counters!), each a column of `hosts.csv`.
    fn counters(&self) -> &'static [Counter] {
        &[]
    }
    /// Reads the parameters of `[transport.<name>]`; absent ones take the profile's value.
    ///
    /// # Errors
    /// The key that is wrong and what to write instead.
    fn configure(&self, table: &toml::Table) -> Result<Box<dyn Factory>, ParamError>;
}

/// A configured transport: makes one endpoint per host.
#[allow(unused_variables, reason = "names for those who write one")]
pub trait Factory: Described + Send + Sync {
    /// The endpoint of one host.
    fn make(&self, config: &EndpointConfig) -> Box<dyn Endpoint>;
    /// The same transport with what follows from the network and the messages; `None` where nothing does.
    /// Called once, when a run is put together, before anything else is asked of it. What it fills in is in
    /// [`Described::resolved`] of the result.
    ///
    /// # Errors
    /// The parameter that does not fit, and what to write instead.
    fn settle(&self, facts: &Facts<'_>) -> Result<Option<Box<dyn Factory>>, ParamError> {
        Ok(None)
    }
    /// Connections that exist without a message, like that of every host to an arbiter: who opens each, and
    /// with whom. They are opened at time zero, in this order and before anything is sent, and live as long as the
    /// run. They are no messages, and none of them is ever called stuck.
    fn control(&self, facts: &Facts<'_>) -> Vec<(HostId, HostId)> {
        vec![]
    }
    /// Whether it works with such ports, of such switches. Asked about every port before a run.
    ///
    /// # Errors
    /// Why not, and the nearest that works.
    fn suits(&self, port: &PortSpec, switch: &SwitchSpec) -> Result<(), Refusal> {
        Ok(())
    }
    /// Whether packets of one message take several ways even where switches keep those of a connection on one.
    fn sprays(&self) -> bool {
        false
    }
    /// What a user should know before trusting it, a sentence each, where switches keep the packets of a connection
    /// on one path or, with `spreads`, do not.
    fn warns(&self, spreads: bool) -> Vec<String> {
        vec![]
    }
    /// Parameters without effect beside its others.
    fn unread(&self) -> Vec<Unread> {
        vec![]
    }
    /// That hosts of this kind give up too soon for the queues on their way; none where they do not.
    fn impatience(&self, config: &EndpointConfig) -> Option<Impatience> {
        None
    }
    /// What may wait before a host and must have room there, of a transport that counts on ports to lose none of it: as they
    /// drop the rest of its packets first, or as it has a time for each. `None` where the transport bounds no queue.
    fn protects(&self, config: &EndpointConfig, crowd: Crowd) -> Option<Protected> {
        None
    }
    /// The parameter, and its value, by which it sends again what was lost, where it does not: a message of which a packet is
    /// lost never ends then.
    fn repairs_by(&self) -> Option<(&'static str, &'static str)> {
        None
    }
    /// The parameter that says after how long silence first counts as a loss, and its value, where that does not
    /// follow from the network.
    fn first_wait(&self) -> Option<(&'static str, Span)> {
        None
    }
    /// The parameter that says after how long a silence a host gives its peer up, and its value, where one does.
    fn patience(&self) -> Option<(&'static str, Span)> {
        None
    }
    /// How hosts answer the credits that pace them, where queues have a bound that follows from it.
    fn pacing(&self) -> Option<Pacing> {
        None
    }
    /// Frames of one message that are under way at most, on a network with room for more, and the parameter that sets
    /// this; no parameter where longer frames alone help. `None` where nothing of its own bounds them.
    fn window_max(&self, encap: Encap) -> Option<(u32, Option<&'static str>)> {
        None
    }
    /// How long hosts know a connection at least that is not lasting, and whose message has arrived: so much of a run is in
    /// memory. [ours]
    fn remembers(&self) -> Span {
        Span::ZERO
    }
    /// Whether receivers hear of a message before it is their turn: both ends keep what is under way from the beginning on,
    /// and take twice the memory of one.
    fn announces(&self) -> bool {
        false
    }
    /// Whether it goes on as if every cable of the network worked, also where switches know of one that does not.
    fn counts_on_cables(&self) -> bool {
        false
    }
    /// What it needs of every port on a link of `rate`.
    fn fabric(&self, rate: Rate, encap: Encap) -> Fabric;
}

/// How hosts answer credits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pacing {
    /// Least and most time from a credit's arrival at a host to its data.
    pub host_delay: (Span, Span),
    /// Smallest credit on the wire, in bytes.
    pub credit_size_min: u16,
    /// Credits that a host's own line held back may leave at once, beyond what its shaper lets through back to back.
    pub held: u16,
}

/// Queues may take longer to drain than a host waits in good order for a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Impatience {
    /// The parameter that says after how long without a word it gives up, and its value.
    pub key: &'static str,
    /// The same.
    pub wait: Span,
    /// What full queues take to drain.
    pub drain: Span,
    /// The least value that suffices.
    pub least: Span,
}

/// What leaves parameters without effect, as a user writes it, `grant = "packet"`, and these.
pub type Unread = (&'static str, &'static [&'static str]);

/// Those of which it holds.
pub fn unread<const N: usize>(of: [(bool, Unread); N]) -> Vec<Unread> {
    let holds = of.into_iter().filter(|(holds, _)| *holds);
    holds.map(|(_, unread)| unread).collect()
}

/// The most messages of a run that start at one moment to one host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Crowd {
    /// So many.
    pub messages: u64,
    /// Most of one sender among them.
    pub of_one: u64,
    /// Bytes of the largest.
    pub largest: u64,
    /// Ways that lead to the host, of whom has the most.
    pub ways: u16,
}

/// What a port before a host must have room for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Protected {
    /// Wire bytes.
    pub bytes: Bytes,
    /// How they become fewer: "set ... to less".
    pub instead: String,
}

/// What a transport needs of the ports; what is `None` is left to the scenario.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fabric {
    /// A shaped credit queue.
    pub credit: Option<CreditSpec>,
    /// ECN marking.
    pub mark: Option<MarkSpec>,
    /// Selective dropping.
    pub drop: Option<DropSpec>,
    /// A class that waits in a queue of its own and takes only gaps.
    pub background: Option<Class>,
    /// Strict priorities, 1 where it needs none.
    pub priorities: u8,
    /// Records travel beside its packets ([`Packet::set_record`](model::Packet::set_record)).
    pub records: bool,
    /// Switches say in the paths among them what they know of their ports.
    pub telemetry: bool,
    /// Data names its way, and most of what answers it: switches choose for few packets.
    pub own_ways: bool,
    /// Nothing but its host's line holds data back: a queue before that line would get all of it at once.
    pub unbounded: bool,
    /// A port of its own making, in place of one with all of the above; it has the scenario's buffer.
    pub own: Option<PortSpec>,
}

impl Fabric {
    /// Strict priorities, and nothing else.
    pub fn prioritised(priorities: u8) -> Self {
        Self {
            priorities,
            ..Self::default()
        }
    }

    /// The port that does all of it for one transport alone, with `buffer` bytes of room.
    pub fn port(&self, buffer: Bytes) -> PortSpec {
        if let Some(own) = &self.own {
            return PortSpec {
                buffer,
                ..own.clone()
            };
        }
        let mut port = PortSpec::fifo(buffer);
        if let Some(mark) = self.mark {
            port = port.marking(mark);
        }
        if let Some(drop) = self.drop {
            port = port.dropping(drop);
        }
        port = port.prioritised(self.priorities.clamp(1, 8));
        if let Some(class) = self.background {
            port = port.with(QueueSpec::background(class));
        }
        if let Some(credit) = self.credit {
            port = port.with(QueueSpec::credit(credit));
        }
        port
    }

    /// Whether it asks for more than a queue that marks: other transports cannot share its queues then.
    pub fn is_plain(&self) -> bool {
        self.credit.is_none()
            && self.drop.is_none()
            && self.background.is_none()
            && self.priorities <= 1
            && self.own.is_none()
    }
}

/// Why a transport cannot work on a fabric.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The table or key of the scenario that it is about, with dots, like `switch.mark`; `transport.kind`
    /// where it is about the transport alone.
    pub place: &'static str,
    /// What does not go together, as a sentence about the transport: "needs ports that trim".
    pub reason: String,
    /// The nearest that works, as an order: "choose ...".
    pub instead: String,
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}; {}", self.reason, self.instead)
    }
}
impl std::error::Error for Refusal {}

/// One documented parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Its key in the scenario.
    pub key: &'static str,
    /// Default of the default profile, as written in TOML.
    pub default: String,
    /// What it means, with its unit.
    pub meaning: String,
    /// Where the default comes from.
    pub source: &'static str,
    /// What values it takes.
    pub takes: Takes,
}

/// A parameter that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParamError {
    /// The key, with dots for tables; empty where the table as a whole is wrong.
    pub key: String,
    /// What is wrong and what to write instead.
    pub message: String,
}

impl std::fmt::Display for ParamError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.key.is_empty() {
            return f.write_str(&self.message);
        }
        write!(f, "{}: {}", self.key, self.message)
    }
}
impl std::error::Error for ParamError {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::{Named, NoControl};
    use model::intent::{DropBy, DropMeasure, MarkAt, SwitchSpec};

    static ONE: Named = Named("one");
    static TWO: Named = Named("two");
    static GATES: NoControl = NoControl;

    #[test]
    fn a_registry_knows_what_it_was_given_in_that_order() {
        let all = Registry::new(&[&TWO, &ONE]).with_control(&GATES);
        assert_eq!(all.names(), ["two", "one"]);
        assert_eq!(all.find("one").map(Transport::name), Some("one"));
        assert!(all.find("three").is_none() && all.find("gates").is_none());
        assert_eq!(all.control("gates").map(Control::name), Some("gates"));
        assert!(all.control("one").is_none() && all.control(NO_CONTROL).is_none());
        assert_eq!(all.control_names(), ["none", "gates"]);
        assert_eq!((all.iter().count(), all.controls().count()), (2, 1));
        assert_eq!(format!("{all:?}"), "[\"two\", \"one\", \"gates\"]");
    }

    #[test]
    fn headers_that_several_declare_are_counted_once() {
        // Both names stand for the same packets.
        let layouts = Registry::new(&[&TWO, &ONE]).layouts();
        let names: Vec<_> = layouts.iter().map(|layout| layout.name).collect();
        assert_eq!(names, ["named"]);
        assert!(Registry::default().layouts().is_empty());
    }

    #[test]
    #[should_panic(expected = "two transports are called \"one\"")]
    fn a_name_of_a_transport_is_taken_once() {
        let _ = Registry::new(&[&ONE, &TWO, &ONE]);
    }

    mod other {
        model::header! {
            pub(super) static CODEC: "other" = 250;
            /// Says nothing.
            Empty = 1 "EMPTY" Control {}
        }
    }

    /// Another transport, whose headers have the number of [`Named`]'s.
    struct Double;

    impl Transport for Double {
        fn name(&self) -> &'static str {
            "double"
        }
        fn summary(&self) -> &'static str {
            "does nothing"
        }
        fn codec(&self) -> &'static dyn Codec {
            &other::CODEC
        }
        fn parameters(&self) -> Vec<Parameter> {
            Vec::new()
        }
        fn configure(&self, table: &toml::Table) -> Result<Box<dyn Factory>, ParamError> {
            ONE.configure(table)
        }
    }

    #[test]
    #[should_panic(expected = "headers of double have the number 250, which those of named have")]
    fn a_number_of_headers_is_taken_once() {
        let _ = Registry::new(&[&ONE, &TWO, &Double]);
    }

    #[test]
    #[should_panic(expected = "two flow controls are called \"gates\"")]
    fn a_name_of_a_flow_control_is_taken_once() {
        let _ = Registry::default()
            .with_control(&GATES)
            .with_control(&GATES);
    }

    #[test]
    fn a_transport_that_says_nothing_asks_for_nothing() {
        let factory = ONE.configure(&toml::Table::new()).unwrap();
        assert!(ONE.counters().is_empty());
        let port = PortSpec::fifo(Bytes(1));
        assert_eq!(factory.suits(&port, &SwitchSpec::default()), Ok(()));
        let facts = crate::bench::facts();
        assert!(factory.settle(&facts).unwrap().is_none());
        assert!(factory.control(&facts).is_empty());
        assert!(!factory.sprays() && factory.first_wait().is_none());
        assert!(factory.unread().is_empty() && factory.patience().is_none());
        assert!(factory.repairs_by().is_none());
        assert_eq!(factory.remembers(), Span::ZERO);
        assert!(factory.window_max(Encap::PAPER).is_none());
        assert!(!factory.counts_on_cables());
        assert!(
            [false, true]
                .iter()
                .all(|&spreads| factory.warns(spreads).is_empty())
        );
    }

    const MARK: MarkSpec = MarkSpec {
        min: Bytes(10),
        max: Bytes(10),
        chance: 1.0,
        at: MarkAt::Enqueue,
        drop_others: false,
    };
    const DROP: DropSpec = DropSpec {
        victim: Class::Unscheduled,
        threshold: Bytes(6_000),
        measure: DropMeasure::Queue,
        by: DropBy::Class,
    };
    const CREDIT: CreditSpec = CreditSpec {
        queue_limit: 8,
        bucket: 2,
        count: model::intent::CreditCount::Credits,
        size_mean: 84,
        frame_max: 1538,
        share: CreditSpec::WHOLE,
    };

    fn fabric(change: impl FnOnce(&mut Fabric)) -> Fabric {
        let mut fabric = Fabric {
            priorities: 1,
            ..Fabric::default()
        };
        change(&mut fabric);
        fabric
    }

    #[test]
    fn a_port_does_what_the_transport_needs_of_it() {
        let plain = PortSpec::fifo(Bytes(9_000));
        let port = |change: fn(&mut Fabric)| fabric(change).port(Bytes(9_000));
        assert_eq!(port(|_| {}), plain);
        assert_eq!(port(|f| f.priorities = 0), plain);
        assert_eq!(port(|f| f.priorities = 200), plain.clone().prioritised(8));
        let three = Fabric::prioritised(3).port(Bytes(9_000));
        assert_eq!(three, plain.clone().prioritised(3));
        assert_eq!(port(|f| f.mark = Some(MARK)), plain.clone().marking(MARK));
        assert_eq!(port(|f| f.drop = Some(DROP)), plain.clone().dropping(DROP));
        let background = QueueSpec::background(Class::Control);
        assert_eq!(
            port(|f| f.background = Some(Class::Control)),
            plain.clone().with(background)
        );
        let credit = QueueSpec::credit(CREDIT);
        assert_eq!(
            port(|f| f.credit = Some(CREDIT)),
            plain.clone().with(credit)
        );
        // A port of its own making has the scenario's buffer.
        let own = |f: &mut Fabric| f.own = Some(PortSpec::fifo(Bytes(1)).prioritised(2));
        assert_eq!(port(own), plain.prioritised(2));
    }

    #[test]
    fn parameters_without_effect_are_those_whose_condition_holds() {
        let (window, pacing): (Unread, Unread) = (
            ("window = 0", &["grant", "burst"]),
            ("pacing = false", &["rate"]),
        );
        let of = |first, second| unread([(first, window), (second, pacing)]);
        assert_eq!(of(false, false), []);
        assert_eq!(of(true, false), [window]);
        assert_eq!(of(true, true), [window, pacing]);
    }

    #[test]
    fn queues_that_only_mark_can_be_shared() {
        let plain = |change: fn(&mut Fabric)| fabric(change).is_plain();
        assert!(plain(|_| {}) && plain(|f| f.mark = Some(MARK)) && plain(|f| f.priorities = 0));
        assert!(!plain(|f| f.credit = Some(CREDIT)) && !plain(|f| f.drop = Some(DROP)));
        assert!(!plain(|f| f.background = Some(Class::Control)) && !plain(|f| f.priorities = 2));
        assert!(!plain(|f| f.own = Some(PortSpec::fifo(Bytes(0)))));
    }

    #[test]
    fn errors_name_the_place_and_the_cure() {
        let refusal = Refusal {
            place: "switch.mark",
            reason: "needs marks".to_owned(),
            instead: "choose red".to_owned(),
        };
        assert_eq!(refusal.to_string(), "needs marks; choose red");
        let error = crate::keys::error("window", "is too small");
        assert_eq!(error.to_string(), "window: is too small");
    }
}
