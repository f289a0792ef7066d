//! The driver's own packets, at both ends: greeting, proving, refusing.

use super::{BELOW, Driver, FRAME_MIN};
use crate::buffers::Source;
use crate::config::{DriveError, News};
use crate::cookie::{Greeting, Own, Reason};
use crate::peers::{Greet, Standing};
use model::HostId;
use std::net::SocketAddrV4;
use units::Span;

/// A peer that does not know us is greeted again, but no more often than this. [ours]
const REGREET: Span = Span::ms(1);
impl Driver {
    /// One of the driver's own packets.
    pub(super) fn take_own(
        &mut self,
        own: Own,
        from: SocketAddrV4,
        source: &mut dyn Source,
    ) -> Result<(), DriveError> {
        match own {
            // Names are compared before the address is proven: the answer is the shorter.
            Own::Hello(hello) if hello.transport != self.name => {
                self.stats.refused += 1;
                let reason = Reason::Transport;
                self.say(
                    Own::Refused {
                        reason,
                        conn: 0,
                        proof: hello.nonce,
                    },
                    from,
                );
                Ok(())
            }
            Own::Hello(hello) if !self.baker.knows(self.now, from, &hello) => {
                let cookie = self.baker.bake(self.now, from, &hello);
                let (incarnation, transport) = (self.incarnation, self.name);
                self.say(
                    Own::Cookie(Greeting {
                        incarnation,
                        cookie,
                        transport,
                        ..hello
                    }),
                    from,
                );
                Ok(())
            }
            Own::Hello(hello) => self.welcome(&hello, from, source),
            Own::Cookie(answer) => self.take_cookie(&answer, from, source),
            Own::Unknown { tag } => {
                self.regreet(tag, from);
                Ok(())
            }
            Own::Refused {
                reason,
                conn,
                proof,
            } => {
                self.take_refusal(reason, conn, proof, from);
                Ok(())
            }
        }
    }

    /// A greeting with its cookie: the peer is who its address says.
    fn welcome(
        &mut self,
        hello: &Greeting,
        from: SocketAddrV4,
        source: &mut dyn Source,
    ) -> Result<(), DriveError> {
        let mut known = self.peers.find(from);
        if let Some(host) = known
            && let Standing::Proven { incarnation } = self.peers.get(host).standing
            && incarnation != hello.incarnation
        {
            self.peers.lose(host);
            self.news.push(News::PeerLost(from));
            known = None;
        }
        let host = match known.map_or_else(|| self.add_peer(from), Ok) {
            Ok(host) => host,
            Err(reason) => {
                self.stats.refused += 1;
                self.say(
                    Own::Refused {
                        reason,
                        conn: 0,
                        proof: hello.nonce,
                    },
                    from,
                );
                return Ok(());
            }
        };
        self.peers.get_mut(host).learn_here(hello.cookie);
        self.prove(host, hello.incarnation, source)
    }

    /// A place for a peer of which only the address is known.
    pub(super) fn add_peer(&mut self, addr: SocketAddrV4) -> Result<HostId, Reason> {
        let first = u32::try_from(self.baker.nonce() >> 32).expect("the upper half");
        self.peers.add(addr, self.now, first)
    }

    /// The answer to a greeting of ours.
    fn take_cookie(
        &mut self,
        answer: &Greeting,
        from: SocketAddrV4,
        source: &mut dyn Source,
    ) -> Result<(), DriveError> {
        let known = self.peers.find(from);
        let asked = |&host: &HostId| self.peers.get(host).nonce == Some(answer.nonce);
        let Some(host) = known.filter(asked) else {
            self.stats.unasked += 1;
            return Ok(());
        };
        self.peers.get_mut(host).nonce = None;
        if let Standing::Proven { incarnation } = self.peers.get(host).standing
            && incarnation != answer.incarnation
        {
            self.peers.lose(host);
            self.news.push(News::PeerLost(from));
            return Ok(());
        }
        self.peers.get_mut(host).learn_there(answer.cookie);
        self.hello(host, answer.nonce, answer.cookie);
        self.prove(host, answer.incarnation, source)
    }

    /// The peer reads what is sent to its address: sends what waited for that.
    fn prove(
        &mut self,
        host: HostId,
        incarnation: u32,
        source: &mut dyn Source,
    ) -> Result<(), DriveError> {
        for packet in self.peers.prove(host, incarnation, self.now) {
            if self.has_room()? {
                // The line was busy for it when the transport handed it out.
                self.write(&packet, source)?;
            } else {
                self.stats.unsendable += 1;
            }
        }
        Ok(())
    }

    /// A peer that we know does not know us: it forgot, or our greeting was lost. Only who saw a
    /// packet of ours can say so.
    fn regreet(&mut self, tag: u32, from: SocketAddrV4) {
        let ours = |host: &HostId| {
            let secret = self.peers.get(*host).secret();
            secret.is_some_and(|secret| secret.tag_out == tag)
        };
        let Some(host) = self.peers.find(from).filter(ours) else {
            self.stats.unasked += 1;
            return;
        };
        let nonce = self.baker.nonce();
        let peer = self.peers.get_mut(host);
        let proven = matches!(peer.standing, Standing::Proven { .. });
        if proven && self.now >= peer.greeted_at.after(REGREET) {
            (peer.nonce, peer.greeted_at) = (Some(nonce), self.now);
            self.hello(host, nonce, 0);
        }
    }

    /// Somebody refuses what we asked for, and proves that they saw us ask.
    fn take_refusal(&mut self, reason: Reason, conn: u32, proof: u64, from: SocketAddrV4) {
        let asked = |&host: &HostId| {
            let peer = self.peers.get(host);
            match reason {
                Reason::Connections => peer.shares(proof),
                Reason::Peers | Reason::Transport => peer.nonce == Some(proof),
            }
        };
        let Some(host) = self.peers.find(from).filter(asked) else {
            self.stats.unasked += 1;
            return;
        };
        let conn = match reason {
            Reason::Connections => {
                let Some(conn) = self.peers.refused(host, conn) else {
                    self.stats.nonsense += 1;
                    return;
                };
                Some(conn)
            }
            Reason::Transport => {
                self.peers.lose(host);
                None
            }
            Reason::Peers => None,
        };
        self.news.push(News::Refused {
            peer: from,
            conn,
            reason,
        });
    }

    /// Greets those again who have not answered.
    pub(super) fn greet_again(&mut self) {
        let mut due = Vec::new();
        self.peers
            .greetings(self.clock.now(), |host, act| due.push((host, act)));
        for (host, act) in due {
            match act {
                Greet::Again => {
                    if let Some(nonce) = self.peers.get(host).nonce {
                        self.hello(host, nonce, 0);
                    }
                }
                Greet::GiveUp => {
                    let addr = self.peers.get(host).addr;
                    self.peers.lose(host);
                    self.news.push(News::Unreachable(addr));
                }
            }
        }
    }

    pub(super) fn hello(&mut self, host: HostId, nonce: u64, cookie: u64) {
        let to = self.peers.get(host).addr;
        let (incarnation, transport) = (self.incarnation, self.name);
        self.say(
            Own::Hello(Greeting {
                incarnation,
                nonce,
                cookie,
                transport,
            }),
            to,
        );
    }

    /// Sends one of the driver's own packets, or loses it where the batch is full: each of them is
    /// either repeated or asked for again.
    pub(super) fn say(&mut self, own: Own, to: SocketAddrV4) {
        if self.tx.room() == 0 {
            return;
        }
        let frame = self.tx.push();
        frame.len = own.encode(&mut frame.bytes);
        (frame.to, frame.tos) = (to, self.dscp[model::Class::Control as usize] << 2);
        let wire = (frame.len as u64 + BELOW).max(FRAME_MIN);
        self.line_free = self.line_free.max(self.now) + self.line.of(wire);
    }
}
