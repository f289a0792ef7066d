//! Who gets a place, and who gives one back.

use super::*;

fn addr(port: u16) -> SocketAddrV4 {
    SocketAddrV4::new(Ipv4Addr::LOCALHOST, port)
}

/// Number `n` of many addresses.
fn far(n: u32) -> SocketAddrV4 {
    SocketAddrV4::new(Ipv4Addr::from(0x0a00_0000 + n), 1)
}

fn add(peers: &mut Peers, addr: SocketAddrV4, now: Time, first: u32) -> HostId {
    let (host, forget) = peers.add(addr, now, first, false).unwrap();
    assert_eq!(forget, []);
    host
}

fn arrive(peers: &mut Peers, host: HostId, n: u32) -> Arrival {
    peers.arrive(host, FIRST_BIT | n, true)
}

#[test]
fn both_ends_derive_the_same_connection() {
    let (mut here, mut there) = (Peers::new(), Peers::new());
    let to = add(&mut here, addr(2), Time::ZERO, 77);
    // A second peer, so that the two ends use different places.
    add(&mut there, addr(9), Time::ZERO, 0);
    let from = add(&mut there, addr(1), Time::ZERO, 200_000);
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
    let from = add(&mut peers, addr(1), Time::ZERO, 0);
    let wire = FIRST_BIT | lifetime_bits(Lifetime::OneMessage) | 5;
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
    let to = add(&mut peers, addr(1), Time::ZERO, 40);
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
    let greedy = add(&mut peers, addr(1), Time::ZERO, 0);
    let modest = add(&mut peers, addr(2), Time::ZERO, 0);
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
    let time = |n: u32| Time(u64::from(n));
    for n in 1..=u32::try_from(PEERS_MAX).unwrap() {
        let host = add(&mut peers, far(n), time(n), 0);
        peers.prove(host, 1, time(n));
        if n == 700 {
            let Arrival::Live { conn, .. } = arrive(&mut peers, host, 3) else {
                panic!()
            };
            assert_eq!(peers.finish(conn), None);
        } else {
            peers.open(host, Lifetime::Persistent).unwrap();
        }
    }
    let (host, forget) = peers.add(far(5_000), time(9_999), 0, false).unwrap();
    // What lingers of the one that had the place must be forgotten.
    assert_eq!((host, forget.len()), (HostId(700), 1));
    assert_eq!(
        (peers.find(far(700)), peers.find(far(5_000))),
        (None, Some(host))
    );
    peers.open(host, Lifetime::Persistent).unwrap();
    let more = peers.add(far(5_001), time(9_999), 0, true);
    assert_eq!(more.unwrap_err(), Reason::Peers);
    peers.check();
    // What waits for the line since the place was another's stays here.
    let old = peers.get(HostId(9)).open[0];
    assert!(peers.knows(old) && peers.forgotten(old) && peers.knows(old));
    let _ = peers.lose(HostId(9));
    assert!(!peers.knows(old) && !peers.forgotten(old));
    assert_eq!(add(&mut peers, far(5_002), time(9_999), 0), HostId(9));
    assert!(!peers.knows(old));
    peers.open(HostId(9), Lifetime::Persistent).unwrap();
    // A peer that is gone gives all back.
    assert_eq!(peers.lose(HostId(9)).len(), 1);
    assert_eq!(add(&mut peers, far(5_001), time(9_999), 0), HostId(9));
    peers.check();
}

#[test]
fn the_ports_of_one_address_have_a_share_of_the_peers() {
    let mut peers = Peers::new();
    let share = u16::try_from(PEERS_PER_ADDR_MAX).unwrap();
    for port in 1..=share {
        let host = add(&mut peers, addr(port), Time(u64::from(port)), 0);
        if port != 9 {
            arrive(&mut peers, host, 0);
        }
    }
    // One more takes the place of the idle one of the same address, and then there is none.
    let (host, _) = peers.add(addr(5_000), Time(9_999), 0, false).unwrap();
    assert_eq!((host, peers.find(addr(9))), (HostId(9), None));
    arrive(&mut peers, host, 0);
    let more = peers.add(addr(5_001), Time(9_999), 0, false);
    assert_eq!(more.unwrap_err(), Reason::Peers);
    // Others find room, and so does the application.
    add(&mut peers, far(1), Time(9_999), 0);
    assert!(peers.add(addr(5_001), Time(9_999), 0, true).is_ok());
    peers.check();
}

#[test]
fn the_ports_of_one_address_have_a_share_of_the_connections() {
    let mut peers = Peers::new();
    let (per_peer, per_addr) = (CONNS_PER_PEER_MAX, CONNS_PER_ADDR_MAX);
    for port in 0..u16::try_from(per_addr / per_peer).unwrap() {
        let host = add(&mut peers, addr(port), Time::ZERO, 0);
        for n in 0..per_peer {
            assert!(matches!(arrive(&mut peers, host, n), Arrival::Live { .. }));
        }
    }
    let late = add(&mut peers, addr(99), Time::ZERO, 0);
    assert_eq!(arrive(&mut peers, late, 0), Arrival::Full);
    let other = add(&mut peers, far(1), Time::ZERO, 0);
    assert!(matches!(arrive(&mut peers, other, 0), Arrival::Live { .. }));
    // A place that comes back is the address' again.
    let conn = peers.get(HostId(1)).open[5];
    assert!(peers.forgotten(conn));
    assert!(matches!(arrive(&mut peers, late, 0), Arrival::Live { .. }));
    assert_eq!(arrive(&mut peers, late, 1), Arrival::Full);
    peers.check();
}

#[test]
fn what_lingers_is_bounded_and_the_oldest_goes_first() {
    let mut peers = Peers::new();
    let from = add(&mut peers, addr(1), Time::ZERO, 0);
    let finish = |peers: &mut Peers, n| {
        let Arrival::Live { conn, .. } = arrive(peers, from, n) else {
            panic!()
        };
        (conn, peers.finish(conn))
    };
    let most = u32::try_from(LINGERING_MAX).unwrap();
    let (first, _) = finish(&mut peers, 0);
    let (second, _) = finish(&mut peers, 1);
    for n in 2..most {
        assert_eq!(finish(&mut peers, n).1, None);
    }
    // A late packet of one that lingers adds nothing; one that is forgotten makes room.
    assert_eq!(peers.linger(second), None);
    assert!(!peers.forgotten(first));
    assert_eq!(finish(&mut peers, most).1, None);
    assert_eq!(finish(&mut peers, most + 1).1, Some(Forget(second)));
    assert_eq!(peers.linger(first), Some(Forget(ConnId(second.0 + 1))));
    peers.check();
}

#[test]
fn a_silent_peer_with_connections_is_greeted_and_then_given_up() {
    let mut peers = Peers::new();
    let [silent, idle, alive] = [1, 2, 3].map(|n| add(&mut peers, far(n), Time::ZERO, 0));
    for host in [silent, idle, alive] {
        peers.prove(host, 1, Time::ZERO);
    }
    arrive(&mut peers, silent, 0);
    arrive(&mut peers, alive, 0);
    let mut acts = Vec::new();
    let mut gone_at = None;
    while gone_at.is_none() {
        let now = peers.next_look();
        assert!(now < Time::ZERO.after(Span::ms(60_000)), "{acts:?}");
        peers.hear(alive, now);
        acts.clear();
        peers.look(now, |host, act| acts.push((host, act)));
        for &(host, act) in &acts {
            assert_eq!(host, silent);
            match act {
                Look::Silent => peers.greet(host, now, 77),
                Look::Again(nonce) => assert_eq!(nonce, 77),
                Look::Gone => gone_at = Some(now),
            }
        }
    }
    let after = gone_at.unwrap().since(Time::ZERO);
    assert!(
        after > SILENCE && after < SILENCE + Span::ms(10_000),
        "{after}"
    );
}

#[test]
fn a_peer_is_believed_by_its_last_two_cookies_of_either_side() {
    let mut peers = Peers::new();
    let host = add(&mut peers, addr(1), Time::ZERO, 0);
    let peer = peers.get_mut(host);
    assert_eq!(peer.secret(), None);
    assert!(!peer.shares(0) && !peer.sends(0));
    let believed = |peer: &Peer, cookie: u64, baked_here| {
        let tag = Secret::new(cookie, baked_here).tag_in;
        let other = Secret::new(cookie, !baked_here).tag_in;
        assert!(!peer.sends(other), "the tag of the other direction");
        assert_eq!(peer.shares(cookie), peer.sends(tag));
        peer.sends(tag)
    };
    for (cookie, known) in [
        (11, [11, 0]),
        (12, [11, 12]),
        (12, [11, 12]),
        (13, [12, 13]),
    ] {
        peer.learn_here(cookie);
        for baked in 11..=13 {
            assert_eq!(believed(peer, baked, true), known.contains(&baked));
        }
    }
    assert_eq!(peer.secret(), Some(Secret::new(13, true)));
    // What it baked is what our packets carry, as soon as there is some.
    peer.learn_there(21);
    assert_eq!(peer.secret(), Some(Secret::new(21, false)));
    assert!(believed(peer, 21, false) && believed(peer, 13, true) && believed(peer, 12, true));
}

#[test]
fn a_peers_connections_are_those_of_its_number() {
    use model::Peers as _;
    let mut peers = Peers::new().over(5);
    let me = HostId(0);
    let hosts = [1, 2].map(|port| add(&mut peers, addr(port), Time::ZERO, 3));
    assert_eq!(
        (hosts, peers.known(), peers.live()),
        ([HostId(1), HostId(2)], 2, 0)
    );
    assert_eq!(peers.ways(me, hosts[0]), 5);
    assert_eq!(Peers::new().ways(me, hosts[0]), 1);
    for (bits, life) in (0..).zip([
        Lifetime::Persistent,
        Lifetime::OneMessage,
        Lifetime::Exchange,
    ]) {
        let conn = peers.open(hosts[1], life).unwrap();
        let number = 3 + bits;
        assert_eq!(conn.0, 1 << 31 | bits << 29 | 2 << 19 | number);
        assert_eq!(to_wire(conn), 1 << 31 | bits << 29 | number);
        assert_eq!((lifetime(conn), self::number(conn)), (life, number));
        assert_eq!(peers.peer(me, conn), Some(hosts[1]));
    }
    assert_eq!((peers.live(), peers.get(hosts[1]).open().len()), (3, 3));
    // Nobody is at this end, at a place that was never taken, or at one that is free.
    assert_eq!(peers.peer(me, ConnId(FIRST_BIT)), None);
    assert_eq!(peers.peer(me, ConnId(3 << PEER_AT)), None);
    let _ = peers.lose(hosts[0]);
    assert_eq!(peers.peer(me, ConnId(1 << PEER_AT)), None);
    assert_eq!((peers.known(), peers.find(addr(1))), (1, None));
    assert_eq!(peers.lose(hosts[0]), [], "it is gone");
    peers.check();
}

fn waiting(n: u32) -> Laden {
    let packet = Packet::new(HostId(1), ConnId(n), model::Class::Control, 1, 84);
    (packet, None)
}

#[test]
fn what_waits_for_a_cookie_is_bounded_and_comes_back_once() {
    let mut peers = Peers::new();
    let host = add(&mut peers, addr(1), Time::ZERO, 0);
    let most = u32::try_from(PARKED_MAX).unwrap();
    assert!((0..most).all(|n| peers.park(host, waiting(n))));
    assert!(peers.park(host, waiting(5)), "it waits already");
    assert!(!peers.park(host, waiting(most)));
    let mut other = waiting(5);
    other.0.head[0] ^= 1;
    assert!(
        !peers.park(host, other),
        "another packet of that connection"
    );
    peers.check();
    let parked = peers.prove(host, 9, Time(5));
    assert!(parked.iter().map(|(packet, _)| packet.conn.0).eq(0..most));
    assert_eq!(
        peers.get(host).standing,
        Standing::Proven { incarnation: 9 }
    );
    assert!(peers.prove(host, 9, Time(5)).is_empty());
}

#[test]
fn a_greeting_is_repeated_at_longer_and_longer_intervals() {
    let mut peers = Peers::new();
    let start = Time::ZERO.after(Span::ms(100));
    let host = add(&mut peers, addr(1), start, 0);
    assert_eq!(
        (peers.next_look(), peers.get(host).nonce()),
        (Time::NEVER, None)
    );
    peers.greet(host, start, 77);
    assert_eq!(peers.get(host).nonce(), Some(77));
    let (mut waits, mut before) = (Vec::new(), start);
    let gone = loop {
        let now = peers.next_look();
        peers.look(Time(now.0 - 1), |_, act| panic!("too early: {act:?}"));
        let mut acts = Vec::new();
        peers.look(now, |host, act| acts.push((host, act)));
        waits.push(now.since(before).0 / Span::ms(1).0);
        before = now;
        match acts[..] {
            [(of, Look::Again(77))] if of == host => {
                assert_eq!(peers.get(host).greeted_at, now);
            }
            _ => break acts,
        }
    };
    assert_eq!(gone, [(host, Look::Gone)]);
    let doubled = (0..10).map(|n| 1 << n);
    assert!(
        waits.iter().copied().eq(doubled.chain([1_000; 6])),
        "{waits:?}"
    );
    // A greeting that has its answer is over.
    peers.greet(host, start, 78);
    peers.get_mut(host).answered();
    peers.look(start.after(Span::ms(1)), |_, act| panic!("{act:?}"));
    assert_eq!(peers.next_look(), Time::NEVER);
}

#[test]
fn a_peer_that_was_heard_after_the_last_greeting_is_not_given_up() {
    let mut peers = Peers::new();
    let host = add(&mut peers, addr(1), Time::ZERO, 0);
    peers.prove(host, 1, Time::ZERO);
    arrive(&mut peers, host, 0);
    let silent = Time::ZERO.after(SILENCE);
    assert_eq!(peers.next_look(), silent);
    let mut acts = Vec::new();
    peers.look(silent, |_, act| acts.push(act));
    assert_eq!(acts, [Look::Silent]);
    peers.greet(host, silent, 7);
    let mut heard = silent;
    for n in 0..16 {
        let now = peers.next_look();
        if n == 9 {
            heard = now;
            peers.hear(host, now);
        }
        acts.clear();
        peers.look(now, |_, act| acts.push(act));
        assert_eq!(acts, if n < 15 { vec![Look::Again(7)] } else { vec![] });
    }
    assert_eq!(peers.get(host).nonce(), None, "that greeting is over");
    assert_eq!(peers.next_look(), heard.after(SILENCE));
    // Without connections nobody asks.
    let conn = peers.get(host).open()[0];
    assert!(peers.forgotten(conn));
    peers.look(heard.after(SILENCE), |_, act| panic!("{act:?}"));
    assert_eq!(peers.next_look(), Time::NEVER);
}

#[test]
fn a_number_that_is_in_use_is_not_given_again() {
    let mut peers = Peers::new();
    let host = add(&mut peers, addr(1), Time::ZERO, NUMBERS / 2 + 4);
    let first = [Lifetime::Exchange, Lifetime::OneMessage].map(|life| {
        let conn = peers.open(host, life).unwrap();
        number(conn)
    });
    assert_eq!(first, [4, 5], "the lower half");
    peers.get_mut(host).next_number = NUMBERS - 1;
    let rest = [(); 6].map(|()| number(peers.open(host, Lifetime::Persistent).unwrap()));
    assert_eq!(rest, [NUMBERS - 1, 0, 1, 2, 3, 6]);
    peers.check();
}

#[test]
fn late_packets_of_our_connections_are_told_from_made_up_ones() {
    let mut peers = Peers::new();
    let host = add(&mut peers, addr(1), Time::ZERO, 0);
    for opened in [0, 3, NUMBERS / 2, NUMBERS] {
        let peer = peers.get_mut(host);
        (peer.next_number, peer.opened) = (2, opened);
        for (ago, known) in [
            (0, opened > 0),
            (2, opened > 2),
            (3, opened > 3),
            (NUMBERS / 2 - 1, opened > 3),
            (NUMBERS / 2, false),
            (NUMBERS - 1, false),
        ] {
            let number = 1u32.wrapping_sub(ago) % NUMBERS;
            let late = Arrival::Late(ConnId(FIRST_BIT | host.0 << PEER_AT | number));
            let expected = if known { late } else { Arrival::Nonsense };
            assert_eq!(
                peers.arrive(host, number, true),
                expected,
                "{ago} of {opened}"
            );
        }
    }
    let lifetimes = [0, 1, 2, 3].map(|bits| {
        let arrival = peers.arrive(host, FIRST_BIT | bits << LIFETIME_AT | 7, false);
        arrival == Arrival::Unopened
    });
    assert_eq!(lifetimes, [true, true, true, false]);
    for bit in [PEER_AT, LIFETIME_AT - 1] {
        assert_eq!(
            peers.arrive(host, FIRST_BIT | 1 << bit, true),
            Arrival::Nonsense
        );
    }
}

#[test]
fn all_peers_together_have_so_many_connections_and_no_more() {
    let mut peers = Peers::new();
    let per_peer = CONNS_PER_PEER_MAX;
    for n in 0..u32::try_from(CONNS_MAX).unwrap() / per_peer {
        let host = add(&mut peers, far(n), Time::ZERO, 0);
        let ours = per_peer / 2;
        assert!((0..ours).all(|_| peers.open(host, Lifetime::OneMessage).is_ok()));
        let theirs = (ours..per_peer).all(|n| arrive(&mut peers, host, n) != Arrival::Full);
        assert!(theirs);
        assert_eq!(
            peers.open(host, Lifetime::OneMessage),
            Err(Reason::Connections)
        );
        assert_eq!(arrive(&mut peers, host, per_peer), Arrival::Full);
    }
    let late = add(&mut peers, far(999), Time::ZERO, 0);
    assert_eq!(peers.live(), CONNS_MAX);
    assert_eq!(
        peers.open(late, Lifetime::OneMessage),
        Err(Reason::Connections)
    );
    assert_eq!(arrive(&mut peers, late, 0), Arrival::Full);
    peers.check();
    let one = peers.get(HostId(1)).open()[0];
    assert!(peers.forgotten(one));
    assert!(peers.open(late, Lifetime::OneMessage).is_ok());
}

#[test]
fn a_connection_that_closes_leaves_the_others_open() {
    let mut peers = Peers::new();
    let host = add(&mut peers, addr(1), Time::ZERO, 0);
    let conns = [(); 5].map(|()| peers.open(host, Lifetime::Persistent).unwrap());
    let mut left = conns.to_vec();
    for place in [0, 4, 1] {
        let conn = conns[place];
        assert!(peers.is_live(conn) && peers.knows(conn));
        assert_eq!(peers.finish(conn), None);
        assert_eq!(peers.finish(conn), None, "it is through");
        left.retain(|&other| other != conn);
        let mut open = peers.get(host).open().to_vec();
        open.sort_unstable_by_key(|conn| conn.0);
        assert_eq!(open, left);
        assert!(!peers.is_live(conn) && peers.knows(conn), "it lingers");
        peers.check();
    }
    assert_eq!(peers.get(host).lingering.len(), 3);
    assert!(!peers.forgotten(conns[0]), "it was not open");
    assert_eq!(peers.get(host).lingering.len(), 2);
    assert!(peers.forgotten(conns[2]) && peers.live() == 1);
    peers.check();
}

#[test]
fn only_a_connection_of_ours_that_is_open_can_be_refused() {
    let mut peers = Peers::new();
    let host = add(&mut peers, addr(1), Time::ZERO, 0);
    let ours = peers.open(host, Lifetime::OneMessage).unwrap();
    let Arrival::Live { conn: theirs, .. } = arrive(&mut peers, host, 9) else {
        panic!()
    };
    assert_eq!(peers.refused(host, to_wire(ours)), Some(ours));
    assert_eq!(
        peers.refused(host, to_wire(ours) | 5 << PEER_AT),
        Some(ours)
    );
    assert_eq!(peers.refused(host, to_wire(theirs)), None);
    assert_eq!(peers.refused(host, to_wire(ours) + 1), None);
    assert_eq!(peers.finish(ours), None);
    assert_eq!(peers.refused(host, to_wire(ours)), None);
}

#[test]
fn what_was_forgotten_is_known_until_so_many_others_were() {
    let mut peers = Peers::new();
    let host = add(&mut peers, addr(1), Time::ZERO, 0);
    let mut forget = || {
        let conn = peers.open(host, Lifetime::OneMessage).unwrap();
        assert!(peers.forgotten(conn));
        conn
    };
    let first = forget();
    let rest: Vec<_> = (1..LINGERING_MAX).map(|_| forget()).collect();
    assert!(peers.knows(first) && rest.iter().all(|&conn| peers.knows(conn)));
    let conn = peers.open(host, Lifetime::OneMessage).unwrap();
    assert!(peers.forgotten(conn) && peers.knows(conn));
    assert!(!peers.knows(first) && rest.iter().all(|&conn| peers.knows(conn)));
    peers.check();
}

#[test]
fn of_idle_peers_the_one_that_was_silent_the_longest_makes_room() {
    let mut peers = Peers::new();
    let share = u16::try_from(PEERS_PER_ADDR_MAX).unwrap();
    for port in 1..=share {
        add(&mut peers, addr(port), Time(100), 0);
    }
    peers.hear(HostId(1), Time(200));
    peers.hear(HostId(7), Time(50));
    let (host, _) = peers.add(addr(900), Time(300), 0, false).unwrap();
    assert_eq!(host, HostId(7));
    let (host, _) = peers.add(addr(901), Time(300), 0, false).unwrap();
    assert_eq!(host, HostId(2), "of several the first");
    // One that is gone leaves its place to the next, whoever that is.
    let _ = peers.lose(HostId(40));
    assert_eq!(add(&mut peers, far(1), Time(300), 0), HostId(40));
    assert_eq!(
        add(&mut peers, far(2), Time(300), 0),
        HostId(u32::from(share) + 1)
    );
    peers.check();
}

type Breaks = fn(&mut Peers);

#[test]
fn books_that_are_wrong_are_noticed() {
    let wrong: [(&str, Breaks); 8] = [
        ("nothing", |_| {}),
        ("open", |peers| peers.places[0].open.clear()),
        ("shares of peers", |peers| peers.share_mut().peers += 1),
        ("shares of connections", |peers| peers.share_mut().open -= 1),
        ("free and open", |peers| {
            peers.places[0].standing = Standing::Free;
        }),
        ("parked", |peers| {
            let all = (0..=PARKED_MAX).map(|_| waiting(1));
            peers.places[0].parked = all.collect();
        }),
        ("lingering", |peers| {
            peers.places[0].lingering = (0..=LINGERING_MAX).map(|_| ConnId(1)).collect();
        }),
        ("forgotten", |peers| {
            peers.places[0].forgotten = (0..=LINGERING_MAX).map(|_| ConnId(1)).collect();
        }),
    ];
    for (what, break_it) in wrong {
        let mut peers = Peers::new();
        let host = add(&mut peers, addr(1), Time::ZERO, 0);
        peers.open(host, Lifetime::Persistent).unwrap();
        break_it(&mut peers);
        let checked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| peers.check()));
        assert_eq!(checked.is_err(), what != "nothing", "{what}");
    }
}

impl Peers {
    fn share_mut(&mut self) -> &mut Share {
        self.shares.get_mut(&Ipv4Addr::LOCALHOST).unwrap()
    }
}
