//! The pace of pulls as a curve.

use super::params;
use crate::ndp::header::Data;
use crate::ndp::host::Host;
use crate::ndp::*;
use model::{Class, ConnId, Lifetime};
use testkit::{A, Alone};
use units::{LineTime, Span, Time};

pub(super) fn alone(text: &str) -> Alone<Host> {
    let config = EndpointConfig::new(A, Rate::gbps(10), Encap::PAPER)
        .with(|told| told.base_rtt = Span::us(12));
    Alone::new(Host::new(&params(text), &config))
}

/// Pulls that leave in each frame time of the line, of which `arrivals` says how many frames of a long message come in it.
fn curve(text: &str, arrivals: &[u64]) -> String {
    const STEPS: u64 = 120;
    let mut bench = alone(text);
    let frame = LineTime::new(Rate::gbps(10)).of(Encap::PAPER.wire_max().into());
    let mut offset = 0;
    let pulls = arrivals.iter().enumerate().map(|(time, &frames)| {
        let mut pulls = 0;
        for step in 0..STEPS {
            bench.now = Time(frame.0 * time as u64 + frame.0 * step / STEPS);
            if frames > 0 && step % (STEPS / frames) == 0 {
                let data = Data {
                    offset,
                    length: 1460,
                    pull: 0,
                    way: 0,
                    lifetime: Lifetime::OneMessage,
                    answer: false,
                    end: false,
                };
                bench.hear(&data.packet(A, ConnId(0), Encap::PAPER.wire_max()));
                offset += 1460;
            }
            if bench.host.deadline() <= bench.now {
                bench.call(Endpoint::on_deadline);
            }
            while let Some(packet) = bench.poll() {
                pulls += u64::from(packet.class() == Class::Credit);
            }
        }
        format!("{pulls} ")
    });
    pulls.collect()
}

#[test]
fn pulls_leave_at_the_pace_of_the_line_for_as_many_frames_as_came() {
    insta::assert_snapshot!(curve("", &[4, 4, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]), @"1 1 1 1 1 1 1 1 1 1 1 1 0 0 0");
    insta::assert_snapshot!(curve("", &[1, 0, 1, 1, 3, 0, 0, 1, 0, 2, 0, 0, 1, 0]), @"1 0 1 1 1 1 1 1 0 1 1 0 1 0");
}

#[test]
fn a_part_of_the_line_is_a_slower_pace() {
    insta::assert_snapshot!(curve("pull_rate = 0.5", &[4, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]), @"1 0 1 0 1 0 1 0 1 0 1 0 1 0 1 0 0 0");
}
