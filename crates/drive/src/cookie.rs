//! The driver's own packets: who is there, and does it own the address it writes from?
//!
//! ```text
//! opener                              acceptor
//!   HELLO nonce, no cookie     ->                     keeps nothing
//!                              <-     COOKIE          as long as the HELLO
//!   HELLO nonce, cookie        ->                     knows the peer from here on
//!   first packets              ->
//! ```
//! Both ends derive a tag per direction from the cookie, and every packet of a transport carries the
//! one of its direction. On a packet from an unknown address, or with another tag, an end answers
//! UNKNOWN with the packet's own tag, and the sender greets again. The first
//! byte's high nibble is 15, which is no version of the transports' header, so that these packets
//! stay the same under every version.
//!
//! No answer changes anything unless it repeats what only a reader of our packets knows: COOKIE and
//! most refusals the nonce of a greeting that waits for its answer, UNKNOWN the tag that we send,
//! the refusal of a connection the cookie that opened it.

use std::net::SocketAddrV4;
use units::{Span, Time};

/// First nibble of the driver's own packets; the transports' codecs have their version there.
const OWN: u8 = 0xf0;
const HELLO: u8 = OWN | 1;
const COOKIE: u8 = OWN | 2;
const UNKNOWN: u8 = OWN | 3;
const REFUSED: u8 = OWN | 4;
/// Version of these packets.
const VERSION: u8 = 1;

/// Bytes of a HELLO and of the COOKIE that answers it: equal, so that nothing is amplified.
pub(crate) const GREETING_LEN: usize = 40;
/// Bytes of UNKNOWN, shorter than any transport's header.
pub(crate) const UNKNOWN_LEN: usize = 8;
/// Bytes of REFUSED, shorter than any transport packet that opens a connection.
pub(crate) const REFUSED_LEN: usize = 16;
/// Bytes of the transport's name in a greeting.
const NAME_LEN: usize = 16;
/// How long a cookie is good for, at least; at most twice as long. [ours]
const COOKIE_LIFE: Span = Span::ms(8_000);

/// The name of a transport, cut to what a greeting carries.
pub(crate) type Name = [u8; NAME_LEN];

pub(crate) fn name(of: &str) -> Name {
    let mut name = [0; NAME_LEN];
    let len = of.len().min(NAME_LEN);
    name[..len].copy_from_slice(&of.as_bytes()[..len]);
    name
}

/// One of the driver's own packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Own {
    Hello(Greeting),
    Cookie(Greeting),
    Unknown {
        /// Of the packet that it answers.
        tag: u32,
    },
    Refused {
        reason: Reason,
        /// Which connection; 0 where the peer as a whole is refused.
        conn: u32,
        /// The nonce of the greeting, or the cookie of the opening packet, that it answers: only who
        /// reads a peer's packets can refuse it.
        proof: u64,
    },
}

/// What HELLO and COOKIE say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Greeting {
    /// Which run of the sender's process this is.
    pub(crate) incarnation: u32,
    /// Chosen by the opener; the answer repeats it.
    pub(crate) nonce: u64,
    /// The acceptor's proof that the opener reads what is sent to its address; 0 in a first HELLO.
    pub(crate) cookie: u64,
    pub(crate) transport: Name,
}

/// Why a peer refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It has no room for another peer.
    Peers,
    /// It has no room for another connection.
    Connections,
    /// It speaks another transport.
    Transport,
}

impl std::fmt::Display for Reason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Peers => "it has no room for another peer",
            Self::Connections => "it has no room for another connection",
            Self::Transport => "it runs another transport",
        })
    }
}

/// Whether a datagram is one of the driver's own packets.
pub(crate) fn is_own(bytes: &[u8]) -> bool {
    bytes.first().is_some_and(|first| first & 0xf0 == OWN)
}

impl Own {
    /// Reads one; `None` for what makes no sense.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let (head, rest) = bytes.split_first_chunk::<4>()?;
        if head[1] != VERSION {
            return None;
        }
        match head[0] {
            HELLO => Greeting::decode(rest).map(Self::Hello),
            COOKIE => Greeting::decode(rest).map(Self::Cookie),
            UNKNOWN => {
                let tag = u32::from_be_bytes(rest.try_into().ok()?);
                Some(Self::Unknown { tag })
            }
            REFUSED => {
                let (conn, rest) = rest.split_first_chunk()?;
                let reason = match head[2] {
                    0 => Reason::Peers,
                    1 => Reason::Connections,
                    2 => Reason::Transport,
                    _ => return None,
                };
                let conn = u32::from_be_bytes(*conn);
                let proof = u64::from_be_bytes(rest.try_into().ok()?);
                Some(Self::Refused {
                    reason,
                    conn,
                    proof,
                })
            }
            _ => None,
        }
    }

    /// Writes it to the front of `out` and returns its length.
    pub(crate) fn encode(&self, out: &mut [u8]) -> usize {
        out[..4].copy_from_slice(&[OWN, VERSION, 0, 0]);
        match self {
            Self::Hello(greeting) => {
                out[0] = HELLO;
                greeting.encode(out)
            }
            Self::Cookie(greeting) => {
                out[0] = COOKIE;
                greeting.encode(out)
            }
            Self::Unknown { tag } => {
                out[0] = UNKNOWN;
                out[4..UNKNOWN_LEN].copy_from_slice(&tag.to_be_bytes());
                UNKNOWN_LEN
            }
            Self::Refused {
                reason,
                conn,
                proof,
            } => {
                out[0] = REFUSED;
                out[2] = match reason {
                    Reason::Peers => 0,
                    Reason::Connections => 1,
                    Reason::Transport => 2,
                };
                out[4..8].copy_from_slice(&conn.to_be_bytes());
                out[8..REFUSED_LEN].copy_from_slice(&proof.to_be_bytes());
                REFUSED_LEN
            }
        }
    }
}

impl Greeting {
    fn decode(rest: &[u8]) -> Option<Self> {
        let (incarnation, rest) = rest.split_first_chunk()?;
        let (nonce, rest) = rest.split_first_chunk()?;
        let (cookie, rest) = rest.split_first_chunk()?;
        Some(Self {
            incarnation: u32::from_be_bytes(*incarnation),
            nonce: u64::from_be_bytes(*nonce),
            cookie: u64::from_be_bytes(*cookie),
            transport: rest.try_into().ok()?,
        })
    }

    fn encode(&self, out: &mut [u8]) -> usize {
        out[4..8].copy_from_slice(&self.incarnation.to_be_bytes());
        out[8..16].copy_from_slice(&self.nonce.to_be_bytes());
        out[16..24].copy_from_slice(&self.cookie.to_be_bytes());
        out[24..GREETING_LEN].copy_from_slice(&self.transport);
        GREETING_LEN
    }
}

/// What two ends share once one of them has brought back the other's cookie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Secret {
    /// Opens connections, and refuses them.
    pub(crate) cookie: u64,
    /// On every packet that we send.
    pub(crate) tag_out: u32,
    /// On every packet that we get.
    pub(crate) tag_in: u32,
}

impl Secret {
    /// Of a cookie that we baked, or that was baked for us.
    pub(crate) fn new(cookie: u64, baked_here: bool) -> Self {
        let tag = |baker: bool| {
            let hash = siphash_2_4([cookie, u64::from(baker)], b"tag");
            u32::try_from(hash >> 32).expect("the upper half")
        };
        Self {
            cookie,
            tag_out: tag(baked_here),
            tag_in: tag(!baked_here),
        }
    }
}

/// Bakes and recognises cookies, without remembering any.
pub(crate) struct Baker {
    key: [u64; 2],
    nonces: u64,
}

impl Baker {
    pub(crate) fn new(key: [u64; 2]) -> Self {
        Self { key, nonces: 0 }
    }

    /// The cookie for a greeting that came from `from` at `now`. Never 0.
    pub(crate) fn bake(&self, now: Time, from: SocketAddrV4, greeting: &Greeting) -> u64 {
        self.of_period(now.0 / COOKIE_LIFE.0, from, greeting)
    }

    /// Whether the greeting brings back its cookie.
    pub(crate) fn knows(&self, now: Time, from: SocketAddrV4, greeting: &Greeting) -> bool {
        let period = now.0 / COOKIE_LIFE.0;
        greeting.cookie == self.of_period(period, from, greeting)
            || period > 0 && greeting.cookie == self.of_period(period - 1, from, greeting)
    }

    /// A number that no other host can guess.
    pub(crate) fn nonce(&mut self) -> u64 {
        self.nonces += 1;
        // Nine bytes, where a cookie hashes 26: the two never meet.
        let mut said = [b'n'; 9];
        said[1..].copy_from_slice(&self.nonces.to_be_bytes());
        siphash_2_4(self.key, &said)
    }

    fn of_period(&self, period: u64, from: SocketAddrV4, greeting: &Greeting) -> u64 {
        let mut said = [0; 26];
        said[..4].copy_from_slice(&from.ip().octets());
        said[4..6].copy_from_slice(&from.port().to_be_bytes());
        said[6..10].copy_from_slice(&greeting.incarnation.to_be_bytes());
        said[10..18].copy_from_slice(&greeting.nonce.to_be_bytes());
        said[18..26].copy_from_slice(&period.to_be_bytes());
        siphash_2_4(self.key, &said).max(1)
    }
}

/// SipHash-2-4, a keyed hash for short inputs. [Aumasson and Bernstein, INDOCRYPT 2012]
fn siphash_2_4(key: [u64; 2], data: &[u8]) -> u64 {
    let mut v = [
        key[0] ^ 0x736f_6d65_7073_6575,
        key[1] ^ 0x646f_7261_6e64_6f6d,
        key[0] ^ 0x6c79_6765_6e65_7261,
        key[1] ^ 0x7465_6462_7974_6573,
    ];
    let compress = |v: &mut [u64; 4], word: u64| {
        v[3] ^= word;
        sip_round(v);
        sip_round(v);
        v[0] ^= word;
    };
    let (words, rest) = data.as_chunks::<8>();
    for word in words {
        compress(&mut v, u64::from_le_bytes(*word));
    }
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    compress(&mut v, u64::from_le_bytes(last) | (data.len() as u64) << 56);
    v[2] ^= 0xff;
    for _ in 0..4 {
        sip_round(&mut v);
    }
    v[0] ^ v[1] ^ v[2] ^ v[3]
}

fn sip_round(v: &mut [u64; 4]) {
    v[0] = v[0].wrapping_add(v[1]);
    v[1] = v[1].rotate_left(13) ^ v[0];
    v[0] = v[0].rotate_left(32);
    v[2] = v[2].wrapping_add(v[3]);
    v[3] = v[3].rotate_left(16) ^ v[2];
    v[0] = v[0].wrapping_add(v[3]);
    v[3] = v[3].rotate_left(21) ^ v[0];
    v[2] = v[2].wrapping_add(v[1]);
    v[1] = v[1].rotate_left(17) ^ v[2];
    v[2] = v[2].rotate_left(32);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    #[test]
    fn siphash_gives_the_published_vector() {
        let key = [0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908];
        let input: Vec<u8> = (0..15).collect();
        // The example of the paper's appendix A.
        assert_eq!(siphash_2_4(key, &input), 0xa129_ca61_49be_45e5);
    }

    fn greeting() -> Greeting {
        Greeting {
            incarnation: 7,
            nonce: 99,
            cookie: 0,
            transport: name("expresspass"),
        }
    }

    #[test]
    fn every_packet_comes_back_and_no_prefix_does() {
        let all = [
            Own::Hello(greeting()),
            Own::Cookie(Greeting {
                cookie: u64::MAX,
                ..greeting()
            }),
            Own::Unknown { tag: 0xfeed },
            Own::Refused {
                reason: Reason::Peers,
                conn: 1,
                proof: 2,
            },
            Own::Refused {
                reason: Reason::Connections,
                conn: u32::MAX,
                proof: 3,
            },
            Own::Refused {
                reason: Reason::Transport,
                conn: 0,
                proof: u64::MAX,
            },
        ];
        for own in all {
            let mut out = [0; 64];
            let len = own.encode(&mut out);
            assert_eq!(Own::decode(&out[..len]), Some(own));
            assert!(
                (0..len).all(|cut| Own::decode(&out[..cut]).is_none()),
                "{own:?}"
            );
            assert_eq!(Own::decode(&out[..=len]), None);
        }
    }

    #[test]
    fn what_one_end_sends_the_other_expects_and_nobody_reflects_it() {
        let (baker, opener) = (Secret::new(77, true), Secret::new(77, false));
        assert_eq!(baker.tag_out, opener.tag_in);
        assert_eq!(baker.tag_in, opener.tag_out);
        assert_ne!(baker.tag_in, baker.tag_out);
        assert_ne!(baker.tag_out, Secret::new(78, true).tag_out);
    }

    #[test]
    fn a_cookie_is_good_for_its_address_and_its_time_alone() {
        let baker = Baker::new([1, 2]);
        let from = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 5);
        let born = Time::ZERO.after(Span::ms(1));
        let mut hello = greeting();
        hello.cookie = baker.bake(born, from, &hello);
        assert!(baker.knows(born, from, &hello));
        assert!(baker.knows(born.after(COOKIE_LIFE), from, &hello));
        assert!(!baker.knows(born.after(COOKIE_LIFE.times(2)), from, &hello));
        assert!(!baker.knows(born, SocketAddrV4::new(Ipv4Addr::LOCALHOST, 6), &hello));
        assert!(!baker.knows(born, from, &Greeting { nonce: 98, ..hello }));
        assert!(!Baker::new([1, 3]).knows(born, from, &hello));
    }

    #[test]
    fn what_is_not_ours_makes_no_sense() {
        for (first, own) in [(0xef, false), (0xf0, true), (0xff, true), (0x0f, false)] {
            assert_eq!(is_own(&[first, 0]), own, "{first:x}");
        }
        assert!(!is_own(&[]));
        let refused = |kind: u8, version: u8, reason: u8| {
            let mut bytes = [0; REFUSED_LEN];
            bytes[..3].copy_from_slice(&[kind, version, reason]);
            Own::decode(&bytes).is_some()
        };
        assert!(refused(REFUSED, VERSION, 2));
        assert!(!refused(REFUSED, VERSION, 3) && !refused(REFUSED, VERSION, 255));
        assert!(!refused(REFUSED, VERSION + 1, 2) && !refused(REFUSED, 0, 2));
        assert!(!refused(OWN, VERSION, 2) && !refused(REFUSED + 1, VERSION, 2));
    }

    /// Two versions of this program meet on a wire: what stands where never changes.
    #[test]
    fn the_bytes_are_frozen() {
        let mut out = [0xaa; 64];
        let refused = Own::Refused {
            reason: Reason::Transport,
            conn: 0x0102_0304,
            proof: 0x0506_0708_090a_0b0c,
        };
        assert_eq!(refused.encode(&mut out), 16);
        assert_eq!(
            out[..17],
            [0xf4, 1, 2, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 0xaa]
        );
        assert_eq!(Own::Unknown { tag: 0x0d0e_0f10 }.encode(&mut out), 8);
        assert_eq!(out[..9], [0xf3, 1, 0, 0, 13, 14, 15, 16, 5]);
        assert_eq!(Own::Cookie(greeting()).encode(&mut out), 40);
        assert_eq!(out[..8], [0xf2, 1, 0, 0, 0, 0, 0, 7]);
        assert_eq!(Own::Hello(greeting()).encode(&mut out), 40);
        assert_eq!((out[0], out[15], out[24], out[39]), (0xf1, 99, b'e', 0));
    }

    #[test]
    fn a_name_is_cut_to_what_a_greeting_carries() {
        assert_eq!(&name("ndp"), b"ndp\0\0\0\0\0\0\0\0\0\0\0\0\0");
        assert_eq!(&name("sixteen-letters-and-more"), b"sixteen-letters-");
    }

    #[test]
    fn each_reason_has_words_of_its_own() {
        let told = [Reason::Peers, Reason::Connections, Reason::Transport].map(|r| r.to_string());
        assert_eq!(
            told,
            [
                "it has no room for another peer",
                "it has no room for another connection",
                "it runs another transport"
            ]
        );
    }

    #[test]
    fn nonces_never_repeat_and_are_those_of_their_key() {
        let (mut one, mut other) = (Baker::new([1, 2]), Baker::new([1, 3]));
        let nonces = |baker: &mut Baker| [(); 100].map(|()| baker.nonce());
        let (ours, theirs) = (nonces(&mut one), nonces(&mut other));
        let all: std::collections::BTreeSet<_> = ours.iter().chain(&theirs).collect();
        assert_eq!(all.len(), 200);
        assert_eq!(nonces(&mut Baker::new([1, 2])), ours);
    }
}
