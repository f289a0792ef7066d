//! A sender that asks: what answers its requests.

use super::*;

#[test]
fn a_request_that_was_heard_is_not_repeated_and_one_that_was_not_is() {
    for (heard, requests) in [(Some(0), 0), (Some(1460), 5), (None, 5)] {
        let mut host = Alone::new(A);
        host.step(|endpoint, cx| {
            endpoint.connect(cx, CONN, B, Lifetime::OneMessage);
            endpoint.send(cx, CONN, 5000);
        });
        host.after(Span::us(10));
        if let Some(position) = heard {
            host.hear(frames::heard(A, CONN, position, false, 84));
        }
        let said = host.after(Span::ms(50));
        assert_eq!(said.len(), requests, "{heard:?}: {said:?}");
    }
}

#[test]
fn a_request_whose_first_credits_are_lost_is_told_that_it_was_heard() {
    // Ten requests at one moment: the credit queue of the line holds eight.
    let mut host = Alone::new(B);
    for n in 0..10 {
        host.hear(frames::request(B, ConnId(n), 0, 1000, true, 84));
    }
    let heard = |said: &[String]| said.iter().filter(|text| *text == "HEARD from 0").count();
    let said = host.after(Span::us(1));
    assert_eq!(heard(&said), 2, "{said:?}");
    // The network has lost those of the others.
    let said = host.after(Span::us(100));
    assert_eq!(heard(&said), 8, "{said:?}");
}

#[test]
fn each_answer_to_a_request_measures_the_round_trip_anew() {
    let mut host = Alone::new(A);
    host.step(|endpoint, cx| {
        endpoint.connect(cx, CONN, B, Lifetime::Persistent);
        endpoint.send(cx, CONN, 14_600);
    });
    let rtt = |host: &Alone| host.endpoint.senders.iter().next().unwrap().rtt();
    host.after(Span::us(300));
    host.hear(frames::credit(A, CONN, 1, 84));
    assert_eq!(
        rtt(&host),
        Some(Span::us(300)),
        "the first credits were lost"
    );
    // What is missing is asked for after all has been sent.
    for n in 2..=10 {
        host.hear(frames::credit(A, CONN, n, 84));
    }
    host.after(Span::us(10));
    host.hear(frames::nack(A, CONN, 1460, 0, 84));
    assert_eq!(
        host.after(Span::us(20)),
        ["REQUEST from 1460, 9 packets, all sent"]
    );
    // It was given before the request came.
    host.hear(frames::answer(A, CONN, (1, 11), 84));
    assert_eq!(rtt(&host), Some(Span::us(300)));
    host.after(Span::us(10));
    host.hear(frames::answer(A, CONN, (2, 12), 84));
    assert_eq!(rtt(&host), Some(Span::us(30)));
}

#[test]
fn a_request_is_repeated_as_soon_where_credits_from_before_it_still_come() {
    for (nth, repeated) in [(1, true), (2, false)] {
        let mut host = Alone::new(A);
        host.step(|endpoint, cx| {
            endpoint.connect(cx, CONN, B, Lifetime::Persistent);
            endpoint.send(cx, CONN, 14_600);
        });
        host.after(Span::us(10));
        (1..=10).for_each(|n| host.hear(frames::answer(A, CONN, (1, n), 84)));
        host.hear(frames::nack(A, CONN, 1460, 0, 84));
        host.hear(frames::answer(A, CONN, (nth, 11), 84));
        let said = host.after(Span::us(100));
        assert!(
            said.contains(&"DATA 1460..2920 again, credit 11".to_owned()),
            "{said:?}"
        );
        let said = host.after(Span::ms(2));
        let again = said.iter().any(|text| text.starts_with("REQUEST"));
        assert_eq!(again, repeated, "{said:?}");
    }
}
