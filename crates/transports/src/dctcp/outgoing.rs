//! The messages of one direction, and how they are cut into packets.

use super::header::SEQ_MAX;
use std::collections::VecDeque;

/// One message, in sequence numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Message {
    start: u64,
    end: u64,
    /// Empty frames before it.
    gaps: u32,
    /// Its last number is an empty frame: it has no bytes, or was cut after its last packet left.
    marked: bool,
}

/// One packet's worth of the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Segment {
    /// Its first sequence number.
    pub(super) seq: u64,
    /// Empty frames before it.
    pub(super) gaps: u32,
    /// Payload in bytes.
    pub(super) length: u16,
    /// A message ends with it.
    pub(super) end: bool,
    /// It was sent before.
    pub(super) again: bool,
}

impl Segment {
    /// Sequence numbers that it takes.
    #[inline]
    pub(super) const fn span(&self) -> u64 {
        if self.length == 0 {
            1
        } else {
            self.length as u64
        }
    }
    /// Stream offset of its payload.
    #[inline]
    pub(super) const fn offset(&self) -> u64 {
        self.seq - self.gaps as u64
    }
}

/// The request cannot be met: sequence numbers would run out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooLong;

/// Messages that are not acknowledged.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Outgoing {
    /// The last message ends here.
    end: u64,
    /// The message that is being sent, where not all was sent: a copy of `messages[current]`.
    sending: Message,
    /// In order.
    messages: VecDeque<Message>,
    /// Position in `messages` of the one that is being sent; their number where all was sent.
    current: usize,
    /// Of the first of them.
    ordinal: u32,
    /// Empty frames of all messages so far.
    gaps: u32,
}

impl Outgoing {
    pub(super) const fn new() -> Self {
        Self {
            end: 0,
            sending: Message {
                start: 0,
                end: 0,
                gaps: 0,
                marked: false,
            },
            messages: VecDeque::new(),
            current: 0,
            ordinal: 0,
            gaps: 0,
        }
    }

    /// The sequence number behind the last message.
    #[inline]
    pub(super) const fn end(&self) -> u64 {
        self.end
    }
    /// Empty frames of all messages so far.
    pub(super) const fn gaps(&self) -> u32 {
        self.gaps
    }

    /// Queues a message of `length` bytes.
    pub(super) fn push(&mut self, length: u64) -> Result<(), TooLong> {
        // Every message may yet be cut and get an empty frame.
        let frames = self.messages.len() + 1 + usize::try_from(self.gaps).unwrap_or(usize::MAX);
        if length.max(1) > SEQ_MAX - self.end || u32::try_from(frames).is_err() {
            return Err(TooLong);
        }
        self.append(length, length == 0);
        Ok(())
    }

    fn append(&mut self, length: u64, marked: bool) {
        let start = self.end;
        self.end += length + u64::from(marked);
        let message = Message {
            start,
            end: self.end,
            gaps: self.gaps,
            marked,
        };
        if self.current == self.messages.len() {
            self.sending = message;
        }
        self.messages.push_back(message);
        self.gaps += u32::from(marked);
    }

    /// Cuts every message that has not left whole after what has left of it, up to `next`.
    pub(super) fn cancel(&mut self, next: u64) {
        let cut: Vec<Message> = self.messages.drain(self.current..).collect();
        let Some(&Message { start, gaps, .. }) = cut.first() else {
            return;
        };
        (self.end, self.gaps) = (start, gaps);
        // Of the first one something may have left, of the others nothing.
        for (sent, message) in std::iter::once(next - start)
            .chain(std::iter::repeat(0))
            .zip(&cut)
        {
            // Its own empty frame is not a byte of it.
            let length = message.end - message.start - u64::from(message.marked);
            self.append(sent.min(length), true);
        }
    }

    /// A message that ends at or below `una`, each once.
    #[inline]
    pub(super) fn take_finished(&mut self, una: u64) -> Option<u32> {
        if self.messages.front()?.end > una {
            return None;
        }
        self.messages.pop_front();
        self.current -= 1;
        self.ordinal += 1;
        Some(self.ordinal - 1)
    }

    /// Sequence numbers of the next new packet, at `next`, which is below [`Outgoing::end`].
    #[inline]
    pub(super) fn next_span(&self, next: u64, payload_max: u64) -> u64 {
        let left = self.sending.end - u64::from(self.sending.marked) - next;
        left.min(payload_max).max(1)
    }

    /// The next new packet.
    #[inline]
    pub(super) fn next_segment(&self, next: u64, payload_max: u64) -> Segment {
        self.sending.piece(next, payload_max)
    }

    /// A new packet has left; the next one starts at `next`.
    #[inline]
    pub(super) fn on_sent(&mut self, next: u64) {
        if next == self.sending.end {
            self.current += 1;
            if let Some(&message) = self.messages.get(self.current) {
                self.sending = message;
            }
        }
    }

    /// The packet at `seq`, but not beyond `stop`. Packets keep the borders that they had.
    pub(super) fn segment_at(&self, seq: u64, stop: u64, payload_max: u64) -> Segment {
        let segment = self.message_at(seq).piece(seq, payload_max);
        if seq + segment.span() <= stop {
            return segment;
        }
        // Only a receiver that acknowledges parts of packets gets us here.
        let length = u16::try_from(stop - seq).expect("shorter than the packet it is a part of");
        Segment {
            length,
            end: false,
            ..segment
        }
    }

    /// Where the last packet below `next` starts.
    pub(super) fn last_segment_start(&self, next: u64, payload_max: u64) -> u64 {
        let message = self.message_at(next - 1);
        let within = next - 1 - message.start;
        message.start + within / payload_max * payload_max
    }

    fn message_at(&self, seq: u64) -> &Message {
        let at = self.messages.partition_point(|message| message.end <= seq);
        &self.messages[at]
    }

    /// Panics where an invariant of our own state is broken.
    pub(super) fn check(&self, una: u64, next: u64) {
        assert!(
            self.messages
                .front()
                .is_none_or(|message| message.end > una),
            "{self:?}"
        );
        assert_eq!(
            self.messages.back().map_or(self.end, |message| message.end),
            self.end
        );
        let starts = self.messages.iter().map(|message| message.start);
        let ends = self.messages.iter().map(|message| message.end);
        assert!(
            starts.skip(1).eq(ends.take(self.messages.len().max(1) - 1)),
            "{self:?}"
        );
        let sent = self
            .messages
            .iter()
            .take_while(|message| message.end <= next)
            .count();
        assert_eq!(sent, self.current, "the message that is being sent");
        let sending = self.messages.get(self.current);
        assert!(
            sending.is_none_or(|message| *message == self.sending),
            "{self:?}"
        );
    }
}

impl Message {
    #[inline]
    fn piece(&self, seq: u64, payload_max: u64) -> Segment {
        let left = self.end - u64::from(self.marked) - seq;
        let length = left.min(payload_max);
        Segment {
            seq,
            gaps: self.gaps,
            length: u16::try_from(length).expect("payload_max is a u16"),
            // A marked message has its empty frame behind its bytes, where nothing is left.
            end: seq + length.max(1) == self.end,
            again: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Offset and length of every packet, `|` behind the end of a message.
    fn packets(outgoing: &Outgoing, from: u64) -> String {
        let mut at = from;
        let next = std::iter::from_fn(|| {
            let segment = (at < outgoing.end()).then(|| outgoing.segment_at(at, u64::MAX, 1000))?;
            at += segment.span();
            let end = if segment.end { "|" } else { "" };
            Some(format!("{}+{}{end} ", segment.offset(), segment.length))
        });
        next.collect()
    }

    #[test]
    fn messages_are_cut_into_full_packets_and_a_rest() {
        let mut outgoing = Outgoing::new();
        for length in [2500, 0, 1000, 1] {
            outgoing.push(length).unwrap();
        }
        assert_eq!(
            packets(&outgoing, 0),
            "0+1000 1000+1000 2000+500| 2500+0| 2500+1000| 3500+1| "
        );
        assert_eq!(
            [500, 1000, 2500, 2501, 3502].map(|next| outgoing.last_segment_start(next, 1000)),
            [0, 0, 2000, 2500, 3501]
        );
    }

    #[test]
    fn a_cut_leaves_what_has_left_and_an_empty_frame_per_message() {
        let mut outgoing = Outgoing::new();
        for length in [1000, 2500, 0, 700] {
            outgoing.push(length).unwrap();
        }
        outgoing.on_sent(1000);
        outgoing.on_sent(2000);
        outgoing.cancel(2000);
        outgoing.check(0, 2000);
        assert_eq!(
            packets(&outgoing, 0),
            "0+1000| 1000+1000 2000+0| 2000+0| 2000+0| "
        );
        outgoing.cancel(2000);
        assert_eq!(packets(&outgoing, 2000), "2000+0| 2000+0| 2000+0| ");
    }

    #[test]
    fn numbers_that_would_run_out_are_refused() {
        let mut outgoing = Outgoing::new();
        outgoing.push(SEQ_MAX - 2).unwrap();
        assert_eq!(outgoing.push(3), Err(TooLong));
        assert_eq!(
            (outgoing.push(0), outgoing.push(1), outgoing.push(0)),
            (Ok(()), Ok(()), Err(TooLong))
        );
    }
}
