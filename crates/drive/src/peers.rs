//! Who is known here, and which connections are open with whom.
//!
//! A connection has one number per side, and either follows from the other and the peer, so that
//! no table translates them:
//!
//! ```text
//! on the wire   | sender opened it : 1 | lifetime : 2 | 0 : 10    | number : 19 |
//! ConnId        | we opened it : 1     | lifetime : 2 | peer : 10 | number : 19 |
//! ```
//! An opener numbers its connections one after the other. A window over the numbers of each peer
//! tells new connections from late packets of finished ones, which must not open them again.
//!
//! A connection is *open* until its messages are through or its endpoint has forgotten it, whichever
//! comes first. Of one that is through the endpoint may keep something for a while, and a late packet
//! may make it remember something again: these are *lingering*, and the oldest of too many are
//! forgotten by order. So everything that an endpoint holds is counted here.

#[cfg(test)]
mod tests;
mod window;

use crate::cookie::{Reason, Secret};
use model::{ConnId, ConnMap, HostId, Lifetime, Packet, Record};
use std::collections::{BTreeMap, VecDeque};
use std::net::{Ipv4Addr, SocketAddrV4};
use units::{Span, Time};
use window::Window;

/// Peers known at once: what ten bits hold besides this host. [ours]
pub const PEERS_MAX: usize = 1023;
/// Peers of one address that introduce themselves: a quarter. [ours]
pub const PEERS_PER_ADDR_MAX: u32 = 256;
/// Connections that one peer may have open here, and we with one peer. [ours]
pub const CONNS_PER_PEER_MAX: u32 = 1024;
/// Connections that all peers of one address may open here: a quarter. [ours]
pub const CONNS_PER_ADDR_MAX: u32 = 4096;
/// Connections open here with all peers together. [ours]
pub const CONNS_MAX: usize = 16_384;
/// Connections of one peer that are through and linger. [ours]
pub const LINGERING_MAX: usize = 64;
/// Packets that wait for one peer's cookie. [ours]
const PARKED_MAX: usize = 64;

const FIRST_BIT: u32 = 1 << 31;
const LIFETIME_AT: u32 = 29;
const LIFETIME: u32 = 0b11 << LIFETIME_AT;
const PEER_AT: u32 = 19;
const PEER: u32 = 0x3ff << PEER_AT;
/// Numbers count modulo this.
pub(crate) const NUMBERS: u32 = 1 << PEER_AT;

/// First wait for the answer to a greeting; doubles. [ours]
const GREET_FIRST: Span = Span::ms(1);
/// Longest wait for the answer to a greeting. [ours]
const GREET_LAST: Span = Span::ms(1_000);
/// Greetings without an answer before a peer counts as gone: about seven seconds. [ours]
const GREETS_MAX: u8 = 16;
/// A peer with open connections that is silent for so long is greeted, to see whether it is there.
/// [ours]
const SILENCE: Span = Span::ms(30_000);

const _: () = assert!(PEERS_MAX == (PEER >> PEER_AT) as usize);

/// What we know of one peer.
pub(crate) struct Peer {
    pub(crate) addr: SocketAddrV4,
    pub(crate) standing: Standing,
    /// The greeting of ours that has no answer yet.
    greeting: Option<Greeting>,
    /// From the cookie that we baked for it.
    baked_here: Secrets,
    /// From the cookie that it baked for us.
    baked_there: Secrets,
    /// When we last greeted.
    pub(crate) greeted_at: Time,
    heard_at: Time,
    /// Connections that are open with it, of both directions.
    open: Vec<ConnId>,
    /// Those that are through, oldest first.
    lingering: VecDeque<ConnId>,
    /// Those that were forgotten last: their last packets may wait for the line.
    forgotten: VecDeque<ConnId>,
    /// The number that our next connection to it takes.
    next_number: u32,
    /// How many we have opened to it.
    opened: u32,
    seen: Option<Window>,
    /// What waits for the cookie.
    parked: Vec<Laden>,
}

/// A packet with its record, where it has one.
pub(crate) type Laden = (Packet, Option<Box<Record>>);

/// A greeting without an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Greeting {
    /// The answer repeats it.
    nonce: u64,
    tries: u8,
    retry_at: Time,
}

/// The secret of the latest cookie, and of the one before: packets of both are under way for a while.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Secrets {
    latest: Option<Secret>,
    before: Option<Secret>,
}

impl Secrets {
    fn learn(&mut self, cookie: u64, baked_here: bool) {
        let secret = Some(Secret::new(cookie, baked_here));
        if self.latest != secret {
            self.before = std::mem::replace(&mut self.latest, secret);
        }
    }
}

impl Peer {
    fn new(addr: SocketAddrV4, now: Time, first_number: u32) -> Self {
        Self {
            addr,
            standing: Standing::Unproven,
            greeting: None,
            baked_here: Secrets::default(),
            baked_there: Secrets::default(),
            greeted_at: now,
            heard_at: now,
            open: Vec::new(),
            lingering: VecDeque::new(),
            forgotten: VecDeque::new(),
            // The lower half, so that the count of one run does not wrap soon.
            next_number: first_number % (NUMBERS / 2),
            opened: 0,
            seen: None,
            parked: Vec::new(),
        }
    }

    /// It brought back our cookie.
    pub(crate) fn learn_here(&mut self, cookie: u64) {
        self.baked_here.learn(cookie, true);
    }

    /// It baked a cookie for us.
    pub(crate) fn learn_there(&mut self, cookie: u64) {
        self.baked_there.learn(cookie, false);
    }

    /// What our packets carry; `None` for one that was never proven.
    pub(crate) fn secret(&self) -> Option<Secret> {
        self.baked_there.latest.or(self.baked_here.latest)
    }

    fn secrets(&self) -> impl Iterator<Item = Secret> {
        let both = [self.baked_here, self.baked_there];
        let all = both.map(|secrets| [secrets.latest, secrets.before]);
        all.into_iter().flatten().flatten()
    }

    /// Whether its packets carry this tag.
    pub(crate) fn sends(&self, tag: u32) -> bool {
        self.secrets().any(|secret| secret.tag_in == tag)
    }

    /// Whether this cookie is one of ours, either way.
    pub(crate) fn shares(&self, cookie: u64) -> bool {
        self.secrets().any(|secret| secret.cookie == cookie)
    }

    /// The nonce of the greeting that waits for an answer.
    pub(crate) fn nonce(&self) -> Option<u64> {
        self.greeting.map(|greeting| greeting.nonce)
    }

    /// The greeting has its answer.
    pub(crate) fn answered(&mut self) {
        self.greeting = None;
    }

    /// Connections that are open with it.
    pub(crate) fn open(&self) -> &[ConnId] {
        &self.open
    }

    fn is_idle(&self) -> bool {
        self.open.is_empty()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Nobody: the place may be taken.
    Free,
    /// Whether it reads what is sent to its address is not known.
    Unproven,
    /// It does.
    Proven { incarnation: u32 },
}

/// What a connection number on an arriving packet means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// Of an open connection; it was opened by this very packet if `new`.
    Live { conn: ConnId, new: bool },
    /// Of a connection that is through here.
    Late(ConnId),
    /// Of a connection that is not open yet, and the packet does not open it either.
    Unopened,
    /// It would open one too many.
    Full,
    /// No connection can have this number.
    Nonsense,
}

/// What the peers of one address have here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Share {
    peers: u32,
    /// Open connections.
    open: u32,
}

/// The table of peers.
pub(crate) struct Peers {
    /// Equal-cost ways to any of them, for transports that spread their packets.
    ways: u16,
    /// Place `i` is of host `i + 1`; host 0 is this one.
    places: Vec<Peer>,
    by_addr: BTreeMap<SocketAddrV4, HostId>,
    shares: BTreeMap<Ipv4Addr, Share>,
    /// Open connections, of both directions and all peers: the place of each in its peer's list.
    open: ConnMap,
    /// No later than the first retry of a greeting or look at a silent peer.
    next_look: Time,
}

/// A connection of which the endpoint must forget what it keeps.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Forget(pub(crate) ConnId);

impl Peers {
    /// The same, with so many equal-cost ways to any of them.
    pub(crate) fn over(mut self, ways: u16) -> Self {
        self.ways = ways;
        self
    }

    pub(crate) fn new() -> Self {
        Self {
            ways: 1,
            places: Vec::new(),
            by_addr: BTreeMap::new(),
            shares: BTreeMap::new(),
            open: ConnMap::default(),
            next_look: Time::NEVER,
        }
    }

    pub(crate) fn find(&self, addr: SocketAddrV4) -> Option<HostId> {
        self.by_addr.get(&addr).copied()
    }

    pub(crate) fn get(&self, host: HostId) -> &Peer {
        &self.places[slot(host)]
    }

    pub(crate) fn get_mut(&mut self, host: HostId) -> &mut Peer {
        &mut self.places[slot(host)]
    }

    /// How many peers have an address.
    pub(crate) fn known(&self) -> usize {
        self.by_addr.len()
    }

    /// How many connections are open.
    pub(crate) fn live(&self) -> usize {
        self.open.len()
    }

    fn share(&self, addr: SocketAddrV4) -> Share {
        self.shares.get(addr.ip()).copied().unwrap_or_default()
    }

    /// Makes room for a peer at `addr`, of which nothing is known yet, and returns what must be
    /// forgotten of the one that had the place. A peer that is not `ours`, because it introduced
    /// itself, takes no more than its address' share.
    pub(crate) fn add(
        &mut self,
        addr: SocketAddrV4,
        now: Time,
        first_number: u32,
        ours: bool,
    ) -> Result<(HostId, Vec<Forget>), Reason> {
        debug_assert!(!self.by_addr.contains_key(&addr));
        let place = self.vacancy(addr, ours).ok_or(Reason::Peers)?;
        let mut forget = Vec::new();
        let peer = Peer::new(addr, now, first_number);
        if place == self.places.len() {
            self.places.push(peer);
        } else {
            forget = self.vacate(host(place));
            self.places[place] = peer;
        }
        self.by_addr.insert(addr, host(place));
        self.shares.entry(*addr.ip()).or_default().peers += 1;
        Ok((host(place), forget))
    }

    /// A place for one more peer: a free one, else that of the peer without connections that has
    /// been silent the longest. An address that has its share gets another's place of its own.
    fn vacancy(&self, addr: SocketAddrV4, ours: bool) -> Option<usize> {
        let greedy = !ours && self.share(addr).peers >= PEERS_PER_ADDR_MAX;
        if !greedy && self.places.len() < PEERS_MAX {
            let free = |peer: &Peer| peer.standing == Standing::Free;
            let free = self.places.iter().position(free);
            return Some(free.unwrap_or(self.places.len()));
        }
        let mine = |peer: &Peer| peer.standing != Standing::Free && peer.addr.ip() == addr.ip();
        let idle = self.places.iter().enumerate().filter(|(_, peer)| {
            let may = !greedy || mine(peer);
            may && peer.is_idle()
        });
        idle.min_by_key(|(place, peer)| (peer.standing != Standing::Free, peer.heard_at, *place))
            .map(|(place, _)| place)
    }

    /// Notes that the peer was heard.
    pub(crate) fn hear(&mut self, host: HostId, now: Time) {
        self.get_mut(host).heard_at = now;
    }

    /// The peer reads what is sent to it; returns what waited for that.
    pub(crate) fn prove(&mut self, host: HostId, incarnation: u32, now: Time) -> Vec<Laden> {
        let peer = self.get_mut(host);
        (peer.standing, peer.heard_at) = (Standing::Proven { incarnation }, now);
        let parked = std::mem::take(&mut peer.parked);
        self.look_after(host);
        parked
    }

    /// The peer is gone: its place and its address are free. Returns what must be forgotten.
    pub(crate) fn lose(&mut self, host: HostId) -> Vec<Forget> {
        self.vacate(host)
    }

    fn vacate(&mut self, host: HostId) -> Vec<Forget> {
        let peer = self.get_mut(host);
        if peer.standing == Standing::Free {
            return Vec::new();
        }
        let gone = Peer {
            standing: Standing::Free,
            ..Peer::new(peer.addr, peer.heard_at, 0)
        };
        let was = std::mem::replace(peer, gone);
        self.by_addr.remove(&was.addr);
        for &conn in &was.open {
            self.open.remove(conn);
        }
        let open = u32::try_from(was.open.len()).expect("at most CONNS_PER_PEER_MAX");
        self.take_back(was.addr, 1, open);
        was.open
            .into_iter()
            .chain(was.lingering)
            .map(Forget)
            .collect()
    }

    /// An address has so many peers and open connections fewer.
    fn take_back(&mut self, addr: SocketAddrV4, peers: u32, open: u32) {
        let share = self.shares.entry(*addr.ip()).or_default();
        (share.peers, share.open) = (share.peers - peers, share.open - open);
        if *share == Share::default() {
            self.shares.remove(addr.ip());
        }
    }

    /// Keeps `packet` until the peer is proven; false where too many wait.
    pub(crate) fn park(&mut self, host: HostId, laden: Laden) -> bool {
        let packet = laden.0;
        let parked = &mut self.get_mut(host).parked;
        // A transport that repeats its request while nobody can answer needs one copy of it.
        let same = |(p, _): &Laden| {
            (p.conn, p.kind(), p.head) == (packet.conn, packet.kind(), packet.head)
        };
        if parked.iter().any(same) {
            return true;
        }
        let fits = parked.len() < PARKED_MAX;
        if fits {
            parked.push(laden);
        }
        fits
    }

    /// Starts to greet; the caller sends the HELLO.
    pub(crate) fn greet(&mut self, host: HostId, now: Time, nonce: u64) {
        let retry_at = now.after(GREET_FIRST);
        let peer = self.get_mut(host);
        peer.greeting = Some(Greeting {
            nonce,
            tries: 1,
            retry_at,
        });
        peer.greeted_at = now;
        self.next_look = self.next_look.min(retry_at);
    }

    /// When [`Peers::look`] has something to do.
    pub(crate) fn next_look(&self) -> Time {
        self.next_look
    }

    /// Makes sure that the peer's silence is noticed.
    fn look_after(&mut self, host: HostId) {
        let quiet_at = self.get(host).heard_at.after(SILENCE);
        self.next_look = self.next_look.min(quiet_at);
    }

    /// Who must be greeted at `now`, again or because of their silence, and who never answered.
    pub(crate) fn look(&mut self, now: Time, mut act: impl FnMut(HostId, Look)) {
        if now < self.next_look {
            return;
        }
        self.next_look = Time::NEVER;
        for (place, peer) in self.places.iter_mut().enumerate() {
            let quiet_at = peer.heard_at.after(SILENCE);
            let proven = matches!(peer.standing, Standing::Proven { .. });
            let watched = proven && !peer.is_idle();
            let next = match &mut peer.greeting {
                None if !watched => continue,
                None if quiet_at > now => quiet_at,
                None => {
                    act(host(place), Look::Silent);
                    continue;
                }
                Some(greeting) if greeting.retry_at > now => greeting.retry_at,
                // Something else of it came after the greeting: it is there.
                Some(greeting) if greeting.tries == GREETS_MAX && proven && quiet_at > now => {
                    peer.greeting = None;
                    quiet_at
                }
                Some(greeting) if greeting.tries == GREETS_MAX => {
                    act(host(place), Look::Gone);
                    continue;
                }
                Some(greeting) => {
                    let wait = GREET_FIRST
                        .times(1 << u32::from(greeting.tries).min(20))
                        .min(GREET_LAST);
                    greeting.tries += 1;
                    greeting.retry_at = now.after(wait);
                    peer.greeted_at = now;
                    act(host(place), Look::Again(greeting.nonce));
                    greeting.retry_at
                }
            };
            self.next_look = self.next_look.min(next);
        }
    }

    fn insert(&mut self, host: HostId, conn: ConnId) {
        let peer = &mut self.places[slot(host)];
        let place = u32::try_from(peer.open.len()).expect("at most CONNS_PER_PEER_MAX");
        peer.open.push(conn);
        let addr = peer.addr;
        self.open.insert(conn, place);
        self.shares.entry(*addr.ip()).or_default().open += 1;
        self.look_after(host);
    }

    /// Opens a connection to a peer.
    pub(crate) fn open(&mut self, host: HostId, lifetime: Lifetime) -> Result<ConnId, Reason> {
        if self.get(host).open.len() >= CONNS_PER_PEER_MAX as usize || self.open.len() >= CONNS_MAX
        {
            return Err(Reason::Connections);
        }
        // Ends: fewer connections are open than there are numbers.
        loop {
            let peer = &mut self.places[slot(host)];
            let number = peer.next_number;
            peer.next_number = (number + 1) % NUMBERS;
            peer.opened = peer.opened.saturating_add(1);
            let bare = FIRST_BIT | host.0 << PEER_AT | number;
            // The other lifetimes of the number count too: a window knows the bare number alone.
            let taken = |bits: u32| self.open.get(ConnId(bare | bits << LIFETIME_AT)).is_some();
            if !(0..4).any(taken) {
                let conn = ConnId(bare | lifetime_bits(lifetime));
                self.insert(host, conn);
                return Ok(conn);
            }
        }
    }

    /// What an arriving packet's connection number means. Only a packet that `opens`, because it
    /// carries the cookie, opens a connection.
    pub(crate) fn arrive(&mut self, host: HostId, wire: u32, opens: bool) -> Arrival {
        if wire & PEER != 0 || wire & LIFETIME == LIFETIME {
            return Arrival::Nonsense;
        }
        let conn = ConnId((wire ^ FIRST_BIT) | host.0 << PEER_AT);
        if self.open.get(conn).is_some() {
            return Arrival::Live { conn, new: false };
        }
        let number = wire % NUMBERS;
        let peer = &self.places[slot(host)];
        if we_opened(conn) {
            let ago = peer.next_number.wrapping_sub(1).wrapping_sub(number) % NUMBERS;
            let ours = ago < peer.opened.min(NUMBERS / 2);
            return if ours {
                Arrival::Late(conn)
            } else {
                Arrival::Nonsense
            };
        }
        if peer.seen.as_ref().is_some_and(|seen| !seen.is_new(number)) {
            return Arrival::Late(conn);
        }
        if !opens {
            return Arrival::Unopened;
        }
        let full = self.open.len() >= CONNS_MAX
            || peer.open.len() >= CONNS_PER_PEER_MAX as usize
            || self.share(peer.addr).open >= CONNS_PER_ADDR_MAX;
        if full {
            return Arrival::Full;
        }
        let seen = &mut self.places[slot(host)].seen;
        seen.get_or_insert_with(|| Window::before(number))
            .mark(number);
        self.insert(host, conn);
        Arrival::Live { conn, new: true }
    }

    /// Whether the connection is open.
    pub(crate) fn is_live(&self, conn: ConnId) -> bool {
        self.open.get(conn).is_some()
    }

    /// The connection that a peer refuses, if it is one of ours and open.
    pub(crate) fn refused(&self, host: HostId, wire: u32) -> Option<ConnId> {
        let conn = ConnId((wire & !PEER) | host.0 << PEER_AT);
        (we_opened(conn) && self.is_live(conn)).then_some(conn)
    }

    /// The connection is no longer open; false where it was not.
    fn close(&mut self, conn: ConnId) -> bool {
        let Some(place) = self.open.remove(conn) else {
            return false;
        };
        let peer = &mut self.places[slot(peer_of(conn))];
        peer.open.swap_remove(place as usize);
        if let Some(&moved) = peer.open.get(place as usize) {
            self.open.insert(moved, place);
        }
        let addr = peer.addr;
        self.take_back(addr, 0, 1);
        true
    }

    /// The connection is through: it lingers until its endpoint has forgotten it. Returns the one
    /// that lingered the longest, where there are too many.
    pub(crate) fn finish(&mut self, conn: ConnId) -> Option<Forget> {
        if self.close(conn) {
            self.linger(conn)
        } else {
            None
        }
    }

    /// A packet came late: the endpoint may remember the connection, which is not open, again.
    pub(crate) fn linger(&mut self, conn: ConnId) -> Option<Forget> {
        let lingering = &mut self.get_mut(peer_of(conn)).lingering;
        if lingering.contains(&conn) {
            return None;
        }
        lingering.push_back(conn);
        let over = lingering.len() > LINGERING_MAX;
        lingering.pop_front_if(|_| over).map(Forget)
    }

    /// The endpoint keeps nothing of the connection any more; whether it was open.
    pub(crate) fn forgotten(&mut self, conn: ConnId) -> bool {
        let was_open = self.close(conn);
        let peer = self.get_mut(peer_of(conn));
        if peer.standing == Standing::Free {
            return was_open;
        }
        if let Some(place) = peer.lingering.iter().position(|&other| other == conn) {
            peer.lingering.remove(place);
        }
        let over = peer.forgotten.len() == LINGERING_MAX;
        peer.forgotten.pop_front_if(|_| over);
        peer.forgotten.push_back(conn);
        was_open
    }

    /// Whether a packet of the connection may go to the peer that has its place now: an endpoint may
    /// have had it waiting since the place was another's.
    pub(crate) fn knows(&self, conn: ConnId) -> bool {
        let peer = self.get(peer_of(conn));
        self.is_live(conn) || peer.lingering.contains(&conn) || peer.forgotten.contains(&conn)
    }

    pub(crate) fn check(&self) {
        let sum: usize = self.places.iter().map(|peer| peer.open.len()).sum();
        assert_eq!(sum, self.open.len(), "peers' connections do not add up");
        assert!(self.open.len() <= CONNS_MAX && self.places.len() <= PEERS_MAX);
        for peer in &self.places {
            assert!(peer.open.len() <= CONNS_PER_PEER_MAX as usize);
            assert!(peer.parked.len() <= PARKED_MAX && peer.lingering.len() <= LINGERING_MAX);
            assert!(peer.forgotten.len() <= LINGERING_MAX);
            assert!(peer.standing != Standing::Free || peer.is_idle());
        }
        let shares = self.shares.values();
        let (peers, open) = shares.fold((0, 0), |(peers, open), share| {
            (peers + share.peers as usize, open + share.open as usize)
        });
        assert_eq!((peers, open), (self.by_addr.len(), sum), "shares");
    }
}

impl model::Peers for Peers {
    fn peer(&self, _me: HostId, conn: ConnId) -> Option<HostId> {
        let host = peer_of(conn);
        let known = host.0 > 0
            && self
                .places
                .get(slot(host))
                .is_some_and(|peer| peer.standing != Standing::Free);
        known.then_some(host)
    }

    fn ways(&self, _: HostId, _: HostId) -> u16 {
        self.ways
    }
}

/// What to do about a peer that is silent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    /// Repeat the greeting with this nonce.
    Again(u64),
    /// Greet it: nothing has come for long.
    Silent,
    /// It did not answer: give it up.
    Gone,
}

/// The number of a connection on the wire.
pub(crate) fn to_wire(conn: ConnId) -> u32 {
    conn.0 & !PEER
}

/// Whether this end opened the connection.
pub fn we_opened(conn: ConnId) -> bool {
    conn.0 & FIRST_BIT != 0
}

/// The position of a connection in its opener's count, modulo 2^19: the same at both ends.
pub fn number(conn: ConnId) -> u32 {
    conn.0 % NUMBERS
}

fn lifetime_bits(lifetime: Lifetime) -> u32 {
    let bits = match lifetime {
        Lifetime::Persistent => 0,
        Lifetime::OneMessage => 1,
        Lifetime::Exchange => 2,
    };
    bits << LIFETIME_AT
}

pub(crate) fn lifetime(conn: ConnId) -> Lifetime {
    match (conn.0 & LIFETIME) >> LIFETIME_AT {
        0 => Lifetime::Persistent,
        1 => Lifetime::OneMessage,
        _ => Lifetime::Exchange,
    }
}

/// The peer at the other end.
pub(crate) fn peer_of(conn: ConnId) -> HostId {
    HostId((conn.0 & PEER) >> PEER_AT)
}

fn slot(host: HostId) -> usize {
    host.0 as usize - 1
}

fn host(place: usize) -> HostId {
    HostId(u32::try_from(place + 1).expect("at most PEERS_MAX places"))
}
