//! Where the bytes come from and go to: the transports speak of offsets and lengths alone.

use model::ConnId;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Gives the bytes of outgoing streams.
pub trait Source {
    /// Fills `out` with the bytes of this connection's outgoing stream from `offset` on. Asked
    /// again for the same bytes where they must be sent again.
    ///
    /// # Errors
    /// What keeps the bytes from being read. The packet does not leave, and is sent again later.
    fn fill(&mut self, conn: ConnId, offset: u64, out: &mut [u8]) -> io::Result<()>;
}

/// Takes the bytes of incoming streams.
pub trait Sink {
    /// Takes the bytes of this connection's incoming stream from `offset` on: each byte once, in
    /// the order in which the transport accepts them.
    ///
    /// # Errors
    /// What keeps the bytes from being kept: they are lost, and no others.
    fn accept(&mut self, conn: ConnId, offset: u64, bytes: &[u8]) -> io::Result<()>;
}

/// The source of an end that sends nothing.
#[derive(Clone, Copy, Debug)]
pub struct Nothing;

impl Source for Nothing {
    fn fill(&mut self, conn: ConnId, _: u64, _: &mut [u8]) -> io::Result<()> {
        Err(missing(conn))
    }
}

impl Sink for Nothing {
    fn accept(&mut self, conn: ConnId, _: u64, _: &[u8]) -> io::Result<()> {
        Err(missing(conn))
    }
}

fn missing(conn: ConnId) -> io::Error {
    io::Error::new(
        io::ErrorKind::NotFound,
        format!("no buffer was given for {conn:?}"),
    )
}

fn out_of(conn: ConnId, offset: u64) -> io::Error {
    let text = format!("the buffer of {conn:?} does not reach offset {offset}");
    io::Error::new(io::ErrorKind::UnexpectedEof, text)
}

/// Streams in memory.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    /// The bytes of each connection. As a sink it grows with what arrives.
    pub streams: BTreeMap<ConnId, Vec<u8>>,
}

impl Source for Memory {
    fn fill(&mut self, conn: ConnId, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let stream = self.streams.get(&conn).ok_or_else(|| missing(conn))?;
        let start = usize::try_from(offset).map_err(|_| out_of(conn, offset))?;
        let bytes = stream.get(start..).and_then(|rest| rest.get(..out.len()));
        out.copy_from_slice(bytes.ok_or_else(|| out_of(conn, offset))?);
        Ok(())
    }
}

impl Sink for Memory {
    fn accept(&mut self, conn: ConnId, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let stream = self.streams.entry(conn).or_default();
        let start = usize::try_from(offset).map_err(|_| out_of(conn, offset))?;
        let end = start
            .checked_add(bytes.len())
            .ok_or_else(|| out_of(conn, offset))?;
        if stream.len() < end {
            stream.resize(end, 0);
        }
        stream[start..end].copy_from_slice(bytes);
        Ok(())
    }
}

/// Streams in files: what one connection sends is read from its file, what it receives is written
/// there, each at its offset.
#[derive(Debug, Default)]
pub struct Files {
    /// The file of each connection.
    pub streams: BTreeMap<ConnId, File>,
}

impl Source for Files {
    fn fill(&mut self, conn: ConnId, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.streams
            .get(&conn)
            .ok_or_else(|| missing(conn))?
            .read_exact_at(out, offset)
    }
}

impl Sink for Files {
    fn accept(&mut self, conn: ConnId, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.streams
            .get(&conn)
            .ok_or_else(|| missing(conn))?
            .write_all_at(bytes, offset)
    }
}

/// Random streams that need no memory: every byte follows from seed, stream and offset.
#[derive(Clone, Debug, Default)]
pub struct Random {
    streams: BTreeMap<ConnId, RandomStream>,
}

#[derive(Clone, Debug)]
struct RandomStream {
    key: u64,
    /// Of the first `hashed` bytes.
    hash: Sha256,
    hashed: u64,
}

/// Bytes that follow from one number.
const WORD: u64 = 8;

impl Random {
    /// Gives `conn` the stream number `stream` under `seed`.
    pub fn add(&mut self, conn: ConnId, seed: u64, stream: u64) {
        let key = model::Rng::stream(seed, model::stream::WIRE, stream).next_u64();
        self.streams.insert(
            conn,
            RandomStream {
                key,
                hash: Sha256::new(),
                hashed: 0,
            },
        );
    }

    /// The SHA-256 of the first `length` bytes of the connection's stream, in hexadecimal.
    pub fn digest(&mut self, conn: ConnId, length: u64) -> Option<String> {
        let stream = self.streams.get_mut(&conn)?;
        let mut bytes = [0; 4096];
        // What was sent was hashed when it was sent: usually nothing is left.
        while stream.hashed < length {
            let take = (length - stream.hashed).min(bytes.len() as u64);
            let take = usize::try_from(take).expect("at most the buffer");
            stream.fill(stream.hashed, &mut bytes[..take]);
        }
        (stream.hashed == length).then(|| hex(stream.hash.clone()))
    }
}

impl RandomStream {
    fn fill(&mut self, offset: u64, out: &mut [u8]) {
        let mut at = offset;
        let mut rest = &mut *out;
        while !rest.is_empty() {
            let word = word(self.key, at / WORD).to_le_bytes();
            let skip = usize::try_from(at % WORD).expect("below eight");
            let take = rest.len().min(word.len() - skip);
            let (now, later) = rest.split_at_mut(take);
            now.copy_from_slice(&word[skip..skip + take]);
            at += take as u64;
            rest = later;
        }
        if offset == self.hashed {
            self.hash.update(&*out);
            self.hashed = at;
        }
    }
}

/// Number `n` of a stream: the output function of `SplitMix64` over a counter.
fn word(key: u64, n: u64) -> u64 {
    let mut z = key.wrapping_add(n.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Source for Random {
    fn fill(&mut self, conn: ConnId, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.streams
            .get_mut(&conn)
            .ok_or_else(|| missing(conn))?
            .fill(offset, out);
        Ok(())
    }
}

/// Bytes that may wait for earlier ones, of all streams together; a transport's receive windows
/// must fit. [ours: a quarter of the 64 MiB that a transfer may take]
pub const REASSEMBLY_MAX: usize = 16 << 20;

/// Those of one stream that a transport asks for while earlier ones are missing. [ours: sixteen streams at a time]
pub(crate) const AHEAD_MAX: u64 = REASSEMBLY_MAX as u64 / 16;

/// Hashes what arrives, in stream order, and forgets it.
#[derive(Clone, Debug, Default)]
pub struct Hashes {
    streams: BTreeMap<ConnId, HashedStream>,
    waiting: usize,
    waiting_peak: usize,
}

#[derive(Clone, Debug, Default)]
struct HashedStream {
    hash: Sha256,
    next: u64,
    /// What came before its turn, by offset; disjoint.
    early: BTreeMap<u64, Vec<u8>>,
}

impl Hashes {
    /// The connections that bytes arrived on, with the length of each stream so far and its
    /// SHA-256 in hexadecimal.
    pub fn digests(&self) -> impl Iterator<Item = (ConnId, u64, String)> + '_ {
        self.streams
            .iter()
            .map(|(conn, stream)| (*conn, stream.next, hex(stream.hash.clone())))
    }

    /// Length and SHA-256 of one connection's stream so far; an empty stream has a hash as well.
    pub fn digest(&self, conn: ConnId) -> (u64, String) {
        let stream = self.streams.get(&conn);
        stream.map_or_else(
            || (0, hex(Sha256::new())),
            |s| (s.next, hex(s.hash.clone())),
        )
    }

    /// Forgets a stream.
    pub fn remove(&mut self, conn: ConnId) {
        if let Some(stream) = self.streams.remove(&conn) {
            self.waiting -= stream.early.values().map(Vec::len).sum::<usize>();
        }
    }

    /// Bytes that were hashed, of all streams.
    pub fn bytes(&self) -> u64 {
        self.streams.values().map(|stream| stream.next).sum()
    }

    /// The most bytes that ever waited for earlier ones.
    pub fn waiting_peak(&self) -> usize {
        self.waiting_peak
    }
}

impl Sink for Hashes {
    fn accept(&mut self, conn: ConnId, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let stream = self.streams.entry(conn).or_default();
        let end = offset + bytes.len() as u64;
        let before = stream.early.range(..=offset).next_back();
        let from = before.map_or(stream.next, |(at, early)| at + early.len() as u64);
        let to = stream
            .early
            .range(offset..)
            .next()
            .map_or(u64::MAX, |(at, _)| *at);
        if offset < from || end > to {
            let text = format!("{conn:?}: bytes {offset}..{end} were accepted twice");
            return Err(io::Error::new(io::ErrorKind::InvalidData, text));
        }
        if offset > stream.next {
            self.waiting += bytes.len();
            self.waiting_peak = self.waiting_peak.max(self.waiting);
            if self.waiting > REASSEMBLY_MAX {
                let text = format!(
                    "more than {REASSEMBLY_MAX} bytes wait for earlier ones: the transport takes \
                     bytes that far ahead of a gap; lower its receive window, send shorter \
                     messages, or keep bytes by their offset, as in a file"
                );
                return Err(io::Error::new(io::ErrorKind::OutOfMemory, text));
            }
            stream.early.insert(offset, bytes.to_vec());
            return Ok(());
        }
        stream.hash.update(bytes);
        stream.next = end;
        while let Some(early) = stream.early.remove(&stream.next) {
            stream.hash.update(&early);
            stream.next += early.len() as u64;
            self.waiting -= early.len();
        }
        Ok(())
    }
}

/// SHA-256 of all parts in a row, in hexadecimal.
pub(crate) fn sha256_of<'a>(parts: impl Iterator<Item = &'a [u8]>) -> String {
    let mut hash = Sha256::new();
    parts.for_each(|part| hash.update(part));
    hex(hash)
}

fn hex(hash: Sha256) -> String {
    let digits = hash
        .finalize()
        .into_iter()
        .flat_map(|byte| [byte >> 4, byte & 0xf]);
    digits
        .filter_map(|digit| char::from_digit(digit.into(), 16))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Rng;

    const CONN: ConnId = ConnId(3);

    #[test]
    fn a_random_stream_is_the_same_however_it_is_read() {
        let mut random = Random::default();
        random.add(CONN, 1, 0);
        let mut whole = vec![0; 10_000];
        random.fill(CONN, 0, &mut whole).unwrap();
        let mut rng = Rng::stream(2, model::stream::TEST, 0);
        for _ in 0..500 {
            let from = usize::try_from(rng.below(9_000)).unwrap();
            let len = usize::try_from(rng.below(1_000)).unwrap();
            let mut part = vec![0; len];
            random.fill(CONN, from as u64, &mut part).unwrap();
            assert_eq!(part, whole[from..from + len]);
        }
        let distinct: std::collections::BTreeSet<_> = whole.chunks(8).collect();
        assert_eq!(distinct.len(), 1_250);
        assert_eq!(
            random.digest(CONN, 10_000),
            Some(hex(Sha256::new_with_prefix(&whole)))
        );
        let mut other = Random::default();
        other.add(CONN, 1, 1);
        assert_ne!(other.digest(CONN, 10_000), random.digest(CONN, 10_000));
    }

    #[test]
    fn a_hash_does_not_depend_on_the_order_of_arrival() {
        let mut random = Random::default();
        random.add(CONN, 1, 0);
        let expected = random.digest(CONN, 100_000);
        let mut chunks: Vec<u64> = (0..100).collect();
        let mut rng = Rng::stream(2, model::stream::TEST, 1);
        for i in (1..chunks.len()).rev() {
            chunks.swap(i, usize::try_from(rng.below(i as u64 + 1)).unwrap());
        }
        let mut hashes = Hashes::default();
        for chunk in chunks {
            let mut bytes = vec![0; 1_000];
            random.fill(CONN, chunk * 1_000, &mut bytes).unwrap();
            hashes.accept(CONN, chunk * 1_000, &bytes).unwrap();
        }
        assert_eq!(hashes.digest(CONN), (100_000, expected.unwrap()));
        assert_eq!(hashes.waiting, 0);
        assert!(hashes.waiting_peak() > 0);
    }

    #[test]
    fn bytes_that_come_twice_are_an_error() {
        for (first, second) in [(0, 0), (0, 5), (20, 15), (20, 20), (20, 25)] {
            let mut hashes = Hashes::default();
            hashes.accept(CONN, first, &[1; 10]).unwrap();
            let error = hashes.accept(CONN, second, &[1; 10]).unwrap_err();
            assert!(
                error.to_string().contains("accepted twice"),
                "{first} {second}: {error}"
            );
        }
    }

    #[test]
    fn what_waits_is_bounded() {
        let mut hashes = Hashes::default();
        let half = vec![0; REASSEMBLY_MAX / 2];
        hashes.accept(CONN, 1, &half).unwrap();
        hashes.accept(ConnId(4), 1, &half).unwrap();
        assert!(
            hashes
                .accept(ConnId(5), 1, &[0])
                .unwrap_err()
                .to_string()
                .contains("window")
        );
    }
}
