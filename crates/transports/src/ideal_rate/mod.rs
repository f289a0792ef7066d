//! Ideal rate control: every connection sends at its max-min fair rate, a packet at a time.
//! [Cho, Jang, Han, SIGCOMM 2017, s2 and Fig. 1(a)]
#![doc = include_str!("README.md")]

mod header;
mod params;
mod sender;
mod share;
#[cfg(test)]
mod tests;

use params::CONNECTIONS_MAX;
pub use params::Params;

use header::{Accept, Ack, Data, Kind, ORDINAL_BITS, Open, PAYLOAD_MAX, Reset, TOKEN_MAX};
use model::wire::Codec;
use model::{Encap, Endpoint, EndpointConfig, Lifetime, Packet, Record};
use parts::go_back::Sender;
use parts::host::{self, Host, Limits, Rules};
use parts::keys::{Key, Profiles};
use parts::{Declared, Entry, Fabric, Factory, ParamError, keys};
use sender::Pace;
use share::{Claim, Line, code};
use toml::Table;
use units::{Rate, Span, Time};

/// Ideal rate control in the registry.
pub static IDEAL_RATE: Entry<Params> = Entry::new(
    "ideal-rate",
    "a reference: every connection at its max-min fair rate of the hosts' lines, a packet at a time",
);

impl Declared for Params {
    const KEYS: &'static [Key<Self>] = params::KEYS;
    const PROFILES: &'static Profiles<Self> = params::PROFILES;
    const CODEC: &'static dyn Codec = &header::CODEC;

    fn profile(&self) -> &'static str {
        self.profile
    }
    fn agree(&mut self, _: &Table) -> Result<(), ParamError> {
        if self.retry > self.retry_max {
            return Err(keys::error("retry", "is longer than retry_max"));
        }
        Ok(())
    }
}

impl Factory for Params {
    fn make(&self, config: &EndpointConfig) -> Box<dyn Endpoint> {
        Box::new(self.host(config))
    }
    fn fabric(&self, _: Rate, _: Encap) -> Fabric {
        // It asks nothing of the ports: no credit queue, no marks, one priority.
        Fabric::prioritised(1)
    }
}

/// What this transport keeps of a connection.
#[derive(Debug)]
struct Flow {
    /// When its packets leave.
    pace: Pace,
    /// Its parts of this host's line, out and in, and until when it keeps them without a message.
    up: Claim,
    down: Claim,
    up_until: Time,
    down_until: Time,
}

impl Default for Flow {
    fn default() -> Self {
        Self {
            pace: Pace::default(),
            up: Claim::default(),
            down: Claim::default(),
            up_until: Time::NEVER,
            down_until: Time::NEVER,
        }
    }
}

type Conn = host::Conn<Flow, ORDINAL_BITS>;

/// The line of one host, divided among its connections.
#[derive(Debug)]
struct Lines {
    /// Out and in.
    up: Line,
    down: Line,
    /// The smallest rate that anybody is believed to be offered, in bits per second.
    least: u64,
    /// How long a connection without a message keeps its part.
    linger: Span,
    /// The longest wait for the next packet that a wait for an answer counts.
    wait_max: Span,
}

impl Params {
    fn host(&self, config: &EndpointConfig) -> Host<Lines, ORDINAL_BITS> {
        // Rates are below 2^43 bits per second.
        let whole = config.rate.0 / 100 * u64::from(100 - self.reserve);
        let part = u128::from(whole) * u128::from(config.line_share);
        let part = part / u128::from(model::intent::CreditSpec::WHOLE);
        let rate = u64::try_from(part).unwrap_or(whole);
        let lines = Lines {
            up: Line::new(rate),
            down: Line::new(rate),
            least: (rate / u64::from(CONNECTIONS_MAX)).max(1),
            linger: self.linger,
            wait_max: self.retry_max,
        };
        let limits = Limits {
            retry: self.patience(),
            connections_max: self.connections_max,
            payload_max: PAYLOAD_MAX,
            token_max: TOKEN_MAX,
        };
        Host::new(lines, config, limits)
    }
}

impl Rules<ORDINAL_BITS> for Lines {
    type Flow = Flow;
    const STAMPS: bool = true;

    parts::words!(
        Kind: Open { rate: 0 }, Accept { rate: 0 }, Data { rate: 0 }, Ack { rate: 0 }, Reset {}
    );

    fn due(&self, sender: &Sender<ORDINAL_BITS>, flow: &Flow) -> Time {
        flow.pace.due(sender.on_the_way())
    }

    fn opened(&mut self, now: Time, conn: &mut Conn) {
        // An answer may come as soon as the question has arrived.
        if conn.listens() {
            self.down.enter(&mut conn.flow.down);
        }
        if conn.lifetime() == Lifetime::Persistent {
            conn.flow.down_until = now.after(self.linger);
        }
    }

    /// The other end has said what its line offers.
    fn heard(&mut self, now: Time, conn: &mut Conn, packet: &Packet, _: &Record) {
        let flow = &mut conn.flow;
        let rate = match Kind::of(packet) {
            Some(Kind::Data) => {
                self.down.enter(&mut flow.down);
                return self.down.hear(&mut flow.down, Data::read(packet).rate);
            }
            Some(Kind::Open) => Open::read(packet).rate,
            Some(Kind::Accept) => Accept::read(packet).rate,
            Some(Kind::Ack) => Ack::read(packet).rate,
            Some(Kind::Reset) | None => return,
        };
        flow.pace.hear(now, rate, self.least);
        self.up.hear(&mut flow.up, rate);
    }

    fn begins(&mut self, now: Time, flow: &mut Flow) {
        flow.pace.begin(now);
    }

    fn taken(&mut self, now: Time, conn: &mut Conn) {
        if conn.lifetime() == Lifetime::Persistent {
            let under_way = conn.receiver().is_under_way();
            let rests = now.after(self.linger);
            conn.flow.down_until = if under_way { Time::NEVER } else { rests };
        }
    }

    fn changed(&mut self, now: Time, conn: &mut Conn) {
        let idle = conn.sender().is_idle();
        let flow = &mut conn.flow;
        if !idle {
            self.up.enter(&mut flow.up);
            flow.pace.pace(self.up.offer(&mut flow.up));
            flow.up_until = Time::NEVER;
        } else if flow.up.is_held() && flow.up_until == Time::NEVER {
            flow.up_until = now.after(self.linger);
        }
    }

    fn leaves(&mut self, now: Time, flow: &mut Flow, size: u16) {
        flow.pace.leave(now, size);
    }

    /// As many packets as there are connections may wait before this one, and they take as long as its own next one.
    fn wait(&self, flow: &Flow, wait: Span) -> Span {
        Span(wait.0 + flow.pace.gap().min(self.wait_max).0)
    }

    /// A packet says what the line offers when it leaves.
    fn stamp(&mut self, conn: &mut Conn, packet: &mut Packet) {
        let (to, id, size) = (packet.to(), packet.conn, packet.size);
        let kind = Kind::of(packet);
        let listens = conn.listens();
        let flow = &mut conn.flow;
        let rate = match kind {
            Some(Kind::Data) => code(self.up.offer(&mut flow.up)),
            _ if listens => code(self.down.offer(&mut flow.down)),
            _ => 0,
        };
        *packet = match kind {
            Some(Kind::Open) => Open {
                rate,
                ..Open::read(packet)
            }
            .packet(to, id, size),
            Some(Kind::Accept) => Accept {
                rate,
                ..Accept::read(packet)
            }
            .packet(to, id, size),
            Some(Kind::Data) => Data {
                rate,
                ..Data::read(packet)
            }
            .packet(to, id, size),
            Some(Kind::Ack) => Ack {
                rate,
                ..Ack::read(packet)
            }
            .packet(to, id, size),
            Some(Kind::Reset) | None => return,
        };
    }

    fn alarm(&self, flow: &Flow) -> Time {
        flow.up_until.min(flow.down_until)
    }

    fn rang(&mut self, now: Time, flow: &mut Flow) {
        if flow.up_until <= now {
            self.up.leave(&mut flow.up);
            flow.pace.rest();
            flow.up_until = Time::NEVER;
        }
        if flow.down_until <= now {
            self.down.leave(&mut flow.down);
            flow.down_until = Time::NEVER;
        }
    }

    fn silent(&mut self, _: Time, flow: &mut Flow) {
        // One packet finds out whether anybody is there.
        flow.pace.rest();
    }

    fn must_tell(&mut self) -> bool {
        self.down.must_tell()
    }

    fn tells(&self, flow: &Flow) -> bool {
        flow.down.is_held()
    }

    fn closed(&mut self, flow: &mut Flow) {
        self.up.leave(&mut flow.up);
        self.down.leave(&mut flow.down);
    }

    fn check(&self) {
        self.up.check();
        self.down.check();
    }
}
