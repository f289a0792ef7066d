//! What a driver is told, and what it tells.

use crate::cookie::Reason;
use crate::faults::{FaultConfig, FaultCounts};
use model::{ConnId, Encap, Event, HostId, Net, SizeList};
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::num::NonZero;
use std::sync::Arc;
use transports::Factory;
use units::{Bytes, Rate, Span};

/// The largest value of the six bits. [RFC 2474 s3]
const DSCP_MAX: u8 = 63;

/// How to run a driver.
#[derive(Clone, Debug)]
pub struct DriverConfig {
    /// Where to listen; port 0 takes any.
    pub bind: SocketAddrV4,
    /// The transport's name, told to peers so that a mismatch is seen.
    pub transport: String,
    /// Rate of the line that is paced to.
    pub rate: Rate,
    /// The largest IP packet that is sent, its header included; that of the path, so that nothing is
    /// fragmented. What peers send may be larger.
    pub mtu: Bytes,
    /// Longest idle round trip that the transport should expect.
    pub base_rtt: Span,
    /// What is known of the network and of the messages, for transports that ask: cut-offs between
    /// priorities follow from it, or over how many ways packets are spread.
    pub known: Known,
    /// Who has a connection with this end from the beginning, without any message: an arbiter, for
    /// transports that have one. Opened in this order, before all others; nothing else tells a
    /// transport on a wire who its arbiter is.
    pub control: Vec<SocketAddrV4>,
    /// How far the line may catch up after the process was not scheduled, in wire bytes.
    pub catch_up: Bytes,
    /// What to ask of the system for the socket's buffers.
    pub socket_buffer: Bytes,
    /// Seed of the transport's own draws and of the faults. The secrets come from the system.
    pub seed: u64,
    /// What the network does to arriving datagrams.
    pub faults: FaultConfig,
    /// The DSCP of each class, in the order of [`model::Class::ALL`].
    pub dscp: [u8; model::Class::COUNT],
}

/// What somebody knows of the network around a driver, and of what will be sent. What is left out, nobody knows.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// Hosts of the network, alike in rate and round trip.
    pub hosts: Option<NonZero<u32>>,
    /// Equal-cost ways to a host of another rack; 1 where it is not said. Each host is then in a rack of its own.
    pub ways: Option<NonZero<u16>>,
    /// Sizes of the messages that will be sent.
    pub sizes: Option<Arc<SizeList>>,
    /// Part of the hosts' lines that they will fill, 0 to 1.
    pub load: Option<f64>,
}

/// A network of which no more is known than a driver was told.
#[derive(Debug)]
pub(crate) struct Around {
    hosts: u32,
    ways: u16,
    rate: Rate,
    base_rtt: Span,
}

impl Around {
    /// What `config` says of it; none where nobody knows how many hosts there are.
    pub(crate) fn of(config: &DriverConfig) -> Option<Self> {
        Some(Self {
            hosts: config.known.hosts?.get(),
            ways: config.known.ways.map_or(1, NonZero::get),
            rate: config.rate,
            base_rtt: config.base_rtt,
        })
    }
}

impl Net for Around {
    fn hosts(&self) -> u32 {
        self.hosts
    }
    fn rate(&self, _: HostId) -> Rate {
        self.rate
    }
    fn rack(&self, host: HostId) -> u32 {
        if self.ways > 1 { host.0 } else { 0 }
    }
    fn ways(&self, a: HostId, b: HostId) -> u16 {
        if a == b { 0 } else { self.ways }
    }
    fn base_rtt(&self, a: HostId, b: HostId) -> Option<Span> {
        (a != b).then_some(self.base_rtt)
    }
    fn longest_rtt(&self) -> Option<Span> {
        Some(self.base_rtt)
    }
}

impl DriverConfig {
    /// Control as network control, credits expedited, scheduled and unscheduled data as one class
    /// of two drop precedences, plain data as best effort. [RFC 4594: CS6, CS5, AF21, AF22, DF]
    pub const DSCP: [u8; model::Class::COUNT] = [48, 40, 18, 20, 0, 48];

    /// What is wrong with it.
    ///
    /// # Errors
    /// The field and what to write instead.
    pub fn check(&self) -> Result<(), DriveError> {
        if self.rate.0 == 0 {
            return Err(DriveError::Usage(
                "rate is 0: give the line's rate, as 1Gbps".into(),
            ));
        }
        if self
            .known
            .load
            .is_some_and(|load| !(0.0..=1.0).contains(&load))
        {
            return Err(DriveError::Usage(
                "known.load is a part of the line: give 0 to 1".into(),
            ));
        }
        self.encap()?;
        if let Some(dscp) = self.dscp.iter().find(|&&dscp| dscp > DSCP_MAX) {
            return Err(DriveError::Usage(format!(
                "DSCP {dscp}: give 0 to {DSCP_MAX}"
            )));
        }
        Ok(())
    }

    /// Frame sizes of what is sent.
    ///
    /// # Errors
    /// What is wrong with [`DriverConfig::mtu`], and what to write instead.
    pub fn encap(&self) -> Result<Encap, DriveError> {
        let sized = Encap::UDP.with_mtu(self.mtu.get());
        sized.map_err(|why| DriveError::Usage(format!("mtu: {why}")))
    }

    /// Loopback answers within 10 us when idle, but processes that share cores wait for their time
    /// slices, and timers that expect less repeat what is on its way. [ours: with 100 us and two
    /// busy cores a transfer of 400 MB repeated 34,000 requests, with 1 ms 20; equally fast]
    pub const BASE_RTT: Span = Span::ms(1);

    /// On the loopback interface, any port.
    pub fn loopback(transport: &str, rate: Rate) -> Self {
        Self {
            bind: SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0),
            transport: transport.to_owned(),
            rate,
            mtu: Bytes(Encap::UDP.mtu().into()),
            base_rtt: Self::BASE_RTT,
            known: Known::default(),
            control: Vec::new(),
            catch_up: Bytes(64 << 10),
            socket_buffer: Bytes(2 << 20),
            seed: 1,
            faults: FaultConfig::default(),
            dscp: Self::DSCP,
        }
    }
}

/// Whether a transport can work without a simulator.
///
/// # Errors
/// What it needs that no real port has.
pub fn check_transport(name: &str, factory: &dyn Factory) -> Result<(), DriveError> {
    let fabric = factory.fabric(Rate::gbps(1), Encap::UDP);
    if let Some(class) = fabric.background {
        return Err(DriveError::Usage(format!(
            "{name} is for the simulator alone: it needs ports that send {} packets in \
             gaps alone and never lose them; choose another transport",
            class.name()
        )));
    }
    Ok(())
}

/// What happened, for the application.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum News {
    /// The transport says so. Accepted data goes to the [`Sink`](crate::Sink) instead. A connection
    /// that ends without its messages being through, because it expired, was given up or its peer is
    /// gone, says [`Event::Forgotten`]; one whose messages are through does not.
    Transport(Event),
    /// The peer restarted: its connections are forgotten. Connect again for new ones.
    PeerLost(SocketAddrV4),
    /// The peer does not answer: its connections are forgotten.
    Unreachable(SocketAddrV4),
    /// The peer refuses the connection, or, where none is named, everything. The transport goes
    /// on asking, except where the peer runs another transport: then its connections are dead.
    Refused {
        /// Who.
        peer: SocketAddrV4,
        /// What.
        conn: Option<ConnId>,
        /// Why.
        reason: Reason,
    },
}

/// What the driver counted; the transport's own counts are its [`Totals`].
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub struct Stats {
    /// Datagrams that arrived, before faults.
    pub datagrams_in: u64,
    /// Their bytes after UDP.
    pub bytes_in: u64,
    /// Datagrams that left.
    pub datagrams_out: u64,
    /// Their bytes after UDP.
    pub bytes_out: u64,
    /// Datagrams of another header version.
    pub other_versions: u64,
    /// Datagrams that made no sense.
    pub nonsense: u64,
    /// Packets whose tag is not the one agreed on: forged, or of an earlier incarnation of their
    /// sender.
    pub wrong_tags: u64,
    /// Answers to no greeting of ours, or a second one to the same; and refusals of what was not
    /// asked for.
    pub unasked: u64,
    /// Packets that a switch cut or sent back.
    pub cut: u64,
    /// Packets whose bytes the sink did not take.
    pub sink_errors: u64,
    /// Packets of connections that were never opened.
    pub unopened: u64,
    /// Transport packets from addresses that are not proven.
    pub strangers: u64,
    /// Packets of connections that had finished.
    pub late: u64,
    /// Packets refused for want of room.
    pub refused: u64,
    /// Packets of the transport dropped because their peer is gone or too many wait for it.
    pub unsendable: u64,
    /// Datagrams that the system refused to send.
    pub send_errors: u64,
    /// Time that was skipped because catching up would have taken too large a burst, in
    /// nanoseconds.
    pub skipped_ns: u64,
    /// What the fault layer did.
    pub faults: FaultCounts,
}

/// Why a driver stopped.
#[derive(Debug)]
pub enum DriveError {
    /// The system failed.
    Io {
        /// At what.
        doing: &'static str,
        /// How.
        source: io::Error,
    },
    /// The call cannot be carried out; says why and what to do instead.
    Usage(String),
}

impl std::fmt::Display for DriveError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Io { doing, source } => write!(f, "{doing}: {source}"),
            Self::Usage(message) => f.write_str(message),
        }
    }
}

impl std::error::Error for DriveError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            Self::Usage(_) => None,
        }
    }
}

pub(crate) fn io_error(doing: &'static str) -> impl FnOnce(io::Error) -> DriveError {
    move |source| DriveError::Io { doing, source }
}
