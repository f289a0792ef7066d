//! The gates of a host's line: what the next switch does not want now. The driver of the endpoint keeps
//! them.
//!
//! A pause of a *flow* holds back the data of one connection: acknowledgements, requests and credits
//! belong to the flow of the other direction and are small. A pause of a *priority* holds back all of
//! it. [802.1Q s36 for the second; bfc's and aquarius' control packets for the first]

use crate::{Class, ConnId, Packet, Signal};
use units::{Span, Time};

/// Connections of a host of which a pause is kept. [ours: more than any switch tells apart]
pub const PAUSED_MAX: usize = 8192;

/// Which packets of a host may leave. What each step asks comes first.
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub struct Gates {
    /// A bit per priority that is paused, and how many connections are.
    priorities: u8,
    paused: u32,
    /// When each was paused last, and resumed last.
    closed: [Time; 8],
    resumed: [Time; 8],
    /// When the pause of each ends by itself.
    until: [Time; 8],
    /// Connections that are or were paused, by number.
    flows: Vec<Flow>,
    /// Pauses for which there was no room.
    ignored: u64,
    /// The longest pause of one of them, of those that are over.
    longest: Span,
    /// How often a pause began or ended, and of which connection the last was; none where it was of a priority.
    changes: u64,
    last: Option<ConnId>,
}

/// Up to which of their changes somebody has looked at the gates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen(u64);

/// What changed since then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Changed {
    /// Nothing.
    Nothing,
    /// This connection was paused, or resumed.
    Flow(ConnId),
    /// A priority was, or several connections.
    More,
}

/// A connection that is or was paused.
#[derive(Clone, Copy, Debug)]
struct Flow {
    conn: ConnId,
    /// When it was paused, and resumed; none while it is paused.
    since: Time,
    resumed: Option<Time>,
    /// When its pause ends by itself.
    until: Time,
}

/// How often a timer has been excused in a row, and when last; see [`Gates::excuse`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Excused {
    /// The moment without its lowest three bits, which are the number.
    last: u64,
}

impl Excused {
    const NUMBER: u64 = 7;
    /// How often a timer is excused in a row by pauses that are shorter than its wait; a higher number was refused. [ours]
    const IN_A_ROW: u64 = 4;

    /// The moment for which a timer is to be set that has run out at `now` after `wait`, because of a pause from `began`
    /// until `ended`. None where the pause was over long before, or where it was short and others were before it. A timer that
    /// several pauses may excuse asks for each, and is counted once.
    fn grant(&mut self, now: Time, wait: Span, began: Time, ended: Time) -> Option<Time> {
        let later = Some(ended.after(wait)).filter(|&later| later > now)?;
        let (last, number) = (Time(self.last & !Self::NUMBER), self.last & Self::NUMBER);
        // A timer that heard of something meanwhile rings later than that; drivers look at their clocks seldom.
        let anew = now > last.after(wait).after(Span(wait.0 / 8));
        let rings = now.0 & !Self::NUMBER;
        let number = if anew || ended.since(began) >= wait {
            1
        } else if rings == last.0 && number > 0 {
            number
        } else {
            number.min(Self::IN_A_ROW) + 1
        };
        self.last = rings + number;
        (number <= Self::IN_A_ROW).then_some(later)
    }
}

static OPEN: Gates = Gates {
    priorities: 0,
    closed: [Time::ZERO; 8],
    resumed: [Time::ZERO; 8],
    until: [Time::ZERO; 8],
    flows: Vec::new(),
    paused: 0,
    ignored: 0,
    longest: Span::ZERO,
    changes: 0,
    last: None,
};

impl Gates {
    /// The gates of a line without pauses.
    pub fn open() -> &'static Self {
        &OPEN
    }

    /// Heeds a pause or its end; whether that changed anything. A pause is kept for connections that
    /// are not there yet, too, until its end is heard.
    pub fn heed(&mut self, now: Time, signal: Signal) -> bool {
        self.heed_until(now, signal, Time::NEVER)
    }

    /// The same of a pause that [`Gates::lapse`] ends at `until`, unless it is asked for again.
    pub fn heed_until(&mut self, now: Time, signal: Signal, until: Time) -> bool {
        let changes = self.follow(now, signal, until);
        if changes {
            self.changes += 1;
            self.last = match signal {
                Signal::PauseFlow(conn) | Signal::ResumeFlow(conn) => Some(conn),
                Signal::PausePriority(_) | Signal::ResumePriority(_) => None,
            };
        }
        changes
    }

    /// What changed since somebody looked, who has seen it now.
    pub fn changed(&self, seen: &mut Seen) -> Changed {
        let since = self.changes.wrapping_sub(seen.0);
        seen.0 = self.changes;
        match (since, self.last) {
            (0, _) => Changed::Nothing,
            (1, Some(conn)) => Changed::Flow(conn),
            _ => Changed::More,
        }
    }

    fn follow(&mut self, now: Time, signal: Signal, until: Time) -> bool {
        match signal {
            Signal::PausePriority(priority) => {
                let bit = 1 << (priority & 7);
                self.until[usize::from(priority & 7)] = until;
                let changes = self.priorities & bit == 0;
                self.priorities |= bit;
                if changes {
                    self.closed[usize::from(priority & 7)] = now;
                }
                changes
            }
            Signal::ResumePriority(priority) => {
                let bit = 1 << (priority & 7);
                let changes = self.priorities & bit != 0;
                self.priorities &= !bit;
                if changes {
                    let place = usize::from(priority & 7);
                    self.resumed[place] = now;
                    self.longest = self.longest.max(now.since(self.closed[place]));
                }
                changes
            }
            Signal::PauseFlow(conn) => self.pause(now, conn, until),
            Signal::ResumeFlow(conn) => match self.place(conn) {
                Ok(at) if self.flows[at].resumed.is_none() => {
                    self.flows[at].resumed = Some(now);
                    self.longest = self.longest.max(now.since(self.flows[at].since));
                    self.paused -= 1;
                    true
                }
                Ok(_) | Err(_) => false,
            },
        }
    }

    /// Ends the pause that `signal` asked for, where its time is over; whether it did.
    pub fn lapse(&mut self, now: Time, signal: Signal) -> bool {
        let until = match signal {
            Signal::PausePriority(priority) => Some(self.until[usize::from(priority & 7)]),
            Signal::PauseFlow(conn) => self.place(conn).ok().map(|at| self.flows[at].until),
            Signal::ResumeFlow(_) | Signal::ResumePriority(_) => None,
        };
        let over = until.is_some_and(|until| until <= now);
        let end = signal.end().filter(|_| over);
        end.is_some_and(|end| self.heed(now, end))
    }

    fn pause(&mut self, now: Time, conn: ConnId, until: Time) -> bool {
        match self.place(conn) {
            Ok(at) => {
                self.flows[at].until = until;
                if self.flows[at].resumed.take().is_none() {
                    return false;
                }
                self.flows[at].since = now;
            }
            Err(_) if self.paused as usize == PAUSED_MAX => {
                self.ignored += 1;
                return false;
            }
            Err(mut at) => {
                if self.flows.len() == PAUSED_MAX {
                    // What was resumed is only remembered for the sake of timers.
                    self.flows.retain(|flow| flow.resumed.is_none());
                    at = self.flows.partition_point(|flow| flow.conn < conn);
                }
                let flow = Flow {
                    conn,
                    since: now,
                    resumed: None,
                    until,
                };
                self.flows.insert(at, flow);
            }
        }
        self.paused += 1;
        true
    }

    /// The endpoint keeps nothing of `conn` any more. A pause of it holds until its end is heard.
    pub fn forget(&mut self, conn: ConnId) {
        if !self.flows.is_empty()
            && let Ok(at) = self.place(conn)
            && self.flows[at].resumed.is_some()
        {
            self.flows.remove(at);
        }
    }

    fn place(&self, conn: ConnId) -> Result<usize, usize> {
        self.flows.binary_search_by_key(&conn, |flow| flow.conn)
    }

    /// Whether anything is paused.
    #[inline]
    pub fn any_closed(&self) -> bool {
        self.priorities != 0 || self.paused != 0
    }

    /// Whether control packets and credits of this priority may leave.
    #[inline]
    pub fn may_say(&self, priority: u8) -> bool {
        self.priorities & 1 << (priority & 7) == 0
    }

    /// Whether data of `conn` may leave at this priority.
    #[inline]
    pub fn may_send(&self, conn: ConnId, priority: u8) -> bool {
        self.may_say(priority) && (self.paused == 0 || !self.is_paused(conn))
    }

    fn is_paused(&self, conn: ConnId) -> bool {
        self.place(conn)
            .is_ok_and(|at| self.flows[at].resumed.is_none())
    }

    /// Whether `packet` may leave.
    pub fn may_leave(&self, packet: &Packet) -> bool {
        match packet.class() {
            Class::Control | Class::Credit | Class::Link => self.may_say(packet.priority()),
            Class::Scheduled | Class::Unscheduled | Class::Plain => {
                self.may_send(packet.conn, packet.priority())
            }
        }
    }

    /// For a timer of `conn` that has run out at `now` after waiting for `wait`: the moment for which
    /// it is to be set instead, where that silence is no sign of a loss, because data of `conn` is
    /// held back or was until less than `wait` ago. Pauses shorter than `wait` that come again and again excuse it
    /// four times in a row, or what is lost would wait for the end of them all; `row` is the timer's own.
    pub fn excuse(
        &self,
        now: Time,
        conn: ConnId,
        priority: u8,
        wait: Span,
        row: &mut Excused,
    ) -> Option<Time> {
        let of_flow = self.place(conn).ok().and_then(|at| {
            let Flow { since, resumed, .. } = self.flows[at];
            row.grant(now, wait, since, resumed.unwrap_or(now))
        });
        self.excuse_all(now, priority, wait, row).max(of_flow)
    }

    /// The same for a timer that waits for an answer to a control packet.
    pub fn excuse_all(
        &self,
        now: Time,
        priority: u8,
        wait: Span,
        row: &mut Excused,
    ) -> Option<Time> {
        let place = usize::from(priority & 7);
        let until = if self.may_say(priority) {
            self.resumed[place]
        } else {
            now
        };
        // At the beginning of time no queue was ever paused.
        (until > Time::ZERO)
            .then(|| row.grant(now, wait, self.closed[place], until))
            .flatten()
    }

    /// Pauses of flows that it did not heed because [`PAUSED_MAX`] others were.
    pub fn ignored(&self) -> u64 {
        self.ignored
    }

    /// The longest pause of one connection or priority, where those that are not over end `now`.
    pub fn longest(&self, now: Time) -> Span {
        let flows = self.flows.iter().filter(|flow| flow.resumed.is_none());
        let flows = flows.map(|flow| flow.since);
        let closed = (0..8).filter(|&place| self.priorities >> place & 1 == 1);
        let closed = closed.map(|place: usize| self.closed[place]);
        let open = flows.chain(closed).map(|since| now.since(since)).max();
        self.longest.max(open.unwrap_or(Span::ZERO))
    }

    /// Panics where an invariant of our own state is broken.
    pub fn check(&self) {
        let paused = self.flows.iter().filter(|flow| flow.resumed.is_none());
        assert_eq!(paused.count(), self.paused as usize, "paused connections");
        assert!(self.flows.len() <= PAUSED_MAX && self.flows.is_sorted_by_key(|flow| flow.conn));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::HostId;

    fn packet(conn: u32, class: Class, priority: u8) -> Packet {
        let mut packet = Packet::new(HostId(0), ConnId(conn), class, 0, 84);
        packet.set_priority(priority);
        packet
    }

    #[test]
    fn a_flow_holds_back_its_data_and_a_priority_everything() {
        let mut gates = Gates::default();
        assert!(gates.heed(Time(1), Signal::PauseFlow(ConnId(7))) && gates.any_closed());
        assert!(!gates.heed(Time(2), Signal::PauseFlow(ConnId(7))), "again");
        for class in Class::ALL {
            let is_data = !matches!(class, Class::Control | Class::Credit | Class::Link);
            assert_eq!(gates.may_leave(&packet(7, class, 0)), !is_data, "{class:?}");
            assert!(gates.may_leave(&packet(8, class, 0)), "another flow");
        }
        assert!(gates.heed(Time(3), Signal::PausePriority(3)));
        assert!(gates.heed(Time(4), Signal::ResumeFlow(ConnId(7))));
        for class in Class::ALL {
            assert!(!gates.may_leave(&packet(7, class, 3)), "{class:?}");
            assert!(gates.may_leave(&packet(7, class, 2)), "another priority");
        }
        assert!(gates.heed(Time(5), Signal::ResumePriority(3)) && !gates.any_closed());
        gates.check();
    }

    #[test]
    fn silence_during_a_pause_and_right_after_it_says_nothing() {
        let (mut gates, conn, wait) = (Gates::default(), ConnId(7), Span(100));
        let row = &mut Excused::default();
        assert_eq!(
            gates.excuse(Time(50), conn, 0, wait, row),
            None,
            "never paused"
        );
        gates.heed(Time(1000), Signal::PauseFlow(conn));
        assert_eq!(
            gates.excuse(Time(5000), conn, 0, wait, row),
            Some(Time(5100))
        );
        assert_eq!(gates.excuse(Time(5000), ConnId(8), 0, wait, row), None);
        assert_eq!(
            gates.excuse_all(Time(5000), 0, wait, row),
            None,
            "control leaves"
        );
        gates.heed(Time(6000), Signal::ResumeFlow(conn));
        assert_eq!(
            gates.excuse(Time(6050), conn, 0, wait, row),
            Some(Time(6100))
        );
        assert_eq!(gates.excuse(Time(6100), conn, 0, wait, row), None);
        gates.heed(Time(7000), Signal::PausePriority(0));
        assert_eq!(gates.excuse_all(Time(7500), 0, wait, row), Some(Time(7600)));
        assert_eq!(gates.excuse_all(Time(7500), 1, wait, row), None);
        gates.heed(Time(8000), Signal::ResumePriority(0));
        assert_eq!(
            gates.excuse(Time(8099), conn, 0, wait, row),
            Some(Time(8100))
        );
    }

    #[test]
    fn short_pauses_that_come_again_excuse_a_timer_four_times_in_a_row() {
        let (wait, mut row) = (Span(100), Excused::default());
        let mut gates = Gates::default();
        // Closed for 30 of each 40, for ever.
        let storm = |gates: &mut Gates, until: u64, from: u64| {
            for at in (from..until - 30).step_by(40) {
                gates.heed(Time(at), Signal::PausePriority(0));
                gates.heed(Time(at + 30), Signal::ResumePriority(0));
            }
        };
        storm(&mut gates, 1_000, 0);
        let mut ring = Time(1_000);
        let mut rings = 0;
        while let Some(later) = gates.excuse_all(ring, 0, wait, &mut row) {
            // One ring, which another pause may excuse, too.
            let other = gates.excuse(ring, ConnId(7), 0, wait, &mut row);
            assert_eq!(other, Some(later));
            assert!(later > ring && later <= ring.after(wait), "{later}");
            rings += 1;
            storm(&mut gates, later.0, ring.0);
            ring = later;
        }
        assert_eq!(rings, 4);
        assert!((1_300..=1_400).contains(&ring.0), "{ring}");
        assert_eq!(gates.excuse_all(ring, 0, wait, &mut row), None, "again");
        // What is heard of meanwhile rings later, and begins anew.
        storm(&mut gates, 1_800, ring.0);
        assert!(gates.excuse_all(Time(1_800), 0, wait, &mut row).is_some());
        // A pause as long as the wait excuses however many were before it.
        storm(&mut gates, 2_600, 1_800);
        (1_880..2_600).step_by(80).for_each(|at| {
            gates.excuse_all(Time(at), 0, wait, &mut row);
        });
        assert_eq!(gates.excuse_all(Time(2_600), 0, wait, &mut row), None);
        gates.heed(Time(2_600), Signal::PausePriority(0));
        gates.heed(Time(2_700), Signal::ResumePriority(0));
        assert!(gates.excuse_all(Time(2_701), 0, wait, &mut row).is_some());
    }

    #[test]
    fn a_pause_that_is_not_asked_for_again_ends_by_itself() {
        let conn = ConnId(7);
        for pause in [Signal::PauseFlow(conn), Signal::PausePriority(0)] {
            let mut gates = Gates::default();
            assert!(gates.heed_until(Time(10), pause, Time(100)));
            assert!(!gates.lapse(Time(99), pause) && !gates.may_send(conn, 0));
            assert!(!gates.heed_until(Time(99), pause, Time(200)), "again");
            assert!(!gates.lapse(Time(100), pause) && !gates.may_send(conn, 0));
            assert!(gates.lapse(Time(200), pause) && gates.may_send(conn, 0));
            assert!(!gates.lapse(Time(200), pause), "twice");
            gates.heed(Time(300), pause);
            assert!(!gates.lapse(Time(1 << 60), pause), "this one has no end");
            gates.check();
        }
    }

    #[test]
    fn the_longest_pause_is_that_of_one_connection_or_priority() {
        let mut gates = Gates::default();
        let flow = |conn| {
            (
                Signal::PauseFlow(ConnId(conn)),
                Signal::ResumeFlow(ConnId(conn)),
            )
        };
        let ((pause, resume), (other, _)) = (flow(7), flow(8));
        gates.heed(Time(10), pause);
        gates.heed(Time(15), pause); // again
        gates.heed(Time(20), other);
        assert_eq!(gates.longest(Time(25)), Span(15));
        gates.heed(Time(30), resume);
        // It begins anew, although something has been paused all the time.
        gates.heed(Time(35), pause);
        assert_eq!(gates.longest(Time(39)), Span(20), "the first");
        assert_eq!(gates.longest(Time(60)), Span(40), "the other one");
        gates.heed(Time(100), Signal::PausePriority(3));
        gates.heed(Time(190), Signal::ResumePriority(3));
        gates.heed(Time(195), Signal::PausePriority(3));
        gates.heed(Time(196), Signal::ResumeFlow(ConnId(8)));
        gates.heed(Time(196), resume);
        assert_eq!(gates.longest(Time(200)), Span(176));
        assert_eq!(gates.longest(Time(400)), Span(205));
    }

    #[test]
    fn what_is_kept_of_pauses_is_bounded() {
        let mut gates = Gates::default();
        let flows = u32::try_from(PAUSED_MAX).unwrap();
        for conn in 0..flows {
            gates.heed(Time(1), Signal::PauseFlow(ConnId(conn)));
        }
        assert!(!gates.heed(Time(2), Signal::PauseFlow(ConnId(flows))));
        assert_eq!(gates.ignored(), 1);
        gates.heed(Time(3), Signal::ResumeFlow(ConnId(5)));
        assert!(gates.heed(Time(4), Signal::PauseFlow(ConnId(flows))));
        assert!(!gates.may_send(ConnId(flows), 0) && gates.may_send(ConnId(5), 0));
        gates.check();
        for conn in 0..=flows {
            gates.heed(Time(9), Signal::ResumeFlow(ConnId(conn)));
            gates.forget(ConnId(conn));
        }
        assert!(gates.flows.is_empty() && !gates.any_closed());
        gates.check();
    }
}
