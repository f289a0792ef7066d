//! What can be set, its defaults and where they come from.

use super::header::{HOSTS_MAX, LEAD_SLOTS};
use super::shape::Shape;
use model::{Encap, Facts, HostId, Net};
use parts::forms::{Count, Number, Or, Time, Word};
use parts::keys::{Profiles, error};
use parts::{ParamError, Protected};
use std::sync::Arc;
use units::{Bytes, LineTime, Rate, Span};

parts::worded! {
    /// Who is served first in a slot.
    pub enum Order {
        /// The pair of hosts that was served longest ago.
        Fair = "fair",
        /// The message with the fewest frames to come.
        Shortest = "shortest",
    }

    /// Who chooses the way of a frame.
    pub enum Ways {
        /// The arbiter, by colouring the edges between racks.
        Arbiter = "arbiter",
        /// The switches.
        Switches = "switches",
    }

    /// By what a host knows when a slot begins.
    pub enum Clock {
        /// The shared one where the network is known, and its own elsewhere.
        Auto = "auto",
        /// The clock that all hosts have.
        Shared = "shared",
        /// Its own, from the arrival of the allocation on.
        Own = "own",
    }
}

parts::params! {
    /// Everything that can be set in `[transport.fastpass]`.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Params {
        /// Name of the profile that the absent keys come from.
        profile: &'static str = "sigcomm14";
        /// What the arbiter knows of the fabric.
        shape: Option<Arc<Shape>> = None;
        /// How much farther from a host the farthest of the others is than the nearest.
        apart: Span = Span::ZERO;
    }
    pub(super) static KEYS {
        /// number of the host that is the arbiter, or "auto": the last one
        arbiter: Option<u32> = None, Or("auto", "a number", Count(0, HOSTS_MAX - 1)), "ours";
        /// who gets a slot first: in "fair" order the two hosts that had one longest ago, or the "shortest" message
        order: Order = Order::Fair, Word, "[fastpass s3], recalled: fair; [phost artefact]: shortest";
        /// slots that are given away together
        batch: u32 = 16, Count(1, BATCH_MAX), "[fastpass artefact]: 16; [phost artefact]: 8";
        /// time from the moment when slots are given away to the first of them, or "auto": what the arbiter takes, one
        /// allocation for every host takes on its line, and half an idle round trip; at least the latter, 4096 slots at most
        lead: Option<Span> = None, Or("auto", "a time", Time(Span::ZERO, LEAD_MAX)), "ours; [fastpass artefact]: 65 us";
        /// how much longer a slot is than a full frame takes on the fastest line: room for requests, allocations and
        /// acknowledgements
        guard: f64 = 0.02, Number(0.0, 10.0), "ours";
        /// what the arbiter takes for a request, one after the other
        request_time: Span = Span::ns(100), Time(Span::ZERO, WORK_MAX), "ours";
        /// what it takes to give a slot to a frame
        frame_time: Span = Span::ps(5_400), Time(Span::ZERO, WORK_MAX),
            "[fastpass abstract], recalled: 2.2 Tb/s by eight cores, which is a frame of 1500 B per 5.4 ns";
        /// who chooses ways: the "arbiter", so that no two frames of a slot share a link, or the "switches"
        ways: Ways = Ways::Arbiter, Word, "[fastpass s4], recalled";
        /// by what hosts know when a slot begins: the clock that is "shared" by all, their "own" one from the arrival of
        /// the allocation on, or "auto": shared where the network is known
        clock: Clock = Clock::Auto, Word, "[fastpass s6], recalled: shared";
        /// slots that a frame may be late by, until its slot is lost, where the clock is shared
        late: u32 = 4, Count(1, 8000), "ours";
        /// frames that one acknowledgement is for
        ack_every: u32 = 16, Count(1, 32), "ours; [phost artefact]: 1";
        /// a message whose frames have all left is asked for after so long, or "auto": an idle round trip and a batch
        ask: Option<Span> = None, Or("auto", "a time", Time(SPAN_MIN, SPAN_MAX)),
            "[phost artefact]: one batch behind the last slot";
        /// a request is said again after so long without a word of the arbiter; at least three idle round trips and two
        /// leads
        rto: Span = Span::ms(1), Time(SPAN_MIN, SPAN_MAX), "ours";
        /// time without a word after which an end gives up
        timeout: Span = Span::ms(10_000), Time(SPAN_MIN, SPAN_MAX), "ours";
        /// how long a receiver remembers a message that is done, to know late copies of it
        linger: Span = Span::ms(25_000), Time(Span::ZERO, SPAN_MAX), "ours: longer than its sender asks";
    }
}

/// Slots of a batch, at most: an allocation has a bit for each.
pub(super) const BATCH_MAX: u32 = 16;
/// Hosts whose distances from as many others are looked at. [ours]
const LOOKED_AT: u32 = 64;
const SPAN_MIN: Span = Span::us(1);
const SPAN_MAX: Span = Span::ms(3_600_000);
const LEAD_MAX: Span = Span::ms(100);
const WORK_MAX: Span = Span::ms(1);

/// How much longer than the shortest way to a host the longest is, of some hosts all over the network.
fn apart(net: &dyn Net) -> Span {
    let some = || {
        let step = net.hosts().div_ceil(LOOKED_AT).max(1);
        (0..net.hosts()).step_by(step as usize).map(HostId)
    };
    let of = |to: HostId| {
        // The next host is in the same rack, where there is another.
        let near = HostId(if to.0 > 0 { to.0 - 1 } else { 1 });
        let others = some()
            .chain([near])
            .filter(|&from| from != to && from.0 < net.hosts());
        let trips = || others.clone().filter_map(|from| net.base_rtt(from, to));
        Some(Span((trips().max()?.0 - trips().min()?.0) / 2))
    };
    some().filter_map(of).max().unwrap_or_default()
}

/// The least `run.mtu` above that of `encap` with which slots are told far enough ahead, where there is one.
fn mtu_for(net: &dyn Net, rate: Rate, encap: Encap) -> Option<u16> {
    let reaches = |mtu: u16| {
        let encap = encap.with_mtu(mtu.into()).ok()?;
        let frame = LineTime::new(rate).of(encap.wire_max().into());
        let trip = net.longest_rtt_with(encap).unwrap_or_default();
        Some(trip <= frame.times(2 * LEAD_SLOTS))
    };
    // A slot is told thousands of frames ahead, and a round trip has a few: what is long enough stays so.
    let (mut short, mut enough) = (encap.mtu(), *model::MTU.end());
    reaches(enough).filter(|&reached| reached)?;
    while enough - short > 1 {
        let mtu = short.midpoint(enough);
        if reaches(mtu)? {
            enough = mtu;
        } else {
            short = mtu;
        }
    }
    Some(enough)
}

impl Params {
    /// The same in the fabric of a run, with its arbiter; nothing where nobody knows hosts by name.
    pub(super) fn settled(&self, facts: &Facts<'_>) -> Result<Option<Self>, ParamError> {
        let Some((net, shape)) = facts.net.and_then(|net| Some((net, Shape::of(net)?))) else {
            let wrong = "names a host, and nobody here knows the names of hosts; leave it out: every receiver is \
                         the arbiter of its line then";
            let named = self.arbiter.is_some();
            return if named {
                Err(error("arbiter", wrong))
            } else {
                Ok(None)
            };
        };
        let last = net.hosts().min(HOSTS_MAX) - 1;
        let arbiter = self.arbiter.unwrap_or(last);
        if arbiter > last || net.hosts() > HOSTS_MAX {
            return Err(error("arbiter", format!("there are hosts 0 to {last}")));
        }
        let frame = LineTime::new(shape.rate).of(facts.encap.wire_max().into());
        let (most, trip) = (
            frame.times(LEAD_SLOTS),
            net.longest_rtt().unwrap_or_default(),
        );
        if trip > most.times(2) {
            let beyond = trip.0 - most.times(2).0;
            let less = Span::us(beyond.div_ceil(Span::us(1).0));
            let longer = mtu_for(net, shape.rate, facts.encap);
            let longer = longer.map_or_else(String::new, |mtu| {
                format!("frames longer (run.mtu = \"{mtu}B\"), or ")
            });
            let wrong = format!(
                "an idle round trip takes {trip}, and slots are told {most} ahead at most: every one would be over before \
                 its host knew of it; it works up to {} of round trip: make delays on the way there and back {less} less in sum, or {longer}\
                 lines slower, or take another transport",
                most.times(2),
            );
            return Err(error("", wrong)); // no parameter is to blame
        }
        Ok(Some(Self {
            arbiter: Some(arbiter),
            shape: Some(Arc::new(shape)),
            apart: apart(net),
            ..self.clone()
        }))
    }

    /// What may wait at the last port. A near host's slots begin while frames that left a far one at the full rate are on
    /// their way.
    pub(super) fn meets(&self, rate: Rate) -> Option<Protected> {
        let bytes = rate.bytes_in(self.apart);
        (bytes > Bytes(0)).then(|| Protected {
            bytes,
            instead: "make the delays of hosts more alike, as frames from near and far meet there"
                .to_owned(),
        })
    }

    /// The connections of hosts with their arbiter.
    pub(super) fn to_arbiter(&self, facts: &Facts<'_>) -> Vec<(HostId, HostId)> {
        let hosts = facts.net.map_or(0, Net::hosts);
        let Some(arbiter) = self.arbiter.filter(|_| self.shape.is_some()) else {
            return Vec::new();
        };
        let others = (0..hosts).filter(|&host| host != arbiter);
        others.map(|host| (HostId(host), HostId(arbiter))).collect()
    }
}

/// The paper, its authors' arbiter [fastpass artefact: yonch/fastpass], and the simulator that others compared it in
/// [phost artefact: NetSys/simulator, `ext/fastpass*.cpp`].
pub(super) const PROFILES: &Profiles<Params> = &[
    ("sigcomm14", || Params::DEFAULT),
    ("artefact", || Params {
        profile: "artefact",
        lead: Some(Span::us(65)),
        ..Params::DEFAULT
    }),
    ("yaps", || Params {
        profile: "yaps",
        order: Order::Shortest,
        batch: 8,
        ack_every: 1,
        // An acknowledgement per frame takes 84 of 1538 B of a line that slots do not count. [ours]
        guard: 0.08,
        request_time: Span::ZERO,
        frame_time: Span::ZERO,
        ..Params::DEFAULT
    }),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// Hosts in racks of two: 4 us to the other one of the rack and back, and 10 us to any other.
    struct Racks;

    impl Net for Racks {
        fn hosts(&self) -> u32 {
            6
        }
        fn rate(&self, _: HostId) -> Rate {
            Rate::gbps(100)
        }
        fn rack(&self, host: HostId) -> u32 {
            host.0 / 2
        }
        fn ways(&self, a: HostId, b: HostId) -> u16 {
            u16::from(a != b)
        }
        fn base_rtt(&self, a: HostId, b: HostId) -> Option<Span> {
            let near = self.rack(a) == self.rack(b);
            (a != b).then_some(Span::us(if near { 4 } else { 10 }))
        }
    }

    #[test]
    fn ways_to_a_host_are_half_the_difference_of_their_round_trips_apart() {
        assert_eq!(apart(&Racks), Span::us(3));
    }
}
