//! Connections by hand: who finds which, what is remembered, and whose alarm rings.

use super::*;
use crate::bench::Bench;
use std::cell::Cell;

/// A direction of which only the counts matter.
#[derive(Clone, Copy, Debug, Default)]
struct Way {
    used: bool,
    busy: bool,
    complete: u32,
    broken: bool,
}
impl Sending for Way {
    fn is_idle(&self) -> bool {
        !self.busy
    }
    fn done(&self) -> u32 {
        u32::from(self.used)
    }
    fn check(&self) {
        assert!(!self.broken, "a broken sender");
    }
}
impl Receiving for Way {
    fn complete(&self) -> u32 {
        self.complete
    }
    fn check(&self) {
        assert!(!self.broken, "a broken receiver");
    }
}

/// Every connection is one with the peer.
struct Always;
impl model::Peers for Always {
    fn peer(&self, me: HostId, _: ConnId) -> Option<HostId> {
        assert_eq!(me, ME);
        Some(PEER)
    }
}

type All = Connections<Way, Way, ()>;

const ME: HostId = HostId(1);
const PEER: HostId = HostId(2);
const WHILE: Span = Span::us(3);

/// A host with a connection of this number, which it has opened.
fn with(id: u32) -> (All, u32) {
    let mut all = All::new(ME, WHILE);
    let slot = all.add(ConnId(id), PEER, true, Lifetime::OneMessage);
    (all, slot)
}

#[test]
fn a_lifetime_says_what_may_be_sent_and_when_all_is_done() {
    use Lifetime::{Exchange, OneMessage, Persistent};
    let (mut all, slot) = with(7);
    // Whether it opened, has sent, has more to send, has received: may it send, and is it over?
    for (lifetime, opener, used, busy, complete, may_send, is_over) in [
        (OneMessage, true, false, false, 0, true, false),
        (OneMessage, true, true, true, 0, false, false),
        (OneMessage, true, true, false, 0, false, true),
        (OneMessage, false, false, false, 0, false, false),
        (OneMessage, false, false, false, 1, false, true),
        (Exchange, false, false, false, 1, true, false),
        (Exchange, true, true, false, 0, false, false),
        (Exchange, true, true, true, 1, false, false),
        (Exchange, true, true, false, 1, false, true),
        (Persistent, false, true, false, 9, true, false),
    ] {
        let conn = &mut all[slot];
        (conn.lifetime, conn.opener) = (lifetime, opener);
        (conn.tx.used, conn.tx.busy, conn.rx.complete) = (used, busy, complete);
        assert_eq!(
            (conn.may_send(), conn.is_over()),
            (may_send, is_over),
            "{conn:?}"
        );
        assert_eq!(conn.one_shot(), lifetime != Persistent);
    }
}

#[test]
fn a_connection_is_found_until_it_is_removed() {
    let (mut all, first) = with(7);
    let second = all.add(ConnId(8), PEER, false, Lifetime::Persistent);
    assert_eq!(
        (
            all.find(ConnId(7)),
            all.find(ConnId(8)),
            all.find(ConnId(9))
        ),
        (Some(first), Some(second), None)
    );
    assert_eq!(
        (all.len(), all.is_empty(), all.iter().count()),
        (2, false, 2)
    );
    assert!(
        all.get(first)
            .is_some_and(|conn| conn.id == ConnId(7) && conn.order == 0)
    );
    assert!(all.get_mut(second, 1).is_some() && all.get_mut(second, 0).is_none());
    let mut bench = Bench::at(Time(5));
    assert_eq!(all.remove(&mut bench.cx(), first, true).id, ConnId(7));
    assert_eq!(
        bench.events,
        [Event::Forgotten { conn: ConnId(7) }],
        "it had received nothing"
    );
    assert!(all.find(ConnId(7)).is_none() && all.get(first).is_none());
    let third = all.add(ConnId(9), PEER, true, Lifetime::Exchange);
    assert_eq!(
        (third, all[third].order),
        (first, 2),
        "its place is used again, its order never"
    );
    all.check(0, |_| {});
}

#[test]
fn what_is_open_stays_and_is_not_opened_again() {
    let (mut all, slot) = with(7);
    let mut bench = Bench::at(Time(5));
    let mut connect = |id| all.connect(&mut bench.cx(), ConnId(id), PEER, Lifetime::Exchange);
    assert_eq!(connect(7), None);
    let other = connect(8).expect("there is room");
    assert!(
        bench.events.is_empty() && all[other].opener && all[slot].lifetime == Lifetime::OneMessage
    );
}

#[test]
fn only_what_has_received_is_remembered_and_only_where_it_may_be() {
    for (linger, may_linger, complete, remembered) in [
        (WHILE, true, 1, true),
        (WHILE, false, 1, false),
        (WHILE, true, 0, false),
        (Span::ZERO, true, 1, false),
    ] {
        let mut all = All::new(ME, linger);
        let slot = all.add(ConnId(7), PEER, false, Lifetime::OneMessage);
        all[slot].rx.complete = complete;
        let mut bench = Bench::at(Time(5));
        all.remove(&mut bench.cx(), slot, may_linger);
        assert_eq!(all.remembers(ConnId(7)), remembered);
        assert_eq!(all.remembered().1, usize::from(remembered));
        assert_eq!(bench.events.len(), usize::from(!remembered));
        let end = Time(5).after(WHILE);
        assert_eq!(all.next(), if remembered { end } else { Time::NEVER });
        bench.now = end;
        all.expire(&mut bench.cx());
        assert_eq!((all.remembers(ConnId(7)), bench.events.len()), (false, 1));
    }
    let (mut all, slot) = with(7);
    all[slot].rx.complete = 1;
    let mut bench = Bench::at(Time(5));
    all.remove(&mut bench.cx(), slot, true);
    all.forget_done(&mut bench.cx(), ConnId(7));
    assert_eq!((all.remembers(ConnId(7)), bench.events.len()), (false, 1));
}

#[test]
fn an_alarm_rings_once_and_the_earlier_of_two_counts() {
    let (mut all, first) = with(7);
    let second = all.add(ConnId(8), PEER, true, Lifetime::OneMessage);
    assert_eq!(
        (all.next(), all.rings(Time(99)), all[first].due()),
        (Time::NEVER, None, Time::NEVER)
    );
    all.arm(first, Time(30));
    all.arm_earlier(first, Time(40));
    assert_eq!(all[first].due(), Time(30), "later is not earlier");
    all.arm_earlier(first, Time(20));
    all.arm(second, Time(25));
    assert_eq!((all[first].due(), all.next()), (Time(20), Time(20)));
    assert_eq!(
        (
            all.rings(Time(19)),
            all.rings(Time(20)),
            all.rings(Time(20))
        ),
        (None, Some(first), None)
    );
    assert_eq!(all[first].due(), Time::NEVER);
    // Of what is gone no alarm rings; with the last one all alarms go.
    all.arm(first, Time(22));
    let mut bench = Bench::at(Time(21));
    all.remove(&mut bench.cx(), first, false);
    assert_eq!(
        (all.rings(Time(30)), all.rings(Time(30))),
        (Some(second), None)
    );
    all.arm(second, Time(50));
    all.remove(&mut bench.cx(), second, false);
    assert_eq!((all.next(), all.is_empty()), (Time::NEVER, true));
}

#[test]
fn nobody_is_answered_who_cannot_be_there() {
    let mut all = All::new(ME, WHILE);
    let mut bench = Bench::at(Time(5));
    let mut totals = Totals::default();
    // On this bench nobody knows of any peer.
    let cx = bench.cx();
    assert_eq!(all.opener(&cx, ConnId(7), &mut totals), None);
    assert_eq!(
        all.to_whoever(&cx, ConnId(7), &mut totals, |_| Packet::EMPTY),
        None
    );
    assert_eq!(totals.nonsense, 2);
    assert_eq!(all.before_the_opener(&cx, ConnId(7)), None);
    assert!(all.is_empty());
}

#[test]
fn somebody_who_can_be_there_is_answered() {
    let (mut all, slot) = with(7);
    all[slot].rx.complete = 1;
    let mut bench = Bench::at(Time(5));
    let mut cx = bench.cx();
    cx.peers = &Always;
    let mut totals = Totals::default();
    assert_eq!(all.opener(&cx, ConnId(9), &mut totals), Some(PEER));
    let answer = all.to_whoever(&cx, ConnId(9), &mut totals, |to| {
        Packet::new(to, ConnId(9), model::Class::Control, 0, 84)
    });
    assert_eq!(
        (answer.map(|packet| packet.to()), totals.nonsense),
        (Some(PEER), 0)
    );
    let before = all
        .before_the_opener(&cx, ConnId(8))
        .expect("there is room");
    assert!(!all[before].opener && all[before].peer == PEER);
    assert_eq!(all[before].lifetime, Lifetime::Persistent);
    all.remove(&mut cx, slot, true);
    assert_eq!(
        all.before_the_opener(&cx, ConnId(7)),
        None,
        "it is done and remembered"
    );
}

#[test]
fn a_host_keeps_so_many_connections() {
    let mut all = All::new(ME, WHILE);
    let most = u32::try_from(CONNS_MAX).unwrap();
    for id in 0..most - 1 {
        all.add(ConnId(id), PEER, true, Lifetime::OneMessage);
    }
    let mut bench = Bench::at(Time(5));
    let mut cx = bench.cx();
    cx.peers = &Always;
    let totals = &mut Totals::default();
    assert_eq!(all.opener(&cx, ConnId(most), totals), Some(PEER));
    let connect = |all: &mut All, cx: &mut Cx<'_>, id| {
        all.connect(cx, ConnId(id), PEER, Lifetime::OneMessage)
    };
    assert_eq!(connect(&mut all, &mut cx, most), Some(most - 1));
    assert_eq!(all.opener(&cx, ConnId(most + 1), totals), None);
    assert_eq!(all.before_the_opener(&cx, ConnId(most + 1)), None);
    assert_eq!(connect(&mut all, &mut cx, most + 1), None);
    let conn = ConnId(most + 1);
    assert_eq!(
        (&bench.events[..], totals.nonsense),
        (&[Event::Refused { conn }][..], 0)
    );
    all.check(0, |_| {});
}

#[test]
fn a_packet_finds_its_connection_opens_one_or_is_nonsense() {
    use Found::{Done, Gone, New, Nothing, Open};
    use Lifetime::{Exchange, OneMessage, Persistent};
    // The host has opened number 7, which is done with 8 and has never heard of 9.
    let host = || {
        let (mut all, _) = with(7);
        let done = all.add(ConnId(8), PEER, false, OneMessage);
        all[done].rx.complete = 1;
        all.remove(&mut Bench::at(Time(5)).cx(), done, true);
        all
    };
    // The packet: its connection's lifetime, whether it answers, whether it is of the first message, and whether it
    // shows that it was known here; what it finds, and what it counts as nonsense.
    for (id, lifetime, answer, first, known, found, nonsense) in [
        (7, OneMessage, true, true, false, Open(0), 0),
        (7, OneMessage, false, true, false, Nothing, 1),
        (7, OneMessage, true, false, false, Nothing, 1),
        (7, Persistent, true, true, false, Nothing, 1),
        (8, OneMessage, false, true, false, Done, 0),
        (8, OneMessage, false, true, true, Done, 0),
        (8, OneMessage, false, false, false, Nothing, 1),
        (9, OneMessage, false, true, false, New(1), 0),
        (9, Exchange, false, true, false, New(1), 0),
        (9, Persistent, false, true, false, New(1), 0),
        (9, Persistent, false, false, false, Gone, 0),
        (9, Exchange, true, true, false, Gone, 0),
        (9, OneMessage, false, true, true, Gone, 0),
        (9, Exchange, false, false, false, Nothing, 1),
    ] {
        let (mut all, mut totals) = (host(), Totals::default());
        let mut bench = Bench::at(Time(6));
        let mut cx = bench.cx();
        cx.peers = &Always;
        let said = (lifetime, answer, first);
        let at = all.seek(&cx, ConnId(id), said, known, &mut totals);
        assert_eq!(
            (at, totals.nonsense),
            (found, nonsense),
            "{id} {said:?} {known}"
        );
        if let New(slot) = at {
            assert!(all[slot].fits(lifetime, false) && all[slot].peer == PEER);
        }
    }
    // Nobody can have opened it: the bench knows of no peer.
    let (mut all, mut totals) = (host(), Totals::default());
    let said = (OneMessage, false, true);
    let found = all.seek(
        &Bench::at(Time(6)).cx(),
        ConnId(9),
        said,
        false,
        &mut totals,
    );
    assert_eq!((found, totals.nonsense, all.len()), (Nothing, 1, 1));
}

#[test]
fn a_message_needs_a_connection_that_carries_one_more() {
    let (mut all, slot) = with(7);
    let mut bench = Bench::at(Time(5));
    assert_eq!(all.to_send(&mut bench.cx(), ConnId(7)), Some(slot));
    all[slot].tx.used = true;
    // It has carried its one message; and nobody knows of a peer on the other one.
    for id in [7, 8] {
        let conn = ConnId(id);
        assert_eq!(all.to_send(&mut bench.cx(), conn), None);
        assert_eq!(bench.events.pop(), Some(Event::Refused { conn }));
    }
    assert!(bench.events.is_empty() && all.len() == 1);
}

#[test]
fn a_lost_connection_is_refused_where_a_message_of_ours_is_with_it() {
    for (opener, busy, refused) in [
        (true, false, true),
        (false, true, true),
        (false, false, false),
    ] {
        let (mut all, slot) = with(7);
        (all[slot].opener, all[slot].tx.busy) = (opener, busy);
        let mut bench = Bench::at(Time(5));
        all.refuse(&mut bench.cx(), slot);
        assert_eq!(bench.events.len(), usize::from(refused), "{opener} {busy}");
    }
}

#[test]
fn a_packet_fits_its_connection_by_lifetime_and_by_who_opened_it() {
    use Lifetime::{Exchange, OneMessage};
    let (mut all, slot) = with(7);
    let conn = &mut all[slot];
    assert!(conn.fits(OneMessage, true) && !conn.fits(OneMessage, false));
    assert!(!conn.fits(Exchange, true) && !conn.is_answered());
    conn.lifetime = Exchange;
    assert!(conn.fits(Exchange, true) && conn.is_answered());
    conn.opener = false;
    assert!(conn.fits(Exchange, false) && !conn.fits(Exchange, true) && !conn.is_answered());
}

#[test]
fn what_is_unfinished_is_named_by_its_roles() {
    let (mut all, slot) = with(7);
    all.add(ConnId(8), PEER, true, Lifetime::OneMessage);
    all[slot].tx.busy = true;
    let mut said = Vec::new();
    let role = |what: &str| Some((what.to_owned(), "time".to_owned()));
    all.stuck(
        &mut |flow| said.push((flow.conn.0, flow.state, flow.waits_for)),
        |conn| [role("sends").filter(|_| conn.tx.busy), role("receives")],
    );
    let line = |conn, what: &str| (conn, what.to_owned(), "time".to_owned());
    assert_eq!(
        said,
        [line(7, "sends"), line(7, "receives"), line(8, "receives")]
    );
}

#[test]
fn every_connection_is_looked_at_in_its_turn() {
    let (mut all, slot) = with(7);
    let looked = Cell::new(0);
    all.check(3, |_| looked.set(looked.get() + 1));
    assert_eq!(looked.get(), 1);
    let breaks: [fn(&mut All); 3] = [
        |all| all[0].tx.broken = true,
        |all| all[0].rx.broken = true,
        |all| {
            all.slot_of.remove(ConnId(7));
        },
    ];
    all[slot].own = ();
    for spoil in breaks {
        let (mut all, _) = with(7);
        spoil(&mut all);
        let check = std::panic::AssertUnwindSafe(|| all.check(0, |_| {}));
        assert!(std::panic::catch_unwind(check).is_err());
    }
}

#[test]
fn the_first_message_is_as_old_as_its_connection_and_the_next_as_the_moment_it_is_ranked() {
    let (mut all, first) = with(7);
    let second = all.add(ConnId(8), PEER, false, Lifetime::Persistent);
    let ages = |all: &mut Connections<Way, Way, ()>| {
        [first, second].map(|slot| (all.age_sending(slot), all.age_arriving(slot)))
    };
    assert_eq!(ages(&mut all), [(0, 0), (1, 1)]);
    // Its first message is done, and the next is younger than all that are there.
    all[first].tx.used = true;
    assert!(all.sending(first, 0).is_some(), "nobody has asked yet");
    assert_eq!(ages(&mut all), [(2, 0), (1, 1)]);
    assert!(all.sending(first, 0).is_none() && all.sending_mut(first, 0).is_none());
    assert!(all.sending(first, 2).is_some() && all.sending_mut(first, 2).is_some());
    all[second].rx.complete = 3;
    assert_eq!(ages(&mut all), [(2, 0), (1, 3)]);
    let third = all.add(ConnId(9), PEER, true, Lifetime::Exchange);
    assert_eq!((all[third].order, all.age_sending(third)), (4, 4));
}
