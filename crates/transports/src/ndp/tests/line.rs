//! What a host's line takes, packet by packet.

use super::curves::alone;
use crate::ndp::header::{Data, Kind, Nack, Pull};
use crate::ndp::*;
use model::{Class, ConnId, Lifetime};
use testkit::{A, B};

/// Which message each packet is of that a line takes: two of six frames, of which a pull releases two more of the second when
/// three have left.
fn order(text: &str) -> String {
    let mut bench = alone(&format!("window = 4\n{text}"));
    for conn in 0..2 {
        bench.call(|host, cx| {
            host.connect(cx, ConnId(conn), B, Lifetime::OneMessage);
            host.send(cx, ConnId(conn), 6 * 1460);
        });
    }
    let mut taken = String::new();
    while let Some(packet) = bench.poll() {
        assert_eq!(Kind::of(&packet), Some(Kind::Data));
        taken += ["a", "b"][packet.conn.0 as usize];
        if taken.len() == 3 {
            let pull = Pull {
                upto: 0,
                pull: 2,
                way: 0,
            };
            bench.hear(&pull.packet(A, ConnId(1), Encap::PAPER.wire(0)));
        }
    }
    taken
}

#[test]
fn messages_take_turns_on_the_line_or_packets_leave_as_they_were_released() {
    insta::assert_snapshot!(order(""), @"ababababbb");
    insta::assert_snapshot!(order("order = \"released\""), @"aaaabbbbbb");
}

/// Two messages have released four frames each. When three have left, the second is trimmed and pulled again.
#[test]
fn what_leaves_again_goes_before_all_that_was_released() {
    let mut bench = alone("window = 4\norder = \"released\"");
    for conn in 0..2 {
        bench.call(|host, cx| {
            host.connect(cx, ConnId(conn), B, Lifetime::OneMessage);
            host.send(cx, ConnId(conn), 6 * 1460);
        });
    }
    let mut taken = Vec::new();
    while let Some(packet) = bench.poll() {
        let frame = Data::read(&packet).offset / 1460;
        taken.push(format!("{}{frame}", ["a", "b"][packet.conn.0 as usize]));
        if taken.len() == 3 {
            let nack = Nack {
                at: 1460,
                pull: 1,
                way: 0,
            };
            let mut packet = nack.packet(A, ConnId(0), Encap::PAPER.wire(0));
            packet.set_class(Class::Credit);
            bench.hear(&packet);
        }
    }
    insta::assert_snapshot!(taken.join(" "), @"a0 a1 a2 a1 a3 b0 b1 b2 b3");
}
