//! The driver's own packets, at both ends: greeting, proving, refusing.

use super::Core;
use crate::config::News;
use crate::cookie::{Greeting, Own, Reason};
use crate::peers::{Look, Standing};
use model::{Event, HostId};
use std::net::SocketAddrV4;
use units::{Span, Time};

/// A peer that does not know us is greeted again, but no more often than this. [ours]
const REGREET: Span = Span::ms(1);

impl Core {
    /// One of the driver's own packets.
    pub(super) fn take_own(&mut self, own: Own, from: SocketAddrV4) {
        match own {
            // Names are compared before the address is proven: the answer is the shorter.
            Own::Hello(hello) if hello.transport != self.name => {
                self.refuse(Reason::Transport, &hello, from);
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
            }
            Own::Hello(hello) => self.welcome(&hello, from),
            Own::Cookie(answer) => self.take_cookie(&answer, from),
            Own::Unknown { tag } => self.regreet(tag, from),
            Own::Refused {
                reason,
                conn,
                proof,
            } => self.take_refusal(reason, conn, proof, from),
        }
    }

    fn refuse(&mut self, reason: Reason, hello: &Greeting, from: SocketAddrV4) {
        self.stats.refused += 1;
        self.say(
            Own::Refused {
                reason,
                conn: 0,
                proof: hello.nonce,
            },
            from,
        );
    }

    /// A greeting with its cookie: the peer is who its address says.
    fn welcome(&mut self, hello: &Greeting, from: SocketAddrV4) {
        let mut known = self.peers.find(from);
        if let Some(host) = known
            && let Standing::Proven { incarnation } = self.peers.get(host).standing
            && incarnation != hello.incarnation
        {
            self.lose(host, News::PeerLost(from));
            known = None;
        }
        let host = match known.map_or_else(|| self.add_peer(from, false), Ok) {
            Ok(host) => host,
            Err(reason) => return self.refuse(reason, hello, from),
        };
        self.peers.get_mut(host).learn_here(hello.cookie);
        self.prove(host, hello.incarnation);
    }

    /// A place for a peer of which only the address is known, `ours` if the application names it.
    pub(super) fn add_peer(&mut self, addr: SocketAddrV4, ours: bool) -> Result<HostId, Reason> {
        let first = u32::try_from(self.baker.nonce() >> 32).expect("the upper half");
        let (host, forget) = self.peers.add(addr, self.now, first, ours)?;
        self.forget(forget);
        Ok(host)
    }

    /// The peer is gone, and all that is kept of it with it.
    fn lose(&mut self, host: HostId, news: News) {
        let open = self.peers.get(host).open().iter();
        let over = open.map(|&conn| News::Transport(Event::Forgotten { conn }));
        self.news.extend(over);
        self.news.push(news);
        let forget = self.peers.lose(host);
        self.forget(forget);
    }

    /// The answer to a greeting of ours.
    fn take_cookie(&mut self, answer: &Greeting, from: SocketAddrV4) {
        let known = self.peers.find(from);
        let asked = |&host: &HostId| self.peers.get(host).nonce() == Some(answer.nonce);
        let Some(host) = known.filter(asked) else {
            self.stats.unasked += 1;
            return;
        };
        self.peers.get_mut(host).answered();
        if let Standing::Proven { incarnation } = self.peers.get(host).standing
            && incarnation != answer.incarnation
        {
            return self.lose(host, News::PeerLost(from));
        }
        self.peers.get_mut(host).learn_there(answer.cookie);
        self.hello(host, answer.nonce, answer.cookie);
        self.prove(host, answer.incarnation);
    }

    /// The peer reads what is sent to its address: sends what waited for that.
    fn prove(&mut self, host: HostId, incarnation: u32) {
        let parked = self.peers.prove(host, incarnation, self.now);
        self.say_parked(parked);
    }

    /// Greets a peer, and goes on until it answers or is given up.
    pub(super) fn greet(&mut self, host: HostId, now: Time) {
        let nonce = self.baker.nonce();
        self.peers.greet(host, now, nonce);
        self.hello(host, nonce, 0);
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
        if self.is_proven(host) && self.may_greet(host, REGREET) {
            self.greet(host, self.now);
        }
    }

    /// Somebody refuses what we asked for, and proves that they saw us ask.
    fn take_refusal(&mut self, reason: Reason, conn: u32, proof: u64, from: SocketAddrV4) {
        let asked = |&host: &HostId| {
            let peer = self.peers.get(host);
            match reason {
                Reason::Connections => peer.shares(proof),
                Reason::Peers | Reason::Transport => peer.nonce() == Some(proof),
            }
        };
        let Some(host) = self.peers.find(from).filter(asked) else {
            self.stats.unasked += 1;
            return;
        };
        let refused = |conn| News::Refused {
            peer: from,
            conn,
            reason,
        };
        match reason {
            Reason::Connections => match self.peers.refused(host, conn) {
                Some(conn) => self.news.push(refused(Some(conn))),
                None => self.stats.unasked += 1,
            },
            Reason::Transport => self.lose(host, refused(None)),
            Reason::Peers => self.news.push(refused(None)),
        }
    }

    /// Greets again who has not answered, and who has been silent for long; gives up who never
    /// answers.
    pub(super) fn look(&mut self, now: Time) {
        let mut due = Vec::new();
        self.peers.look(now, |host, act| due.push((host, act)));
        for (host, act) in due {
            match act {
                Look::Again(nonce) => self.hello(host, nonce, 0),
                Look::Silent => self.greet(host, now),
                Look::Gone => {
                    let addr = self.peers.get(host).addr;
                    self.lose(host, News::Unreachable(addr));
                }
            }
        }
        self.settle_quietly();
    }

    fn hello(&mut self, host: HostId, nonce: u64, cookie: u64) {
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
}
