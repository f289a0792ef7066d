//! One host, and packets from whoever tells it something.

use super::params;
use crate::homa::header::{Data, Grant};
use crate::homa::host::Host;
use crate::homa::sender::{Sender, Silence};
use crate::homa::settings::Settings;
use crate::homa::*;
use model::{ConnId, Lifetime};
use testkit::{A, Alone};
use units::{Span, Time};

fn alone(text: &str) -> Alone<Host> {
    Alone::new(Host::new(&params(text), &config()))
}

/// `length` bytes of a message come, with `left` to go before them.
fn data(bench: &mut Alone<Host>, conn: u32, offset: u64, length: u16, left: u32) {
    let data = Data {
        offset,
        length,
        left,
        ordinal: 0,
        lifetime: Lifetime::OneMessage,
        cut: false,
        answer: false,
    };
    bench.hear(&data.packet(A, ConnId(conn), Encap::PAPER.wire(length)));
}

fn config() -> EndpointConfig {
    EndpointConfig::new(A, Rate::gbps(10), Encap::PAPER).with(|told| told.base_rtt = Span::us(12))
}

#[test]
fn messages_that_are_over_are_not_kept_behind_an_old_one_that_is_not() {
    let mut bench = alone("unscheduled = \"1460B\"");
    data(&mut bench, 0, 0, 1460, 100_000_000);
    for conn in 1..=2_000 {
        data(&mut bench, conn, 0, 1460, 2_000);
        data(&mut bench, conn, 1460, 540, 540);
    }
    assert!(bench.host.oldest.len() <= 66, "{}", bench.host.oldest.len());
}

#[test]
fn what_is_told_to_be_forgotten_is_not_kept() {
    let mut bench = alone("");
    for conn in 0..2_000 {
        data(&mut bench, conn, 0, 100, 100);
        if conn >= 10 {
            bench.call(|host, cx| host.forget(cx, ConnId(conn)));
        }
    }
    let (kept, known) = bench.host.conns.remembered();
    assert!(kept <= 64 && known == 10, "{kept} and {known}");
    // Those that nobody told it to forget are forgotten in time.
    bench.now = bench.host.deadline();
    assert_eq!(bench.now, Time::ZERO.after(Span::ms(25_000)));
    bench.events.clear();
    bench.call(Endpoint::on_deadline);
    assert_eq!(bench.events.len(), 10);
}

/// A silent message goes behind the others and keeps its claim.
#[test]
fn the_oldest_that_is_silent_is_passed_over_and_not_dropped() {
    let mut bench = alone("unscheduled = \"1460B\"\novercommitment = 1");
    for conn in [1, 2] {
        data(&mut bench, conn, 0, 1460, 10_000_000);
    }
    let slot = bench.host.conns.find(ConnId(1)).unwrap();
    bench.host.conns[slot].rx.tries = 1;
    bench.host.rank(slot);
    for _ in 0..2 {
        bench.now = bench.now.after(Span::ms(10));
        let now = bench.now;
        bench.call(|host, _| host.grant_oldest(now));
    }
    assert_eq!(
        (bench.host.counts.oldest_grants, bench.host.oldest.len()),
        (2, 2)
    );
}

/// The answer of a near peer to a question comes in less than the longest round trip.
#[test]
fn a_question_is_no_data_that_may_be_on_its_way() {
    let settings = Settings::new(&params("unscheduled = \"1460B\""), &config());
    let mut sender = Sender::default();
    assert!(sender.push(Time::ZERO, 10_000, &settings));
    sender.take(Time::ZERO, &settings);
    let grant = Grant {
        from: 1460,
        upto: 2920,
        priority: 7,
    };
    assert!(sender.on_grant(Time::ZERO, grant, &settings));
    let left = Time(1_000_000);
    sender.take(left, &settings);
    assert!(
        !sender.restart(left.after(Span::us(5)), &settings),
        "data may be on its way"
    );
    let asked = sender.due(&settings);
    assert_eq!(sender.on_silence(asked, &settings), Silence::Ask);
    assert!(sender.restart(asked.after(Span::us(5)), &settings));
}
