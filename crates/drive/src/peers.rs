//! Who is known here, and which connections are open with whom.
//!
//! A connection has one number per side, and either follows from the other and the peer, so that
//! no table translates them:
//!
//! ```text
//! on the wire   | sender opened it : 1 | one message : 1 | 0 : 10    | number : 20 |
//! ConnId        | we opened it : 1     | one message : 1 | peer : 10 | number : 20 |
//! ```
//! An opener numbers its connections one after the other. A window over the numbers of each peer
//! tells new connections from late packets of finished ones, which must not open them again.

use crate::cookie::{Reason, Secret};
use model::{ConnId, ConnMap, HostId, Lifetime, Packet};
use std::collections::BTreeMap;
use std::net::SocketAddrV4;
use units::{Span, Time};

/// Peers known at once: what ten bits hold besides this host. [ours]
pub const PEERS_MAX: usize = 1023;
/// Connections that one peer may have open here, and we with one peer. [ours]
pub const CONNS_PER_PEER_MAX: u32 = 1024;
/// Connections open here with all peers together. [ours]
pub const CONNS_MAX: usize = 16_384;
/// Packets that wait for one peer's cookie. [ours]
const PARKED_MAX: usize = 64;

const FIRST_BIT: u32 = 1 << 31;
const ONE_MESSAGE: u32 = 1 << 30;
const PEER_AT: u32 = 20;
const PEER: u32 = 0x3ff << PEER_AT;
/// Numbers count modulo this.
const NUMBERS: u32 = 1 << PEER_AT;

/// First wait for the answer to a greeting; doubles. [ours]
const GREET_FIRST: Span = Span::ms(1);
/// Longest wait for the answer to a greeting. [ours]
const GREET_LAST: Span = Span::ms(1_000);
/// Greetings without an answer before a peer counts as unreachable: about seven seconds. [ours]
const GREETS_MAX: u8 = 16;

const _: () = assert!(PEERS_MAX == (PEER >> PEER_AT) as usize);

/// What we know of one peer.
pub(crate) struct Peer {
    pub(crate) addr: SocketAddrV4,
    pub(crate) standing: Standing,
    /// Of the greeting of ours that has no answer yet; the answer repeats it.
    pub(crate) nonce: Option<u64>,
    /// From the cookie that we baked for it.
    baked_here: Secrets,
    /// From the cookie that it baked for us.
    baked_there: Secrets,
    /// When we last greeted.
    pub(crate) greeted_at: Time,
    heard_at: Time,
    /// Connections that are open with it, of both directions.
    live: u32,
    /// The number that our next connection to it takes.
    next_number: u32,
    /// How many we have opened to it.
    opened: u32,
    seen: Option<Window>,
    /// What waits for the cookie.
    parked: Vec<Packet>,
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
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Nobody: the place may be taken.
    Free,
    /// We greeted it and have no answer.
    Greeting { tries: u8, retry_at: Time },
    /// It reads what is sent to its address.
    Proven { incarnation: u32 },
    /// It restarted or never answered; its connections are dead and keep the place.
    Lost,
}

/// What a connection number on an arriving packet means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// Of an open connection; it was opened by this very packet if `new`.
    Live { conn: ConnId, new: bool },
    /// Of a connection that is finished here.
    Late(ConnId),
    /// Of a connection that nobody has opened yet, and the packet does not open it either.
    Unopened,
    /// It would open one too many.
    Full,
    /// No connection can have this number.
    Nonsense,
}

/// The table of peers.
pub(crate) struct Peers {
    /// Place `i` is of host `i + 1`; host 0 is this one.
    places: Vec<Peer>,
    by_addr: BTreeMap<SocketAddrV4, HostId>,
    /// Open connections, of both directions and all peers; the value is not used.
    live: ConnMap,
    /// No later than the first retry of a greeting.
    next_greeting: Time,
}

impl Peers {
    pub(crate) fn new() -> Self {
        let (places, by_addr) = (Vec::new(), BTreeMap::new());
        Self {
            places,
            by_addr,
            live: ConnMap::default(),
            next_greeting: Time::NEVER,
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
        self.live.len()
    }

    /// Makes room for a peer at `addr`, of which nothing is known yet.
    pub(crate) fn add(
        &mut self,
        addr: SocketAddrV4,
        now: Time,
        first_number: u32,
    ) -> Result<HostId, Reason> {
        debug_assert!(!self.by_addr.contains_key(&addr));
        let place = self.vacancy().ok_or(Reason::Peers)?;
        let peer = Peer {
            addr,
            standing: Standing::Free,
            nonce: None,
            baked_here: Secrets::default(),
            baked_there: Secrets::default(),
            greeted_at: now,
            heard_at: now,
            live: 0,
            // The lower half, so that the count of one run does not wrap soon.
            next_number: first_number % (NUMBERS / 2),
            opened: 0,
            seen: None,
            parked: Vec::new(),
        };
        if place == self.places.len() {
            self.places.push(peer);
        } else {
            let old = std::mem::replace(&mut self.places[place], peer);
            if self.find(old.addr) == Some(host(place)) {
                self.by_addr.remove(&old.addr);
            }
        }
        self.by_addr.insert(addr, host(place));
        Ok(host(place))
    }

    /// A place for one more peer: a fresh or free one, else that of the peer without connections
    /// that has been silent the longest.
    fn vacancy(&self) -> Option<usize> {
        if self.places.len() < PEERS_MAX {
            return Some(self.places.len());
        }
        let idle = self
            .places
            .iter()
            .enumerate()
            .filter(|(_, peer)| peer.live == 0);
        idle.min_by_key(|(place, peer)| {
            let taken = peer.standing != Standing::Free && peer.standing != Standing::Lost;
            (taken, peer.heard_at, *place)
        })
        .map(|(place, _)| place)
    }

    /// Notes that the peer was heard.
    pub(crate) fn hear(&mut self, host: HostId, now: Time) {
        self.get_mut(host).heard_at = now;
    }

    /// The peer reads what is sent to it; returns what waited for that.
    pub(crate) fn prove(&mut self, host: HostId, incarnation: u32, now: Time) -> Vec<Packet> {
        let peer = self.get_mut(host);
        (peer.standing, peer.heard_at) = (Standing::Proven { incarnation }, now);
        std::mem::take(&mut peer.parked)
    }

    /// The peer is gone: its address is free for its next incarnation.
    pub(crate) fn lose(&mut self, host: HostId) {
        let peer = self.get_mut(host);
        peer.standing = Standing::Lost;
        peer.nonce = None;
        peer.parked = Vec::new();
        let addr = peer.addr;
        if self.find(addr) == Some(host) {
            self.by_addr.remove(&addr);
        }
    }

    /// Keeps `packet` until the peer is proven; false where too many wait.
    pub(crate) fn park(&mut self, host: HostId, packet: Packet) -> bool {
        let parked = &mut self.get_mut(host).parked;
        // A transport that repeats its request while nobody can answer needs one copy of it.
        let same =
            |p: &Packet| (p.conn, p.kind(), p.head) == (packet.conn, packet.kind(), packet.head);
        if parked.iter().any(same) {
            return true;
        }
        let fits = parked.len() < PARKED_MAX;
        if fits {
            parked.push(packet);
        }
        fits
    }

    /// Starts to greet; the caller sends the HELLO.
    pub(crate) fn greet(&mut self, host: HostId, now: Time, nonce: u64) {
        let retry_at = now.after(GREET_FIRST);
        let peer = self.get_mut(host);
        peer.standing = Standing::Greeting { tries: 1, retry_at };
        (peer.nonce, peer.greeted_at) = (Some(nonce), now);
        self.next_greeting = self.next_greeting.min(retry_at);
    }

    /// When [`Peers::greetings`] has something to do.
    pub(crate) fn next_greeting(&self) -> Time {
        self.next_greeting
    }

    /// Who must be greeted again at `now`, and who never answered.
    pub(crate) fn greetings(&mut self, now: Time, mut act: impl FnMut(HostId, Greet)) {
        if now < self.next_greeting {
            return;
        }
        self.next_greeting = Time::NEVER;
        for (place, peer) in self.places.iter_mut().enumerate() {
            let Standing::Greeting { tries, retry_at } = peer.standing else {
                continue;
            };
            if retry_at <= now && tries == GREETS_MAX {
                act(host(place), Greet::GiveUp);
                continue;
            }
            let mut next = retry_at;
            if retry_at <= now {
                let wait = GREET_FIRST
                    .times(1 << u32::from(tries).min(20))
                    .min(GREET_LAST);
                next = now.after(wait);
                peer.standing = Standing::Greeting {
                    tries: tries + 1,
                    retry_at: next,
                };
                peer.greeted_at = now;
                act(host(place), Greet::Again);
            }
            self.next_greeting = self.next_greeting.min(next);
        }
    }

    /// Opens a connection to a peer.
    pub(crate) fn open(&mut self, host: HostId, lifetime: Lifetime) -> Result<ConnId, Reason> {
        let one = if lifetime == Lifetime::OneMessage {
            ONE_MESSAGE
        } else {
            0
        };
        if self.get(host).live >= CONNS_PER_PEER_MAX || self.live.len() >= CONNS_MAX {
            return Err(Reason::Connections);
        }
        // Ends: fewer connections are live than there are numbers.
        loop {
            let peer = &mut self.places[slot(host)];
            let number = peer.next_number;
            peer.next_number = (number + 1) % NUMBERS;
            peer.opened = peer.opened.saturating_add(1);
            let bare = FIRST_BIT | host.0 << PEER_AT | number;
            // The other lifetime of the number counts too: a window knows the bare number alone.
            if [bare, bare | ONE_MESSAGE]
                .iter()
                .all(|&c| self.live.get(ConnId(c)).is_none())
            {
                peer.live += 1;
                self.live.insert(ConnId(bare | one), 0);
                return Ok(ConnId(bare | one));
            }
        }
    }

    /// What an arriving packet's connection number means. Only a packet that `opens`, because it
    /// carries the cookie, opens a connection.
    pub(crate) fn arrive(&mut self, host: HostId, wire: u32, opens: bool) -> Arrival {
        if wire & PEER != 0 {
            return Arrival::Nonsense;
        }
        let conn = ConnId((wire ^ FIRST_BIT) | host.0 << PEER_AT);
        if self.live.get(conn).is_some() {
            return Arrival::Live { conn, new: false };
        }
        let number = wire % NUMBERS;
        let full = self.live.len() >= CONNS_MAX;
        let peer = &mut self.places[slot(host)];
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
        if full || peer.live >= CONNS_PER_PEER_MAX {
            return Arrival::Full;
        }
        peer.seen
            .get_or_insert_with(|| Window::before(number))
            .mark(number);
        peer.live += 1;
        self.live.insert(conn, 0);
        Arrival::Live { conn, new: true }
    }

    /// Whether the connection is open.
    pub(crate) fn is_live(&self, conn: ConnId) -> bool {
        self.live.get(conn).is_some()
    }

    /// The connection that a peer refuses, if it is one of ours and open.
    pub(crate) fn refused(&self, host: HostId, wire: u32) -> Option<ConnId> {
        let conn = ConnId((wire & !PEER) | host.0 << PEER_AT);
        (we_opened(conn) && self.is_live(conn)).then_some(conn)
    }

    /// The connection is done.
    pub(crate) fn finish(&mut self, conn: ConnId) {
        if self.live.remove(conn).is_some() {
            self.places[slot(peer_of(conn))].live -= 1;
        }
    }

    pub(crate) fn check(&self) {
        let sum: u64 = self.places.iter().map(|peer| u64::from(peer.live)).sum();
        assert_eq!(
            sum,
            self.live.len() as u64,
            "peers' connections do not add up"
        );
        assert!(self.live.len() <= CONNS_MAX && self.places.len() <= PEERS_MAX);
        for peer in &self.places {
            assert!(peer.live <= CONNS_PER_PEER_MAX && peer.parked.len() <= PARKED_MAX);
        }
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
}

/// What to do about a greeting without an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Greet {
    Again,
    GiveUp,
}

/// The number of a connection on the wire.
pub(crate) fn to_wire(conn: ConnId) -> u32 {
    conn.0 & !PEER
}

/// Whether this end opened the connection.
pub fn we_opened(conn: ConnId) -> bool {
    conn.0 & FIRST_BIT != 0
}

/// The position of a connection in its opener's count, modulo 2^20: the same at both ends.
pub fn number(conn: ConnId) -> u32 {
    conn.0 % NUMBERS
}

pub(crate) fn lifetime(conn: ConnId) -> Lifetime {
    if conn.0 & ONE_MESSAGE != 0 {
        Lifetime::OneMessage
    } else {
        Lifetime::Persistent
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

/// Which of a peer's latest connection numbers were seen.
struct Window {
    highest: u32,
    /// Bit `n` of the window is number `highest - n`.
    bits: [u64; Self::WORDS],
}

impl Window {
    const WORDS: usize = 16;
    /// As many as may be open at once, so that no open connection slides out unseen.
    const LEN: u32 = 64 * 16;

    /// A window in which `number` and those before it are new.
    fn before(number: u32) -> Self {
        Self {
            highest: number.wrapping_sub(1) % NUMBERS,
            bits: [0; Self::WORDS],
        }
    }

    /// How far `number` is ahead; `Err` with how far it is behind.
    fn ahead(&self, number: u32) -> Result<u32, u32> {
        let ahead = number.wrapping_sub(self.highest) % NUMBERS;
        if ahead > 0 && ahead < NUMBERS / 2 {
            Ok(ahead)
        } else {
            Err((NUMBERS - ahead) % NUMBERS)
        }
    }

    fn is_new(&self, number: u32) -> bool {
        match self.ahead(number) {
            Ok(_) => true,
            Err(behind) => behind < Self::LEN && !self.bit(behind),
        }
    }

    fn bit(&self, behind: u32) -> bool {
        self.bits[behind as usize / 64] >> (behind % 64) & 1 != 0
    }

    fn mark(&mut self, number: u32) {
        let behind = match self.ahead(number) {
            Ok(ahead) => {
                self.shift(ahead);
                self.highest = number;
                0
            }
            Err(behind) => behind,
        };
        if behind < Self::LEN {
            self.bits[behind as usize / 64] |= 1 << (behind % 64);
        }
    }

    /// Makes everything `by` numbers older.
    fn shift(&mut self, by: u32) {
        let (words, bits) = (by as usize / 64, by % 64);
        for i in (0..Self::WORDS).rev() {
            let from = |i: usize| if i < Self::WORDS { self.bits[i] } else { 0 };
            let low = i.checked_sub(words).map_or(0, from);
            let high = i.checked_sub(words + 1).map_or(0, from);
            self.bits[i] = if bits == 0 {
                low
            } else {
                low << bits | high >> (64 - bits)
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Rng, stream};
    use std::collections::BTreeSet;
    use std::net::Ipv4Addr;

    fn addr(port: u16) -> SocketAddrV4 {
        SocketAddrV4::new(Ipv4Addr::LOCALHOST, port)
    }

    #[test]
    fn a_window_agrees_with_a_set() {
        let mut rng = Rng::stream(4, stream::TEST, 0);
        let start = NUMBERS - 700;
        let (mut window, mut seen, mut top) = (Window::before(start), BTreeSet::new(), 0i64);
        for _ in 0..20_000 {
            // Steps forth by up to 90 numbers, and back by up to the window.
            let at = top - 900 + i64::try_from(rng.below(990)).unwrap();
            let number = u32::try_from((i64::from(start) + at).rem_euclid(NUMBERS.into())).unwrap();
            let new = at > top - i64::from(Window::LEN) && !seen.contains(&at);
            assert_eq!(window.is_new(number), new, "{at} of {top}");
            if new {
                window.mark(number);
                seen.insert(at);
                top = top.max(at);
            }
        }
        assert!(
            top > i64::from(50 * Window::LEN),
            "never left the first window: {top}"
        );
    }

    #[test]
    fn both_ends_derive_the_same_connection() {
        let (mut here, mut there) = (Peers::new(), Peers::new());
        let to = here.add(addr(2), Time::ZERO, 77).unwrap();
        // A second peer, so that the two ends use different places.
        there.add(addr(9), Time::ZERO, 0).unwrap();
        let from = there.add(addr(1), Time::ZERO, 500_000).unwrap();
        for lifetime in [Lifetime::OneMessage, Lifetime::Persistent] {
            let conn = here.open(to, lifetime).unwrap();
            let Arrival::Live {
                conn: theirs,
                new: true,
            } = there.arrive(from, to_wire(conn), true)
            else {
                panic!("not opened");
            };
            assert_eq!((peer_of(conn), peer_of(theirs)), (to, from));
            assert_eq!(
                (number(conn), self::lifetime(conn)),
                (number(theirs), self::lifetime(theirs))
            );
            assert!(we_opened(conn) && !we_opened(theirs));
            let back = here.arrive(to, to_wire(theirs), false);
            assert_eq!(back, Arrival::Live { conn, new: false });
        }
    }

    #[test]
    fn a_finished_connection_is_not_opened_again() {
        let mut peers = Peers::new();
        let from = peers.add(addr(1), Time::ZERO, 0).unwrap();
        let wire = FIRST_BIT | ONE_MESSAGE | 5;
        assert_eq!(peers.arrive(from, wire, false), Arrival::Unopened);
        let Arrival::Live { conn, new: true } = peers.arrive(from, wire, true) else {
            panic!()
        };
        assert_eq!(
            peers.arrive(from, wire, true),
            Arrival::Live { conn, new: false }
        );
        peers.finish(conn);
        assert_eq!(peers.arrive(from, wire, true), Arrival::Late(conn));
        // One that overtook is new all the same.
        assert!(matches!(
            peers.arrive(from, wire - 1, true),
            Arrival::Live { new: true, .. }
        ));
        peers.check();
    }

    #[test]
    fn a_peer_cannot_name_connections_that_we_did_not_open() {
        let mut peers = Peers::new();
        let to = peers.add(addr(1), Time::ZERO, 40).unwrap();
        assert_eq!(peers.arrive(to, 40, true), Arrival::Nonsense);
        let conn = peers.open(to, Lifetime::Persistent).unwrap();
        assert_eq!(
            peers.arrive(to, 40, true),
            Arrival::Live { conn, new: false }
        );
        assert_eq!(peers.arrive(to, 41, true), Arrival::Nonsense);
        assert_eq!(peers.arrive(to, 39, true), Arrival::Nonsense);
        assert_eq!(
            peers.arrive(to, 1 << PEER_AT | 0x28, true),
            Arrival::Nonsense
        );
        peers.finish(conn);
        assert_eq!(peers.arrive(to, 40, true), Arrival::Late(conn));
    }

    #[test]
    fn one_peer_opens_so_many_connections_and_no_more() {
        let mut peers = Peers::new();
        let greedy = peers.add(addr(1), Time::ZERO, 0).unwrap();
        let modest = peers.add(addr(2), Time::ZERO, 0).unwrap();
        for n in 0..CONNS_PER_PEER_MAX {
            assert!(matches!(
                peers.arrive(greedy, FIRST_BIT | n, true),
                Arrival::Live { .. }
            ));
        }
        assert_eq!(
            peers.arrive(greedy, FIRST_BIT | CONNS_PER_PEER_MAX, true),
            Arrival::Full
        );
        assert!(peers.open(greedy, Lifetime::OneMessage).is_err());
        assert!(matches!(
            peers.arrive(modest, FIRST_BIT, true),
            Arrival::Live { .. }
        ));
        peers.check();
    }

    #[test]
    fn an_idle_peer_makes_room_and_a_busy_one_does_not() {
        let mut peers = Peers::new();
        for port in 1..=u16::try_from(PEERS_MAX).unwrap() {
            let host = peers.add(addr(port), Time(u64::from(port)), 0).unwrap();
            peers.prove(host, 1, Time(u64::from(port)));
            if port != 700 {
                peers.open(host, Lifetime::Persistent).unwrap();
            }
        }
        let host = peers.add(addr(5_000), Time(9_999), 0).unwrap();
        assert_eq!(host, HostId(700));
        assert_eq!(
            (peers.find(addr(700)), peers.find(addr(5_000))),
            (None, Some(host))
        );
        peers.open(host, Lifetime::Persistent).unwrap();
        assert_eq!(peers.add(addr(5_001), Time(9_999), 0), Err(Reason::Peers));
        peers.check();
    }
}
