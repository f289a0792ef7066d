//! Hop-by-hop flow control: what a switch does about its neighbours.
//!
//! A flow control is told of every packet that comes in, leaves, and of every frame that a neighbour's
//! flow control sent. It answers with frames of class [`Class::Link`](model::Class::Link) for its neighbours and by opening and
//! closing gates of its own ports. Its frames go before everything else on a line and are never
//! forwarded. A switch with one makes the choices of all ports of which it speaks ([`FlowControl::speaks`]) in the order of
//! time, unless it is calm ([`FlowControl::is_calm`]).

use crate::discipline::{Gate, GateOf, GateState};
use model::{Class, ConnId, DropReason, LinkCredits, Packet, Signal};
use units::{Span, Time};

/// The flow control of one switch.
pub trait FlowControl: Send {
    /// Whether it does no more to ports than open and close gates of queues and priorities: it assigns no queue,
    /// names no flow, counts no bytes and writes no tags, and what it says of an arrival closes no gate of the port
    /// by which that leaves. Ports then take cheaper forms, and a packet may pass an idle one; nothing else
    /// changes.
    fn gates_alone(&self) -> bool {
        false
    }

    /// The queue of the egress port that `packet` must join, if it overrides the classifier's choice.
    fn assign(&mut self, now: Time, passage: &Passage<'_>) -> Option<u8> {
        let _ = (now, passage);
        None
    }

    /// Whether a packet may take room in the switch's shared memory, of which `free` bytes are left; none where the
    /// memory's own rule decides. It is only asked, and not where a packet has a place of its own: shaped credits.
    fn admits(&mut self, passage: &Passage<'_>, free: u64) -> Option<bool> {
        let _ = (passage, free);
        None
    }

    /// Why it refuses `passage`, for which the memory has room: what is kept for packets under way may be full.
    fn refused(&self, passage: &Passage<'_>) -> DropReason {
        let _ = passage;
        DropReason::Memory
    }

    /// Whether nothing has to be said of whatever leaves next, nor later of itself: there is no deadline, and
    /// [`FlowControl::left`] says nothing and leaves it calm. Then it is told of departures port by port, those of one
    /// in the order of time, and not of packets that pass: sums are the same in any order, and asking for the order is
    /// dear. Only where [`FlowControl::gates_alone`].
    fn is_calm(&self) -> bool {
        false
    }

    /// While it is calm: whether `passage` may take room, of which `free` bytes are left, and leaves it calm. False is
    /// right for every doubt. Packets that have left by now may not have been told of; before false counts, all are, and it
    /// is asked again.
    fn stays_calm(&mut self, passage: &Passage<'_>, free: u64) -> bool {
        let _ = (passage, free);
        false
    }

    /// Whether it may say something of other ports than `port` when something leaves there. While it does not, choices of
    /// `port` are made only when something comes there or is said of it, and not in the order of time across ports. It
    /// begins with something that it says of an arrival at `port`, and ends with something that it says of what leaves
    /// there. A flow control that ever says false does so of some port at the start, sets a deadline for something of which it says
    /// nothing only when it hears a frame or had one, admits every packet for which there is room, and says of what it hears by a
    /// port nothing but of that port.
    fn speaks(&self, port: u16) -> bool {
        let _ = port;
        true
    }

    /// Whether `passage`, of which nothing waits at its port, may come and leave at once without a word: then neither
    /// [`FlowControl::arrived`] nor [`FlowControl::left`] is told of it, and both would have said nothing and left things as
    /// they were. Only where [`FlowControl::speaks`] ever says false.
    fn overlooks(&self, passage: &Passage<'_>) -> bool {
        let _ = passage;
        false
    }

    /// Whether packets of `class` matter to it. Others it assigns no queue, and it is not told that they come and leave. Only
    /// where not [`FlowControl::gates_alone`].
    fn minds(&self, class: Class) -> bool {
        let _ = class;
        true
    }

    /// What [`FlowControl::assign`] says of `passage`, which has room and joins the queue that it names where nobody assigns
    /// another, and then [`FlowControl::overlooks`] if its port is `idle`, else [`FlowControl::arrived`], in one call.
    fn comes(&mut self, now: Time, passage: &Passage<'_>, idle: bool, say: &mut Say) -> Coming {
        let queue = self.assign(now, passage).unwrap_or(passage.queue);
        let passage = Passage { queue, ..*passage };
        if idle && self.overlooks(&passage) {
            return Coming::Passes(queue);
        }
        self.arrived(now, &passage, say);
        Coming::Waits(queue)
    }

    /// A packet waits at a port now.
    fn arrived(&mut self, now: Time, passage: &Passage<'_>, say: &mut Say);

    /// A packet has come in by port `ingress` and goes no further: it had no hop left, or no way, or its port dropped it
    /// although there was memory. One that [`FlowControl::admits`] refused is not told.
    fn turned_away(&mut self, ingress: u16, packet: &Packet, say: &mut Say) {
        let _ = (ingress, packet, say);
    }

    /// A packet begins to leave.
    fn left(&mut self, now: Time, passage: &Passage<'_>, say: &mut Say);

    /// A packet comes and leaves at once, by an idle line: what [`FlowControl::arrived`] and [`FlowControl::left`] say of it
    /// together. Only where [`FlowControl::gates_alone`].
    fn passed(&mut self, now: Time, passage: &Passage<'_>, say: &mut Say) {
        let held = u64::from(passage.packet.size);
        self.arrived(now, &Passage { held, ..*passage }, say);
        self.left(
            now,
            &Passage {
                held: 0,
                ..*passage
            },
            say,
        );
    }

    /// The tag that `passage` takes along on the link by which it leaves now, for the flow control at the other
    /// end ([`Passage::tag`] there): the queue in which it waited, say. Only where the run carries something
    /// beside packets.
    fn tag(&mut self, now: Time, passage: &Passage<'_>) -> Option<u16> {
        let _ = (now, passage);
        None
    }

    /// The word that `passage` shares with hosts and switches from here on, where it is to change: a rate that no
    /// port on its way exceeds, say. Not asked where the word is a path, and only where the run carries something beside
    /// packets.
    fn word(&mut self, now: Time, passage: &Passage<'_>) -> Option<u32> {
        let _ = (now, passage);
        None
    }

    /// The frame of a neighbour has come in by `port`.
    fn heard(&mut self, now: Time, port: u16, frame: &Packet, say: &mut Say);

    /// What the neighbour at `port` may send before it has heard anything; none where it may send on.
    fn grants(&self, port: u16) -> Option<LinkCredits> {
        let _ = port;
        None
    }

    /// When it next wants [`FlowControl::on_deadline`]; [`Time::NEVER`] for not at all.
    fn deadline(&self) -> Time {
        Time::NEVER
    }

    /// The moment that [`FlowControl::deadline`] named has come. It must name a later one now.
    fn on_deadline(&mut self, now: Time, say: &mut Say) {
        let _ = (now, say);
    }

    /// Names what it has counted, for the sums of a run.
    fn count(&self, tell: &mut dyn FnMut(&'static str, u64)) {
        let _ = tell;
    }

    /// Tells the most bytes that ever lay in headroom, by the port and priority that they came by; nothing of one without
    /// any.
    fn headroom(&self, tell: &mut dyn FnMut(u16, u8, u64)) {
        let _ = tell;
    }

    /// Panics where an invariant of our own state is broken.
    fn check(&self) {}
}

/// What becomes of a packet that comes, and its queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Coming {
    /// It leaves at once, by the idle line.
    Passes(u8),
    /// It waits.
    Waits(u8),
}

/// A packet on its way through a switch.
#[derive(Clone, Copy, Debug)]
pub struct Passage<'a> {
    /// The packet.
    pub packet: &'a Packet,
    /// The port by which it came.
    pub ingress: u16,
    /// The port by which it leaves.
    pub egress: u16,
    /// Its queue there; 0 before it has one.
    pub queue: u8,
    /// Bytes that wait at that port, this packet included while it does.
    pub held: u64,
    /// What the flow control before this one said of it, on the link by which it came.
    pub tag: Option<u16>,
}

/// What a flow control has to say: frames for neighbours, and gates of its own ports.
#[derive(Debug, Default)]
pub struct Say {
    pub(crate) frames: Vec<(u16, Packet)>,
    pub(crate) gates: Vec<(u16, Gate)>,
    /// Ports at which something was paused anew.
    pub(crate) pauses: Vec<u16>,
    /// Ports at which something is paused, or will be, because of the packet that has just arrived, and what that is.
    pub(crate) blamed: Vec<(u16, GateOf)>,
    /// Flows that the neighbour at a port does not want, each with the queue that is closed for that; none where it
    /// wants it again.
    pub(crate) kept: Vec<(u16, ConnId, Option<u8>)>,
    /// One of these is not empty.
    pub(crate) any: bool,
}

impl Say {
    /// Asks the neighbour at `port` to pause something that it may send now, for `lasting` or until it is resumed
    /// where that is zero.
    pub fn pause(&mut self, port: u16, what: Signal, lasting: Span) {
        self.count_pause(port);
        self.blame(
            port,
            match what {
                Signal::PauseFlow(conn) | Signal::ResumeFlow(conn) => GateOf::Flow(conn),
                Signal::PausePriority(priority) | Signal::ResumePriority(priority) => {
                    GateOf::Priority(priority)
                }
            },
        );
        self.repeat(port, what, lasting);
    }

    /// Asks once more what [`Say::pause`] has asked.
    pub fn repeat(&mut self, port: u16, what: Signal, lasting: Span) {
        self.frame(port, what.frame_for(lasting));
    }

    /// The frames that it has been asked to send since it was made, with their ports.
    pub fn frames(&self) -> &[(u16, Packet)] {
        &self.frames
    }

    /// What has become of gates since, with their ports.
    pub fn gates(&self) -> &[(u16, Gate)] {
        &self.gates
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        !self.any
    }

    /// What has just arrived is why the neighbour at `port` has to pause `what`, now or later: [`Say::pause`] says so by
    /// itself. Only a [watch](crate::Switch::watch) reads it.
    pub fn blame(&mut self, port: u16, what: GateOf) {
        self.blamed.push((port, what));
        self.any = true;
    }

    /// The neighbour at `port` does not want `conn`, and `queue` stays closed until it does; none where it wants it again.
    /// Only a [watch](crate::Switch::watch) reads it, where a queue holds back several flows and the neighbour pauses one.
    pub fn keep(&mut self, port: u16, conn: ConnId, queue: Option<u8>) {
        self.kept.push((port, conn, queue));
        self.any = true;
    }

    /// Counts a pause that a frame of another form has asked for.
    pub fn count_pause(&mut self, port: u16) {
        self.pauses.push(port);
        self.any = true;
    }

    /// Sends `frame` to the neighbour at `port`, before all that waits there.
    pub fn frame(&mut self, port: u16, frame: Packet) {
        self.frames.push((port, frame));
        self.any = true;
    }

    /// Opens or closes a gate of `port`.
    pub fn gate(&mut self, port: u16, of: GateOf, state: GateState) {
        self.gates.push((port, Gate { of, state }));
        self.any = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::HostId;

    struct Nothing;
    impl FlowControl for Nothing {
        fn arrived(&mut self, _: Time, _: &Passage<'_>, _: &mut Say) {}
        fn left(&mut self, _: Time, _: &Passage<'_>, _: &mut Say) {}
        fn heard(&mut self, _: Time, _: u16, _: &Packet, _: &mut Say) {}
    }

    #[test]
    fn a_flow_control_that_says_nothing_leaves_all_as_it_is() {
        let packet = Packet::new(HostId(1), ConnId(2), Class::Plain, 0, 84);
        let passage = Passage {
            packet: &packet,
            ingress: 0,
            egress: 1,
            queue: 0,
            held: 0,
            tag: Some(3),
        };
        let (mut control, mut say) = (Nothing, Say::default());
        assert!(!control.gates_alone(), "it must be asked for");
        assert_eq!(control.assign(Time(1), &passage), None);
        assert_eq!(control.admits(&passage, 0), None);
        assert_eq!(control.refused(&passage), DropReason::Memory);
        assert_eq!(control.tag(Time(1), &passage), None);
        assert!(control.speaks(1) && !control.overlooks(&passage));
        assert!(Class::ALL.into_iter().all(|class| control.minds(class)));
        let coming = control.comes(Time(1), &passage, true, &mut say);
        assert_eq!(coming, Coming::Waits(0));
        assert_eq!(control.deadline(), Time::NEVER);
        control.on_deadline(Time(1), &mut say);
        control.check();
        assert!(say.is_empty());
        let mut counted = 0;
        control.count(&mut |_, _| counted += 1);
        control.headroom(&mut |_, _, _| counted += 1);
        assert_eq!(counted, 0);
    }

    #[test]
    fn a_pause_is_counted_once_however_often_it_is_said() {
        let (what, lasting) = (Signal::PausePriority(3), Span::us(5));
        let mut say = Say::default();
        assert!(say.is_empty() && say.frames().is_empty() && say.gates().is_empty());
        say.pause(4, what, lasting);
        say.repeat(4, what, lasting);
        let frame = what.frame_for(lasting);
        assert_eq!(say.frames(), [(4, frame), (4, frame)]);
        assert_eq!(say.pauses, [4]);
        assert_eq!(say.blamed, [(4, GateOf::Priority(3))]);
        assert!(!say.is_empty());
    }

    #[test]
    fn whatever_was_said_is_not_nothing() {
        let mut counted = Say::default();
        counted.count_pause(7);
        assert_eq!((&counted.pauses[..], counted.is_empty()), (&[7][..], false));
        let mut gated = Say::default();
        gated.gate(2, GateOf::Queue(1), GateState::Closed);
        let gate = Gate {
            of: GateOf::Queue(1),
            state: GateState::Closed,
        };
        assert_eq!((gated.gates(), gated.is_empty()), (&[(2, gate)][..], false));
        let mut kept = Say::default();
        kept.keep(2, ConnId(7), Some(1));
        assert_eq!(
            (&kept.kept[..], kept.is_empty()),
            (&[(2, ConnId(7), Some(1))][..], false)
        );
        let mut framed = Say::default();
        framed.frame(3, Packet::EMPTY);
        assert_eq!(
            (framed.frames(), framed.is_empty()),
            (&[(3, Packet::EMPTY)][..], false)
        );
    }

    /// Takes down the bytes that waited when a packet came, and when it left.
    #[derive(Default)]
    struct Held(Vec<(&'static str, u64)>);
    impl FlowControl for Held {
        fn arrived(&mut self, _: Time, passage: &Passage<'_>, _: &mut Say) {
            self.0.push(("arrived", passage.held));
        }
        fn left(&mut self, _: Time, passage: &Passage<'_>, _: &mut Say) {
            self.0.push(("left", passage.held));
        }
        fn heard(&mut self, _: Time, _: u16, _: &Packet, _: &mut Say) {}
    }

    #[test]
    fn what_passes_has_waited_alone_for_no_time() {
        let packet = Packet::new(HostId(1), ConnId(2), Class::Plain, 0, 84);
        let passage = Passage {
            packet: &packet,
            ingress: 0,
            egress: 1,
            queue: 0,
            held: 99,
            tag: None,
        };
        let mut held = Held::default();
        held.passed(Time(1), &passage, &mut Say::default());
        assert_eq!(held.0, [("arrived", 84), ("left", 0)]);
    }

    #[test]
    fn whoever_will_be_paused_is_blamed_and_not_asked() {
        let mut say = Say::default();
        let what = GateOf::Flow(ConnId(7));
        say.blame(5, what);
        assert_eq!((&say.blamed[..], say.is_empty()), (&[(5, what)][..], false));
        assert!(say.pauses.is_empty() && say.frames().is_empty());
    }
}
