//! What becomes of packets that find no room: cut, sent back, dropped, or another in their place.

use super::*;

/// Two whole frames wait in number 1; two heads of 64 B in number 0; one frame of control in number 2.
fn trimming(bounce: bool) -> Queues {
    let heads = QueueSpec {
        takes: Takes {
            trimmed: Some(true),
            ..Takes::ALL
        },
        limit: Limit::Packets(2),
        ..QueueSpec::DATA
    };
    let whole = QueueSpec {
        limit: Limit::Packets(2),
        over: Over::Trim {
            to: 64,
            coin: false,
            bounce,
        },
        ..QueueSpec::DATA
    };
    let control = QueueSpec {
        limit: Limit::Packets(1),
        ..QueueSpec::DATA
    };
    port(
        0,
        &[
            heads,
            only(Class::Plain, whole),
            only(Class::Control, control),
        ],
    )
}

#[test]
fn what_finds_no_room_is_trimmed_sent_back_or_dropped() {
    for bounce in [true, false] {
        let mut port = trimming(bounce);
        let none = if bounce { Verdict::Bounced } else { FULL };
        let frames: Vec<_> = (0..6)
            .map(|conn| put(&mut port, data(conn, 1_538)))
            .collect();
        let queued = [1, 1, 0, 0].map(Verdict::Queued);
        assert_eq!(frames, [&queued[..], &[none; 2]].concat());
        let mut head = data(7, 1_538);
        head.trim(64);
        assert_eq!(put(&mut port, head), none, "cut by a port before this one");
        head.bounce(HostId(1));
        assert_eq!(put(&mut port, head), FULL, "once is enough");
        let mut back = data(8, 1_538);
        back.bounce(HostId(1));
        assert_eq!(put(&mut port, back), FULL, "cut here, and sent back before");
        let control = [(); 2].map(|()| put(&mut port, of(Class::Control, 9, 84)));
        assert_eq!(control, [Verdict::Queued(2), FULL], "it was never cut");
        assert_eq!(drain(&mut port).0, [2, 3, 0, 1, 9]);
        assert!(!port.has_spilled() && port.spilled().is_none());
    }
}

#[test]
fn what_is_cut_may_find_no_queue_of_heads() {
    let whole = |trimmed| QueueSpec {
        takes: Takes {
            trimmed,
            ..Takes::ALL
        },
        limit: Limit::Packets(1),
        over: Over::Trim {
            to: 64,
            coin: false,
            bounce: true,
        },
        ..QueueSpec::DATA
    };
    // Its own queue takes the heads, or none does.
    for queue in [whole(None), whole(Some(false))] {
        let mut port = port(0, &[queue]);
        let frames = [(); 2].map(|()| put(&mut port, data(1, 1_538)));
        assert_eq!(frames, [Verdict::Queued(0), FULL]);
    }
    let mut port = port(0, &[whole(None)]);
    put(&mut port, data(1, 1_538));
    let mut head = data(2, 1_538);
    head.trim(64);
    assert_eq!(put(&mut port, head), FULL, "a head is not cut again");
}

#[test]
fn the_last_that_waits_makes_room_where_the_coin_falls_and_the_other_fits() {
    let whole = QueueSpec {
        limit: Limit::Bytes(Bytes(2_000)),
        over: Over::Trim {
            to: 64,
            coin: true,
            bounce: false,
        },
        ..QueueSpec::DATA
    };
    let heads = QueueSpec {
        takes: Takes {
            trimmed: Some(true),
            ..Takes::ALL
        },
        limit: Limit::Packets(1),
        ..QueueSpec::DATA
    };
    let mut port = port(0, &[heads, whole]);
    let mut cut = [0, 0];
    for _ in 0..200 {
        put(&mut port, data(1, 1_500));
        put(&mut port, data(2, 500));
        let verdict = put(&mut port, data(3, 500));
        let order = drain(&mut port).0;
        match order[..] {
            [2, 1, 3] => {
                assert_eq!(verdict, Verdict::Queued(1));
                cut[0] += 1;
            }
            [3, 1, 2] => {
                assert_eq!(verdict, Verdict::Queued(0));
                cut[1] += 1;
            }
            _ => panic!("{order:?}"),
        }
        // A larger one never takes the place of the last, whatever the coin says.
        put(&mut port, data(1, 1_500));
        put(&mut port, data(2, 500));
        assert_eq!(put(&mut port, data(3, 501)), Verdict::Queued(0));
        assert_eq!(drain(&mut port).0, [3, 1, 2]);
    }
    assert!(cut.iter().all(|&n| n > 70), "{cut:?}");
    // Where the heads are full, the last is dropped for the one that comes, or that itself.
    let mut seen = [0, 0];
    for _ in 0..100 {
        for (conn, size) in [(1, 1_500), (2, 500), (3, 501)] {
            put(&mut port, data(conn, size));
        }
        let verdict = offer(&mut port, 0, data(4, 500));
        let spilled = port.spilled().map(|(p, fate)| (p.conn.0, fate));
        port.check();
        if verdict == FULL {
            assert_eq!(spilled, None);
        } else {
            let dropped = (2, Spilled::Dropped(DropReason::Full));
            assert_eq!((verdict, spilled), (Verdict::Queued(1), Some(dropped)));
        }
        seen[usize::from(verdict == FULL)] += 1;
        drain(&mut port);
    }
    assert!(seen.iter().all(|&n| n > 30), "{seen:?}");
}

#[test]
fn higher_ranks_make_room_until_there_is_enough() {
    let ranked = QueueSpec {
        order: Order::Rank,
        over: Over::PushOut,
        ..QueueSpec::DATA
    };
    let mut port = port(3_000, &[ranked]);
    let rank = |rank: u32, size| {
        let mut packet = data(rank, size);
        packet.set_shared(rank);
        packet
    };
    for conn in [5, 9, 7] {
        put(&mut port, rank(conn, 1_000));
    }
    assert_eq!(
        offer(&mut port, 0, rank(9, 1)),
        FULL,
        "as high as the highest"
    );
    assert!(!port.has_spilled());
    assert_eq!(offer(&mut port, 0, rank(6, 1_500)), Verdict::Queued(0));
    assert!(port.has_spilled());
    let spilled: Vec<_> = std::iter::from_fn(|| port.spilled()).collect();
    let spilled: Vec<_> = spilled.iter().map(|(p, fate)| (p.conn.0, *fate)).collect();
    let out = Spilled::Dropped(DropReason::PushedOut);
    assert_eq!(spilled, [(7, out), (9, out)]);
    assert_eq!(drain(&mut port), (vec![5, 6], Dequeue::Empty));
}
