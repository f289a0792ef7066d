//! What leaves of a burst, of what the receiver has nothing of, and of what is paused.

use super::*;

/// A host that has `length` bytes to send on each of so many connections.
fn with(params: &Params, connections: u32, length: u64) -> Alone {
    let mut host = Alone::with(A, params);
    for conn in (0..connections).map(ConnId) {
        host.step(|endpoint, cx| {
            endpoint.connect(cx, conn, B, Lifetime::OneMessage);
            endpoint.send(cx, conn, length);
        });
    }
    host
}

fn count(said: &[String], what: &str) -> usize {
    said.iter().filter(|text| text.starts_with(what)).count()
}

#[test]
fn a_burst_of_which_nothing_came_leaves_again_once() {
    let params = Params::default().with(FirstRtt::Aeolus);
    let mut host = with(&params, 1, 5 * 1460);
    assert_eq!(count(&host.after(Span::us(1)), "DATA"), 5);
    host.hear(frames::credit(A, ConnId(0), 1, 84));
    host.after(Span::us(1));
    host.hear(frames::nack(A, ConnId(0), 0, 0, 84));
    for credit in 2..=9 {
        host.hear(frames::credit(A, ConnId(0), credit, 84));
    }
    assert_eq!(count(&host.after(Span::us(1)), "DATA"), 5);
}

#[test]
fn a_burst_that_a_credit_ends_has_a_last_probe_though_one_has_just_asked() {
    let text = "probe_every = 2".parse().unwrap();
    let params = AEOLUS.read(&text).unwrap();
    let mut host = with(&params, 1, 100_000);
    let mut out = Packet::EMPTY;
    // The request and two frames, behind which a probe waits.
    for _ in 0..3 {
        host.step(|endpoint, cx| endpoint.poll_transmit(cx, &mut out));
    }
    host.hear(frames::credit(A, ConnId(0), 1, 84));
    assert_eq!(count(&host.say(host.now), "PROBE"), 2);
}

#[test]
fn as_much_of_paused_connections_is_set_aside_as_a_line_holds_and_no_more() {
    let mut host = with(&Params::default(), 2, 100_000_000);
    host.say(host.now);
    let mut waits = |conn, frames| {
        for credit in 1..=frames {
            host.hear(frames::credit(A, ConnId(conn), credit, 84));
        }
        host.heed(Signal::PauseFlow(ConnId(conn)));
        assert_eq!(host.say(host.now), Vec::<String>::new());
        let mut lost = None;
        host.endpoint.counters(&mut |counter, value| {
            lost = lost.or((counter.name == "line_lost").then_some(value));
        });
        lost
    };
    let most = u32::try_from(FIFO_MAX).unwrap();
    assert_eq!([waits(0, most), waits(1, 3)], [Some(0), Some(3)]);
}

/// A pause turns the line's simple way off, and its end turns it on again only where nothing else needs the other one.
#[test]
fn packets_that_leave_after_a_pause_are_ecn_capable_as_before() {
    let params = Params {
        drop_by: DropBy::Ecn,
        ..Params::default().with(FirstRtt::Aeolus)
    };
    let mut host = with(&params, 1, 1_000_000);
    let conn = ConnId(0);
    let left = |host: &mut Alone| {
        let (mut left, mut out) = (Vec::new(), Packet::EMPTY);
        while host.step(|endpoint, cx| endpoint.poll_transmit(cx, &mut out)) != Transmit::Nothing {
            left.push((out.class(), out.ecn() == model::Ecn::Capable0));
        }
        left
    };
    let first = left(&mut host);
    assert!(
        first.contains(&(Class::Control, true)) && first.contains(&(Class::Unscheduled, false))
    );
    host.heed(Signal::PauseFlow(ConnId(9)));
    host.heed(Signal::ResumeFlow(ConnId(9)));
    host.hear(frames::credit(A, conn, 1, 84));
    assert_eq!(left(&mut host), [(Class::Scheduled, true)]);
}

#[test]
fn credits_beyond_those_that_may_wait_for_a_slow_host_are_wasted() {
    let params = Params {
        host_delay: HostDelay::Constant(Span::ms(1)),
        ..Params::default()
    };
    let mut host = Alone::with(A, &params);
    let most = u32::try_from(DELAYED_MAX).unwrap();
    for sequence in 0..most {
        host.hear(frames::credit(A, CONN, sequence, 84));
    }
    let wasted = |host: &Alone| host.endpoint.totals().credits_wasted;
    assert_eq!(wasted(&host), 0);
    host.hear(frames::credit(A, CONN, most, 84));
    assert_eq!(wasted(&host), 1);
}
