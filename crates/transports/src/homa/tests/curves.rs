//! The window of profile `linux` as curves: what messages have granted and not received while others come and go.

use super::alone::{alone, data};
use crate::homa::host::Host;
use model::ConnId;
use testkit::Alone;

/// Payload of a full frame.
const FRAME: u64 = 1460;
/// Bytes of every message: more than any curve delivers.
const LENGTH: u32 = 100_000_000;

/// A receiver, and how far each message has come.
struct Receiver {
    bench: Alone<Host>,
    upto: Vec<u64>,
}

impl Receiver {
    fn new(text: &str) -> Self {
        Self {
            bench: alone(text),
            upto: Vec::new(),
        }
    }

    /// The next frame of a message comes; one behind the last begins.
    fn frame(&mut self, conn: usize) {
        if conn == self.upto.len() {
            self.upto.push(0);
        }
        let at = self.upto[conn];
        let left = LENGTH - u32::try_from(at).unwrap();
        data(
            &mut self.bench,
            u32::try_from(conn).unwrap(),
            at,
            1460,
            left,
        );
        self.upto[conn] += FRAME;
        while self.bench.poll().is_some() {}
    }

    /// What a message has granted and not received, in whole kilobytes.
    fn window(&self, conn: usize) -> u64 {
        let id = ConnId(u32::try_from(conn).unwrap());
        let slot = self.bench.host.conns.find(id);
        slot.map_or(0, |slot| self.bench.host.conns[slot].rx.on_the_way() / 1000)
    }

    /// Every message is forgotten but those before `kept`.
    fn keep(&mut self, kept: usize) {
        while self.upto.len() > kept {
            self.upto.pop();
            let id = ConnId(u32::try_from(self.upto.len()).unwrap());
            self.bench
                .call(|host, cx| model::Endpoint::forget(host, cx, id));
        }
        while self.bench.poll().is_some() {}
    }

    /// So many frames of each message that has any granted.
    fn round(&mut self, frames: u32) {
        for conn in 0..self.upto.len() {
            for _ in 0..frames {
                if self.window(conn) * 1000 >= FRAME {
                    self.frame(conn);
                }
            }
        }
    }
}

/// The window of the first message, and all that is on the way, in kilobytes after each of `rounds`, in which 20 frames of
/// each message come; `of` says how many messages there are.
fn curve(text: &str, of: &[usize]) -> String {
    let mut receiver = Receiver::new(text);
    let rounds = of.iter().map(|&all| {
        receiver.keep(all);
        while receiver.upto.len() < all {
            receiver.frame(receiver.upto.len());
        }
        receiver.round(20);
        let sum: u64 = (0..all).map(|conn| receiver.window(conn)).sum();
        format!("{}/{sum} ", receiver.window(0))
    });
    rounds.collect()
}

#[test]
fn windows_shrink_as_frames_come_and_grow_at_once_where_others_end() {
    insta::assert_snapshot!(
        curve("fifo_share = 0.0", &[1, 1, 2, 2, 2, 4, 4, 4, 4, 4, 4, 2, 2, 1, 1]),
        @"200/200 200/200 170/303 141/274 133/266 104/368 80/320 80/320 80/320 80/320 80/320 133/266 133/266 200/200 200/200"
    );
}
