//! What a pause of the next switch does to a transport: it waits, and takes the silence for what it is.

use super::{Failures, Subject, each};
use crate::{A, B, Pair};
use model::{ConnId, Event, HostId, Signal};
use units::{Span, Time};

/// When something ended at a host.
fn ended(pair: &Pair<'_>, conn: ConnId, at: HostId) -> Option<Time> {
    let found = pair.events().iter().find(|&&(_, host, event)| {
        host == at && matches!(event, Event::Received { conn: of, .. } if of == conn)
    });
    found.map(|&(at, ..)| at)
}

/// Everything that A sends, or the data of one connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum What {
    Flow,
    Everything,
}

impl What {
    fn signals(self, conn: ConnId, pause: bool) -> Vec<Signal> {
        match (self, pause) {
            (Self::Flow, true) => vec![Signal::PauseFlow(conn)],
            (Self::Flow, false) => vec![Signal::ResumeFlow(conn)],
            (Self::Everything, true) => (0..8).map(Signal::PausePriority).collect(),
            (Self::Everything, false) => (0..8).map(Signal::ResumePriority).collect(),
        }
    }
}

/// Bytes of a message that a pause interrupts.
const LENGTH: u64 = 200_000;

/// One pause of what A sends to B, from `from` on for `lasts`.
fn interrupted(subject: &Subject, what: What, from: Time, lasts: Span) {
    let make = subject.make();
    // Whoever waits for credits may be in no hurry after a long pause.
    let mut pair = subject.pair(make).limit(Span::ms(10_000_000));
    let paused = pair.message(Time(2_000_000), A, B, LENGTH);
    let other = pair.message(Time(2_000_000), A, B, LENGTH);
    let until = from.after(lasts);
    for signal in what.signals(paused, true) {
        pair.signal(from, A, signal);
    }
    for signal in what.signals(paused, false) {
        pair.signal(until, A, signal);
    }
    pair.run_until(Time(until.0 - 1));
    let codec = subject.codec();
    let left = |pair: &Pair<'_>, conn| {
        pair.count(|p| p.conn == conn && codec.payload(p).is_some_and(|(_, n)| n > 0))
    };
    let before = left(&pair, paused);
    let is_done = ended(&pair, paused, B).is_some();
    let long = lasts >= Span::ms(10);
    assert!(
        what == What::Everything || !long || ended(&pair, other, B).is_some(),
        "the other flow waits, too\n{}",
        pair.tail()
    );
    if let Err(unfinished) = pair.try_run() {
        panic!("{unfinished}");
    }
    let end = ended(&pair, paused, B).expect("it ran to its end");
    assert!(is_done || end >= until, "{end}");
    assert!(
        is_done || left(&pair, paused) > before,
        "what was held back came after the pause"
    );
    let totals = pair.totals();
    // B cannot know of a pause that holds back every answer of A; A does.
    let timeouts = match what {
        What::Flow => totals.timeouts,
        What::Everything => pair.totals_of(A).timeouts,
    };
    let repairs = (totals.retransmitted, timeouts, totals.duplicates);
    assert_eq!(
        repairs,
        (0, 0, 0),
        "sent again, timers, duplicates\n{}",
        pair.tail()
    );
}

/// Nothing of what is paused leaves (the driver here looks at every packet), the rest goes on, all
/// arrives after the pause, and no timer takes a pause for a loss, however long it lasts.
pub fn a_pause_holds_back_and_is_no_loss(subjects: &[Subject]) {
    let mut failures = Failures::default();
    for subject in subjects {
        for what in [What::Flow, What::Everything] {
            for from in [1, 3, 15, 25, 60, 150].map(|us| Time(us * 1_000_000)) {
                for lasts in [20, 500, 15_000, 2_000_000].map(Span::us) {
                    let name = format!("{}, {what:?} at {from} for {lasts}", subject.name);
                    failures.watch(&name, || interrupted(subject, what, from, lasts));
                }
            }
        }
    }
    failures.report();
}

/// A pause of a connection that is over, of one that never was, and of the end that only receives.
pub fn a_pause_of_nothing_changes_nothing(subjects: &[Subject]) {
    each(subjects, |subject| {
        let run = |signals: &[(u64, HostId, Signal)]| {
            let make = subject.make();
            let mut pair = subject.pair(make);
            let conn = pair.message(Time::ZERO, A, B, LENGTH);
            for &(us, host, signal) in signals {
                pair.signal(Time(us * 1_000_000), host, signal);
            }
            pair.message(Time(400_000_000_000), A, B, LENGTH);
            pair.run();
            let times: Vec<_> = pair.events().iter().map(|&(at, ..)| at).collect();
            (conn, times)
        };
        let (conn, plain) = run(&[]);
        let nobody = ConnId(1_000);
        let pauses = [
            (10, A, Signal::PauseFlow(nobody)),
            // Acknowledgements and credits are no data.
            (20, B, Signal::PauseFlow(conn)),
            (300_000, A, Signal::PauseFlow(conn)),
            (300_001, A, Signal::PauseFlow(conn)),
            (300_002, A, Signal::ResumeFlow(nobody)),
        ];
        assert_eq!(run(&pauses).1, plain);
    });
}
