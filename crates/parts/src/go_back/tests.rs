//! Each direction of a connection, piece by piece.

use super::*;

#[test]
fn numbers_of_messages_go_round() {
    for ordinal in [0u32, 1, 31, 32, 63, 64, 1000, u32::MAX] {
        let kept = (
            u32::from(short::<6>(ordinal)),
            u32::from(short::<16>(ordinal)),
        );
        assert_eq!(kept, (ordinal % 64, ordinal % 65_536));
        let said = |ahead: u32| short::<6>(ordinal.wrapping_add(ahead));
        assert_eq!(ahead::<6>(said(0), ordinal), Some(0));
        assert_eq!(ahead::<6>(said(31), ordinal), Some(31));
        assert_eq!(ahead::<6>(said(32), ordinal), None);
        assert_eq!(ahead::<6>(said(u32::MAX), ordinal), None, "one behind");
        assert_eq!(ahead::<16>(short::<16>(ordinal), ordinal), Some(0));
    }
}

#[test]
fn a_sender_goes_back_to_the_first_missing_byte_and_hears_of_nothing_twice() {
    let (mut sender, wait) = (Sender::<6>::default(), Span::us(9));
    assert!(sender.push(2_500) && !sender.push(POSITION_MAX));
    let pieces: Vec<_> = (0..3).map(|_| sender.transmit(1_000)).collect();
    sender.expect(Time(1), wait);
    sender.expect(Time(5), wait);
    assert_eq!(sender.deadline(), Time(1).after(wait), "the first counts");
    let ends: Vec<_> = pieces.iter().map(|(piece, _)| piece.end).collect();
    assert_eq!((ends, sender.has_more()), (vec![false, false, true], false));
    let wanted = |ordinal, offset, gap| Wanted {
        ordinal,
        offset,
        gap,
    };
    assert_eq!(
        sender.on_ack(Time(2), wanted(0, 2_501, false), wait),
        News::Nonsense
    );
    assert_eq!(
        sender.on_ack(Time(2), wanted(0, 1_000, true), wait),
        News::Back
    );
    let (piece, again) = sender.transmit(1_000);
    assert_eq!((piece.offset, piece.length, again), (1_000, 1_000, true));
    assert_eq!(
        sender.on_ack(Time(4), wanted(1, 2_500, false), wait),
        News::Done(0)
    );
    assert_eq!(
        sender.on_ack(Time(4), wanted(1, 2_500, false), wait),
        News::Heard
    );
    assert_eq!(
        sender.on_ack(Time(4), wanted(2, 2_500, false), wait),
        News::Nonsense
    );
    sender.check();
    assert!(sender.is_idle() && sender.is_used() && sender.deadline() == Time::NEVER);
}

const PIECE: Piece = Piece {
    ordinal: 0,
    offset: 0,
    length: 1_000,
    end: false,
};

/// Takes `piece`; returns what it was, what is answered, and what is told.
fn taken(receiver: &mut Receiver<6>, piece: Piece) -> (Verdict, Option<Wanted>, Vec<Event>) {
    let mut bench = crate::bench::Bench::at(Time::ZERO);
    let verdict = receiver.on_data(&mut bench.cx(), ConnId(7), piece);
    receiver.check();
    (verdict, receiver.answer(verdict), bench.events)
}

#[test]
fn a_receiver_takes_what_comes_in_order_and_asks_once_for_what_is_missing() {
    use Verdict::{Early, New, Nonsense, Old};
    let mut receiver = Receiver::<6>::default();
    let piece = |ordinal, offset, length, end| Piece {
        ordinal,
        offset,
        length,
        end,
    };
    // What comes, what it is, and what is answered: message, position, gap.
    for (ordinal, offset, length, end, verdict, answer) in [
        (0, 0, 1_000, false, New, Some((0, 1_000, false))),
        (0, 2_000, 1_000, false, Early, Some((0, 1_000, true))),
        (0, 3_000, 1_000, false, Early, None), // it has said so
        (0, 0, 1_000, false, Old, Some((0, 1_000, false))),
        (0, 1_000, 1_000, false, New, Some((0, 2_000, false))),
        (0, 3_000, 1_000, false, Early, Some((0, 2_000, true))), // another byte
        (0, 2_000, 500, true, New, Some((1, 2_500, false))),
        (0, 2_000, 500, true, Old, Some((1, 2_500, false))),
        (2, 2_500, 1_000, false, Nonsense, None),
        (1, 2_600, 1, false, Early, Some((1, 2_500, true))),
        (1, 2_500, 0, true, New, Some((2, 2_500, false))),
        // The gap before says nothing of the next message.
        (2, 2_600, 1, false, Early, Some((2, 2_500, true))),
    ] {
        let piece = piece(ordinal, offset, length, end);
        let (was, said, _) = taken(&mut receiver, piece);
        let said = said.map(|wanted| (wanted.ordinal, wanted.offset, wanted.gap));
        assert_eq!((was, said), (verdict, answer), "{piece:?}");
    }
    assert_eq!(receiver.complete(), 2);
}

#[test]
fn a_receiver_tells_of_every_byte_and_every_message_once() {
    let mut receiver = Receiver::<6>::default();
    let conn = ConnId(7);
    let data = |offset, length| Event::Data {
        conn,
        offset,
        length,
    };
    assert!(!receiver.is_under_way() && receiver.complete() == 0);
    assert_eq!(taken(&mut receiver, PIECE).2, [data(0, 1_000)]);
    assert!(receiver.is_under_way() && receiver.complete() == 0);
    assert_eq!(taken(&mut receiver, PIECE).2, []);
    let last = Piece {
        offset: 1_000,
        length: 500,
        end: true,
        ..PIECE
    };
    let received = |ordinal, length| Event::Received {
        conn,
        ordinal,
        length,
    };
    let events = taken(&mut receiver, last).2;
    assert_eq!(events, [data(1_000, 500), received(0, 1_500)]);
    assert!(!receiver.is_under_way() && receiver.complete() == 1);
    assert_eq!(taken(&mut receiver, last).2, []);
    let empty = Piece {
        ordinal: 1,
        offset: 1_500,
        length: 0,
        end: true,
    };
    assert_eq!(taken(&mut receiver, empty).2, [received(1, 0)]);
}

#[test]
fn an_empty_piece_that_ends_nothing_closes_no_gap() {
    let mut receiver = Receiver::<6>::default();
    let at = |offset, length| Piece {
        offset,
        length,
        ..PIECE
    };
    assert!(
        taken(&mut receiver, at(5, 5))
            .1
            .is_some_and(|wanted| wanted.gap)
    );
    assert_eq!(taken(&mut receiver, at(0, 0)).0, Verdict::New);
    assert_eq!(
        taken(&mut receiver, at(5, 5)).1,
        None,
        "it has complained already"
    );
}

#[test]
fn a_stream_has_so_much_room_and_no_more() {
    let mut sender = Sender::<16>::default();
    assert!(!sender.is_used() && sender.is_idle() && !sender.has_more());
    assert_eq!(POSITION_MAX, u64::MAX >> 16, "48 bits");
    assert!(!sender.push(POSITION_MAX + 1) && !sender.push(u64::MAX));
    assert!(sender.push(POSITION_MAX - 10) && sender.is_used() && !sender.is_idle());
    assert!(!sender.push(11) && sender.push(10) && !sender.push(1) && sender.push(0));
    sender.check();
    // What is done makes no room: positions are those of the whole stream.
    let mut sender = Sender::<16>::default();
    assert!(sender.push(10) && sender.push(POSITION_MAX - 20));
    sender.transmit(10);
    assert_eq!(
        sender.on_ack(Time(1), wanted(1, 10), Span(7)),
        News::Done(0)
    );
    assert!(!sender.push(11) && sender.push(10) && !sender.push(1));
    sender.check();
}

/// A sender of two messages, of which so many pieces of 1000 B have left.
fn sending(pieces: usize) -> Sender<16> {
    let mut sender = Sender::default();
    assert!(sender.push(2_500) && sender.push(700));
    for _ in 0..pieces {
        sender.transmit(1_000);
        sender.expect(Time(10), Span::us(1));
    }
    sender.check();
    sender
}

fn wanted(ordinal: u16, offset: u64) -> Wanted {
    Wanted {
        ordinal,
        offset,
        gap: false,
    }
}

#[test]
fn bytes_on_the_way_are_those_that_left_and_are_not_acknowledged() {
    let mut sender = sending(0);
    assert_eq!(
        (sender.unacked(), sender.on_the_way(), sender.has_more()),
        (0, false, true)
    );
    let sizes: Vec<_> = (0..3).map(|_| sender.transmit(1_000).0.length).collect();
    assert_eq!(
        (sizes, sender.has_more()),
        (vec![1_000, 1_000, 500], false),
        "the next one waits"
    );
    assert_eq!((sender.unacked(), sender.acked()), (2_500, 0));
    assert_eq!(
        sender.on_ack(Time(20), wanted(0, 1_000), Span(7)),
        News::Heard
    );
    assert_eq!(
        (sender.unacked(), sender.acked(), sender.deadline()),
        (1_500, 1_000, Time(27))
    );
    // Every byte is there, and of the end nothing is known: it is still on the way.
    assert_eq!(
        sender.on_ack(Time(30), wanted(0, 2_500), Span(7)),
        News::Heard
    );
    assert_eq!(
        (sender.unacked(), sender.on_the_way(), sender.deadline()),
        (0, true, Time(37))
    );
    assert_eq!(
        sender.on_ack(Time(40), wanted(1, 2_500), Span(7)),
        News::Done(0)
    );
    assert_eq!(
        (sender.acked(), sender.on_the_way(), sender.has_more()),
        (2_500, false, true)
    );
    let (piece, again) = sender.transmit(1_000);
    let next = Piece {
        ordinal: 1,
        offset: 2_500,
        length: 700,
        end: true,
    };
    assert_eq!((piece, again), (next, false));
    sender.check();
}

#[test]
fn an_acknowledgement_of_nothing_new_moves_no_timer() {
    let mut sender = sending(2);
    let due = sender.deadline();
    assert_eq!(due, Time(10).after(Span::us(1)));
    assert_eq!(sender.on_ack(Time(20), wanted(0, 0), Span(7)), News::Heard);
    assert_eq!(
        sender.on_ack(Time(20), wanted(u16::MAX, 5_000), Span(7)),
        News::Heard,
        "an old one"
    );
    assert_eq!((sender.deadline(), sender.unacked()), (due, 2_000));
    // A complaint that an acknowledgement has overtaken: what it misses is there.
    let mut late = sending(3);
    late.on_ack(Time(20), wanted(0, 2_000), Span(7));
    let gap = Wanted {
        gap: true,
        ..wanted(0, 1_000)
    };
    assert_eq!(late.on_ack(Time(21), gap, Span(7)), News::Heard);
    assert_eq!((late.unacked(), late.deadline()), (500, Time(27)));
    assert_eq!(
        sender.on_ack(Time(20), wanted(0, 2_000), Span(7)),
        News::Heard
    );
    assert_eq!(sender.deadline(), Time::NEVER, "nothing is on the way");
    assert_eq!(
        sender.on_ack(Time(20), wanted(0, 1_999), Span(7)),
        News::Heard,
        "overtaken"
    );
    assert_eq!(sender.acked(), 2_000);
    // An end that never left cannot have arrived.
    assert_eq!(
        sender.on_ack(Time(20), wanted(1, 2_000), Span(7)),
        News::Nonsense
    );
    // A gap where nothing is on the way: there is nothing to go back for.
    let gap = Wanted {
        gap: true,
        ..wanted(0, 2_000)
    };
    assert_eq!(sender.on_ack(Time(20), gap, Span(7)), News::Heard);
}

#[test]
fn a_late_acknowledgement_saves_what_was_to_be_sent_again() {
    let mut sender = sending(2);
    assert!(sender.on_deadline(3));
    assert_eq!(
        (sender.unacked(), sender.deadline(), sender.tries()),
        (0, Time::NEVER, 1)
    );
    assert_eq!(
        sender.on_ack(Time(20), wanted(0, 1_500), Span(7)),
        News::Heard
    );
    assert_eq!((sender.tries(), sender.deadline()), (0, Time::NEVER));
    let (piece, again) = sender.transmit(1_000);
    assert_eq!((piece.offset, piece.length, again), (1_500, 1_000, true));
    let gap = Wanted {
        gap: true,
        ..wanted(0, 1_500)
    };
    assert_eq!(sender.on_ack(Time(30), gap, Span(7)), News::Back);
    assert_eq!((sender.unacked(), sender.deadline()), (0, Time::NEVER));
}

#[test]
fn a_sender_gives_up_after_so_many_silences_in_a_row() {
    let mut sender = sending(1);
    assert_eq!([0; 3].map(|_| sender.on_deadline(2)), [true, true, false]);
    assert_eq!(sender.tries(), 3);
    sender.transmit(1_000);
    sender.wait_until(Time(99));
    assert_eq!(sender.deadline(), Time(99));
    assert_eq!(
        sender.on_ack(Time(50), wanted(0, 1_000), Span(7)),
        News::Heard
    );
    assert!(sender.on_deadline(2), "one was heard in between");
}

#[test]
fn a_cancelled_sender_keeps_the_message_under_way_as_far_as_it_has_left() {
    let mut sender = sending(1);
    sender.cancel();
    sender.check();
    assert!(sender.has_more(), "an end has to be said");
    let (piece, again) = sender.transmit(1_000);
    let end = Piece {
        ordinal: 0,
        offset: 1_000,
        length: 0,
        end: true,
    };
    assert_eq!((piece, again), (end, false));
    assert!(sender.on_deadline(3));
    // What had left leaves again, now with the end on it.
    let (piece, again) = sender.transmit(1_000);
    assert_eq!((piece, again), (Piece { end: true, ..PIECE }, true));
    assert_eq!(
        sender.on_ack(Time(20), wanted(1, 1_000), Span(7)),
        News::Done(0)
    );
    assert!(sender.is_idle(), "the second message was never begun");
    // One that is not the first of its stream.
    let mut second = sending(3);
    second.on_ack(Time(20), wanted(1, 2_500), Span(7));
    second.transmit(300);
    second.cancel();
    second.check();
    let (piece, _) = second.transmit(1_000);
    assert_eq!((piece.offset, piece.length, piece.end), (2_800, 0, true));
    let mut idle = Sender::<16>::default();
    idle.cancel();
    assert!(idle.is_idle() && !idle.is_used());
}

#[test]
fn an_end_that_is_repeated_is_a_repetition_though_it_is_empty() {
    let mut sender = Sender::<16>::default();
    assert!(sender.push(0));
    assert!(!sender.transmit(1_000).1);
    assert!(sender.on_the_way() && sender.on_deadline(3));
    assert!(sender.transmit(1_000).1);
}

#[test]
fn what_a_sender_waits_for_is_named() {
    assert_eq!(Sender::<16>::default().stuck(), None);
    let said = |sender: &Sender<16>| sender.stuck().unwrap();
    let mut sender = sending(0);
    let state = |acked| format!("sending message 0, {acked} of 2500 B acknowledged");
    assert_eq!(said(&sender), (state(0), "the line".to_owned()));
    for _ in 0..2 {
        sender.transmit(1_000);
    }
    sender.expect(Time(3_000_000), Span::us(1));
    sender.on_ack(Time(3_000_000), wanted(0, 1_000), Span::us(1));
    assert_eq!(
        said(&sender),
        (state(1_000), "an ACK, or sends again at 4us".to_owned())
    );
}

#[test]
fn broken_books_are_noticed() {
    let breaks: [fn(&mut Sender<16>); 6] = [
        |sender| sender.base = 1_001,
        |sender| sender.acked = 2_001,
        |sender| sender.next = 2_001,
        |sender| sender.high = 2_501,
        |sender| sender.ended = true,
        |sender| sender.messages.clear(),
    ];
    for (n, spoil) in breaks.into_iter().enumerate() {
        let mut sender = sending(2);
        sender.on_ack(Time(20), wanted(0, 1_000), Span(7));
        sender.check();
        spoil(&mut sender);
        assert!(std::panic::catch_unwind(|| sender.check()).is_err(), "{n}");
    }
    let idle = Sender::<16> {
        retry_at: Some(Time(1)),
        ..Sender::default()
    };
    assert!(std::panic::catch_unwind(|| idle.check()).is_err());
    let receiver = Receiver::<6> {
        base: 2,
        next: 1,
        ..Receiver::default()
    };
    assert!(std::panic::catch_unwind(|| receiver.check()).is_err());
}
