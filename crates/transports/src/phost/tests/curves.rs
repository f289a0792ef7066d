//! Tokens as curves: how many are unused at a receiver, and how many wait at a sender.

use super::params;
use crate::phost::header::{Data, Kind, Rts, Token};
use crate::phost::host::Host;
use crate::phost::*;
use model::{Class, ConnId, Lifetime};
use std::collections::VecDeque;
use std::fmt::Write as _;
use testkit::{A, Alone, B};
use units::{Span, Time};

/// Frame times until the data of a token is there.
const ROUND: usize = 6;

fn alone(text: &str) -> Alone<Host> {
    let config = EndpointConfig::new(A, Rate::gbps(10), Encap::PAPER)
        .with(|told| told.base_rtt = Span::us(6));
    Alone::new(Host::new(&params(text), &config))
}

/// Unused tokens of each message of 400 frames, in steps of three frame times. `answers` says whether the sender of a message
/// uses what is given in this step.
fn curve(text: &str, messages: u32, steps: usize, answers: impl Fn(u32, usize) -> bool) -> String {
    let mut bench = alone(text);
    let gap = bench.host.settings.gap;
    for conn in 0..messages {
        let rts = Rts {
            at: 400 * 1460,
            ordinal: 0,
            known: false,
            frame: 1460,
            free: 0,
            lifetime: Lifetime::OneMessage,
            answer: false,
            cut: false,
        };
        bench.hear(&rts.packet(A, ConnId(conn), Encap::PAPER.wire(0)));
    }
    let mut coming = VecDeque::from([None; ROUND]);
    let mut text = String::new();
    for time in 0..3 * steps {
        bench.now = Time(gap.0 * time as u64);
        if bench.host.deadline() <= bench.now {
            bench.call(Endpoint::on_deadline);
        }
        let mut given = None;
        while let Some(packet) = bench.poll() {
            if Kind::of(&packet) == Some(Kind::Token) {
                let used = answers(packet.conn.0, time / 3);
                given = used.then(|| (packet.conn, Token::read(&packet)));
            }
        }
        coming.push_back(given);
        if let Some((conn, token)) = coming.pop_front().flatten() {
            let data = Data {
                offset: token.offset,
                length: 1460,
                token: token.number,
                ordinal: 0,
                lifetime: Lifetime::OneMessage,
                answer: false,
                end: token.offset == 399 * 1460,
            };
            let mut packet = data.packet(A, conn, Encap::PAPER.wire_max());
            packet.set_class(Class::Scheduled);
            bench.hear(&packet);
        }
        if time % 3 == 2 {
            for conn in 0..messages {
                let slot = bench.host.conns.find(ConnId(conn)).unwrap();
                let unused = bench.host.conns[slot].rx.message.unused();
                let behind = if conn + 1 < messages { "/" } else { " " };
                write!(text, "{unused}{behind}").unwrap();
            }
        }
    }
    text
}

#[test]
fn a_sender_that_is_there_leaves_a_round_trip_of_tokens_unused() {
    insta::assert_snapshot!(curve("window = 10", 1, 12, |_, _| true), @"3 6 6 6 6 6 6 6 6 6 6 6");
}

#[test]
fn a_silent_sender_has_a_window_which_is_forgiven_at_longer_and_longer_intervals() {
    insta::assert_snapshot!(curve("window = 8\nrelax = 9", 1, 60, |_, _| false), @"3 6 8 8 8 2 5 8 8 8 1 4 7 8 8 8 3 6 8 8 8 2 5 8 8 8 1 4 7 8 8 8 8 8 8 3 6 8 8 8 8 8 8 8 8 8 8 8 8 2 5 8 8 8 8 8 8 8 8 8");
}

/// The first message is the older one, so it goes first until its window is full. When that is forgiven the second one has less to
/// come, and goes first.
#[test]
fn others_have_the_tokens_that_a_silent_sender_does_not_get() {
    let silent = |conn: u32, step: usize| conn == 1 || !(4..14).contains(&step);
    insta::assert_snapshot!(curve("window = 8\nrelax = 25", 2, 24, silent), @"3/0 6/0 6/0 6/0 6/0 6/0 8/1 8/4 8/6 8/6 8/6 8/6 8/6 8/6 8/6 0/6 0/6 0/6 0/6 0/6 0/6 0/6 0/6 0/6");
}

/// Tokens that wait at a sender whose line takes one frame a frame time, after each: `given` says how many come in it.
fn waiting(text: &str, given: &[u16]) -> String {
    let mut bench = alone(&format!("free = 0\n{text}"));
    let gap = bench.host.settings.gap;
    bench.call(|host, cx| {
        host.connect(cx, ConnId(0), B, Lifetime::OneMessage);
        host.send(cx, ConnId(0), 400 * 1460);
    });
    bench.poll().expect("RTS");
    let mut number = 0;
    let waiting = given.iter().enumerate().map(|(time, &tokens)| {
        bench.now = Time(gap.0 * time as u64);
        for _ in 0..tokens {
            number += 1;
            let token = Token {
                offset: u64::from(number - 1) * 1460,
                number,
                life: bench.host.settings.life,
            };
            bench.hear(&token.packet(A, ConnId(0), Encap::PAPER.wire(0)));
        }
        let sent = u32::from(bench.poll().is_some());
        let slot = bench.host.conns.find(ConnId(0)).unwrap();
        format!("{sent}+{} ", bench.host.conns[slot].tx.held())
    });
    waiting.collect()
}

#[test]
fn tokens_that_find_the_line_taken_run_out_when_their_life_ends() {
    insta::assert_snapshot!(waiting("", &[1, 4, 0, 0, 3, 3, 0, 0, 0, 1]), @"1+0 1+3 1+2 0+0 1+2 1+4 1+2 0+0 0+0 1+0");
    insta::assert_snapshot!(waiting("token_life = 3.5", &[1, 6, 0, 0, 0, 0, 3, 3, 0, 0, 0, 0]), @"1+0 1+5 1+4 1+3 1+2 0+0 1+2 1+4 1+3 1+2 1+1 0+0");
}
