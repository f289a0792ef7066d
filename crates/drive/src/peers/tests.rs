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
