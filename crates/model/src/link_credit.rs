//! Credits of one link: how much the node at its far end has room for, as absolute counts that go round. The node that
//! sends on the link keeps [`LinkCredits`]; the node that receives from it answers with a [`CreditFrame`].
//! [InfiniBand volume 1, s7.9, recalled: FCTBS and FCCL]

use crate::{Class, ConnId, HostId, Packet};
use units::Span;

/// Most lanes of a link: one for each priority.
pub const CREDIT_LANES: usize = 8;
/// Kind of a frame of credits among those of [`Class::Link`]. [ours]
const KIND: u8 = 5;

/// Blocks, the unit of credits: the cells of the memory that a receiver keeps packets in. [InfiniBand: 64 B; Ultra
/// Ethernet: a cell and an overhead that the receiver chooses; both recalled]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocks {
    size: u32,
    overhead: u32,
}

impl Blocks {
    /// Blocks of `size` bytes, in which every packet takes `overhead` bytes beside its own.
    ///
    /// # Panics
    /// Unless a block has 64 to 4096 bytes, and the overhead at most 1024.
    pub const fn new(size: u32, overhead: u32) -> Self {
        assert!(64 <= size && size <= 4096, "bytes of a block");
        assert!(overhead <= 1024, "bytes beside those of a packet");
        Self { size, overhead }
    }

    /// Blocks that a packet of so many bytes takes: at most 1040.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "at most 66,559 / 64")]
    pub const fn of(self, bytes: u16) -> u16 {
        (bytes as u32 + self.overhead).div_ceil(self.size) as u16
    }

    /// Bytes of the memory that so many blocks are.
    #[inline]
    pub const fn bytes(self, blocks: u16) -> u64 {
        blocks as u64 * self.size as u64
    }

    /// Bytes of the largest packet that so many blocks take.
    #[inline]
    pub const fn largest(self, blocks: u16) -> u64 {
        self.bytes(blocks).saturating_sub(self.overhead as u64)
    }
}

/// Counts of blocks that go round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Round {
    mask: u16,
}

impl Round {
    /// Counts of so many bits: 11 to 16, so that a packet fits into half of a round.
    ///
    /// # Panics
    /// If it is another number.
    pub const fn of_bits(bits: u8) -> Self {
        assert!(11 <= bits && bits <= 16, "bits of a count of blocks");
        Self {
            mask: u16::MAX >> (16 - bits),
        }
    }

    /// The largest difference of two counts that is not taken for one the other way round.
    pub const fn half(self) -> u16 {
        self.mask / 2 + 1
    }

    /// A count after `more` blocks.
    #[must_use]
    pub const fn after(self, count: u16, more: u16) -> u16 {
        count.wrapping_add(more) & self.mask
    }

    /// By how much `to` is ahead of `from`; 0 where it is behind.
    pub const fn ahead(self, to: u16, from: u16) -> u16 {
        let ahead = to.wrapping_sub(from) & self.mask;
        if ahead > self.half() { 0 } else { ahead }
    }
}

/// What one end of a link says to the other about a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CreditFrame {
    /// Which lane.
    pub lane: u8,
    /// Blocks that the end that writes this frame has sent on the lane. [FCTBS]
    pub sent: u16,
    /// Up to which count the other end may send; none where it may send on. [FCCL]
    pub limit: Option<u16>,
    /// It has waited for credits: the other end is to say what it has received.
    pub asks: bool,
}

impl CreditFrame {
    /// The frame that carries it over a link: 84 B with preamble and gap, as those of other flow controls here.
    pub fn packet(self) -> Packet {
        let mut frame = Packet::new(HostId(0), ConnId(0), Class::Link, KIND, 84);
        frame.head[0] =
            u32::from(self.lane) | u32::from(self.asks) << 8 | u32::from(self.limit.is_some()) << 9;
        frame.head[1] = self.sent.into();
        frame.head[2] = self.limit.unwrap_or(0).into();
        frame.end_here();
        frame
    }

    /// What a frame of class [`Class::Link`] says; none where it is none of credits.
    pub fn of(frame: &Packet) -> Option<Self> {
        let [flags, sent, limit] = frame.head;
        let lane = u8::try_from(flags & 0xff).ok()?;
        let known = frame.kind() == KIND && usize::from(lane) < CREDIT_LANES && flags >> 10 == 0;
        let (sent, limit) = (u16::try_from(sent).ok()?, u16::try_from(limit).ok()?);
        known.then_some(Self {
            lane,
            sent,
            limit: (flags >> 9 & 1 == 1).then_some(limit),
            asks: flags >> 8 & 1 == 1,
        })
    }
}

/// What may be sent on a link, by lane.
#[derive(Clone, Debug)]
pub struct LinkCredits {
    round: Round,
    blocks: Blocks,
    lanes: u8,
    /// Blocks of the largest frame.
    frame: u16,
    /// How long a lane waits for credits before it asks.
    pub patience: Span,
    sent: [u16; CREDIT_LANES],
    limit: [u16; CREDIT_LANES],
}

impl LinkCredits {
    /// `room` blocks of each of `lanes` lanes may be sent at first, in frames of at most `frame` bytes.
    ///
    /// # Panics
    /// If there are no lanes, or more than [`CREDIT_LANES`], or more room than half a round.
    pub fn new(
        round: Round,
        blocks: Blocks,
        lanes: u8,
        room: u16,
        frame: u16,
        patience: Span,
    ) -> Self {
        assert!(
            (1..=CREDIT_LANES).contains(&usize::from(lanes)),
            "{lanes} lanes"
        );
        assert!(room <= round.half(), "{room} blocks");
        Self {
            round,
            blocks,
            lanes,
            frame: blocks.of(frame),
            patience,
            sent: [0; CREDIT_LANES],
            limit: [room; CREDIT_LANES],
        }
    }

    /// The lane of a priority: the last one takes all that are left. [InfiniBand: a table; ours]
    #[inline]
    pub fn lane_of(&self, priority: u8) -> u8 {
        priority.min(self.lanes - 1)
    }

    /// The priorities of a lane.
    pub fn priorities(&self, lane: u8) -> impl Iterator<Item = u8> + use<> {
        let lanes = self.lanes;
        (0..8).filter(move |&priority: &u8| lane == priority.min(lanes - 1))
    }

    /// Blocks that may be sent on a lane.
    #[inline]
    pub fn left(&self, lane: u8) -> u16 {
        let lane = usize::from(lane) % CREDIT_LANES;
        self.round.ahead(self.limit[lane], self.sent[lane])
    }

    /// Bytes of the largest packet that may be sent on a lane.
    #[inline]
    pub fn largest(&self, lane: u8) -> u64 {
        self.blocks.largest(self.left(lane))
    }

    /// Whether a lane has too little for the largest frame.
    #[inline]
    pub fn is_short(&self, lane: u8) -> bool {
        self.left(lane) < self.frame
    }

    /// A packet leaves. Returns its lane.
    #[inline]
    pub fn spend(&mut self, packet: &Packet) -> u8 {
        let lane = self.lane_of(packet.priority());
        let sent = &mut self.sent[usize::from(lane)];
        *sent = self.round.after(*sent, self.blocks.of(packet.size));
        lane
    }

    /// The other end has said something. Returns the lane of which it may have changed what is left.
    pub fn hear(&mut self, said: CreditFrame) -> Option<u8> {
        let lane = said.lane;
        let limit = said.limit.filter(|_| lane < self.lanes)?;
        // Anything beyond a round is a lie that costs the liar.
        self.limit[usize::from(lane)] = self.round.after(limit, 0);
        Some(lane)
    }

    /// What a lane that waits for credits says.
    pub fn question(&self, lane: u8) -> CreditFrame {
        CreditFrame {
            lane,
            sent: self.sent[usize::from(lane) % CREDIT_LANES],
            limit: None,
            asks: true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_says_what_it_was_made_of_and_strangers_say_nothing() {
        for lane in 0..8 {
            for (limit, asks) in [(None, true), (Some(0), false), (Some(4095), true)] {
                let said = CreditFrame {
                    lane,
                    sent: 77,
                    limit,
                    asks,
                };
                assert_eq!(CreditFrame::of(&said.packet()), Some(said));
            }
        }
        let mut frame = CreditFrame {
            lane: 7,
            sent: 0,
            limit: None,
            asks: false,
        }
        .packet();
        frame.head[0] = 8;
        assert_eq!(CreditFrame::of(&frame), None, "no such lane");
        frame.head = [0, 1 << 16, 0];
        assert_eq!(CreditFrame::of(&frame), None, "no such count");
        let pause = crate::Signal::PausePriority(0).frame();
        assert_eq!(CreditFrame::of(&pause), None);
    }

    #[test]
    fn the_largest_packet_of_so_many_blocks_takes_them_all() {
        for (size, overhead) in [(64, 0), (64, 1024), (256, 0), (256, 20), (4096, 1)] {
            let blocks = Blocks::new(size, overhead);
            for left in 1..60 {
                let Ok(largest @ 1..=0xfffe) = u16::try_from(blocks.largest(left)) else {
                    continue;
                };
                assert_eq!(blocks.of(largest), left, "{size}+{overhead}, {largest} B");
                assert_eq!(blocks.of(largest + 1), left + 1);
            }
            assert_eq!(blocks.largest(0), 0);
        }
        assert_eq!(Blocks::new(64, 0).of(1538), 25);
        assert_eq!(Blocks::new(256, 20).of(1538), 7);
        assert_eq!(Blocks::new(64, 1024).of(u16::MAX), 1040);
    }

    #[test]
    fn credits_are_counted_round_and_never_turn_into_others() {
        let mut packet = Packet::new(HostId(0), ConnId(0), Class::Plain, 0, 1538);
        let (round, blocks) = (Round::of_bits(12), Blocks::new(64, 0));
        let mut credits = LinkCredits::new(round, blocks, 2, 100, 1538, Span::us(50));
        let mut received = 0;
        for step in 0..10_000_u32 {
            let lane = u8::from(step % 3 == 0);
            packet.set_priority(if lane == 1 { 5 } else { 0 });
            while !credits.is_short(lane) {
                assert_eq!(credits.spend(&packet), lane);
            }
            assert!(credits.left(lane) < 25, "{} are left", credits.left(lane));
            if lane == 1 {
                continue;
            }
            received = round.after(received, 100);
            let limit = Some(round.after(received, 100));
            let said = CreditFrame {
                lane,
                sent: 0,
                limit,
                asks: false,
            };
            assert_eq!(credits.hear(said), Some(0));
            assert_eq!(credits.left(0), 100);
            let stale = CreditFrame {
                limit: Some(round.after(received, 4000)),
                ..said
            };
            credits.hear(stale);
            assert_eq!(credits.left(0), 0, "what is behind gives nothing");
            credits.hear(said);
        }
        let other = CreditFrame {
            lane: 2,
            sent: 0,
            limit: Some(7),
            asks: false,
        };
        assert_eq!(credits.hear(other), None, "it has two lanes");
        assert_eq!(
            credits.priorities(1).collect::<Vec<_>>(),
            [1, 2, 3, 4, 5, 6, 7]
        );
    }
}
