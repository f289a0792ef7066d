//! How much data can wait in a port of an ExpressPass fabric: the network-calculus bound.
//! [xpass s3.1]
//!
//! A credit that leaves a port comes back as data after a delay that varies: credits wait in short
//! queues on their way to the sender, hosts take their time, and the data waits on its way back.
//! If that delay lies between `least` and `most` for all data of a port, credits that left it over
//! `most - least` and the time of one frame can come back at once, and nothing else can wait. The
//! recursion starts at the hosts and goes up and down the tree:
//!
//! ```text
//! most(p)  = max over q of  credit queue on the way to q + 2 propagation + frames
//!                           + data queue of q + most(q)
//! least(p) = min over q of  2 propagation + frames + least(q)
//! data queue of q           = most(q) - least(q) + burst of q
//! bytes(p)                  = rate(p) x (most(p) - least(p)) + burst of p
//! ```
//!
//! where q are the ports that data of p comes from. A burst is what the shaper lets through back
//! to back: `bucket` credits, hence as many frames, and one frame that is already on the line.
//!
//! The bound holds for data that credits released, where a credit costs its shaper one token
//! (`count = "credits"`), paths are symmetric and hosts and switches use the same credit rate.
//! Requests and STOPs come on top: 84 B for every flow that may open or stop at once.
//!
//! DEVIATES(xpass-paper): its table of required buffers was computed by a recursion that is not
//! public in full; ours gives the same order of magnitude, not the same numbers.
//!
//! ```
//! use transports::expresspass::bound::{Line, Link, Rules, port_bounds};
//! use units::{Rate, Span};
//!
//! // Two hosts under one switch, each with its line to the switch and the switch's line back.
//! let link = Link { rate: Rate::gbps(10), propagation: Span::us(1), credit_queue: 8 };
//! let line = |from, to| Line { link, from, to };
//! let lines = [line(0, 2), line(2, 0), line(1, 2), line(2, 1)];
//! let rules = Rules {
//!     host_delay_least: Span::ZERO,
//!     host_delay_most: Span::ns(5_100),
//!     credit_size_min: 84,
//!     credit_size_mean: 84,
//!     frame_max: 1538,
//!     bucket: 2,
//! };
//! let bounds = port_bounds(&rules, &[0, 0, 1], &lines).expect("data goes in no circle");
//! assert!(bounds[1].bytes > bounds[0].bytes, "the last hop needs the most");
//! ```

use units::{Bytes, Rate, Span};

/// A link, the same both ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// Rate of each direction.
    pub rate: Rate,
    /// Propagation one way, with the fixed delay of the switch or host behind it.
    pub propagation: Span,
    /// Credits that may wait in a port of this link.
    pub credit_queue: u16,
}

/// A port, by the line that it feeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    /// The line.
    pub link: Link,
    /// The node that the port belongs to.
    pub from: u32,
    /// The node at the other end.
    pub to: u32,
}

/// What holds for every host and port.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Least time from a credit's arrival at a host to its data.
    pub host_delay_least: Span,
    /// Most time from a credit's arrival at a host to its data.
    pub host_delay_most: Span,
    /// Smallest credit on the wire, in bytes.
    pub credit_size_min: u16,
    /// Mean credit on the wire, in bytes.
    pub credit_size_mean: u16,
    /// Full data frame on the wire, in bytes.
    pub frame_max: u16,
    /// Credits that a shaper lets through back to back.
    pub bucket: u16,
}

/// What one port must be able to hold, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortBound {
    /// Data that may wait.
    pub bytes: Bytes,
    /// Least time from a credit's departure to its data's arrival.
    pub least: Span,
    /// Most time from a credit's departure to its data's arrival.
    pub most: Span,
}

/// The longest that data may be late: the bound nearly doubles with every hop, so that after forty or so it
/// says nothing any more, and soon fits no 64 bits. [ours]
const LATEST: Span = Span(1 << 48);

/// The bound of every port; `None` where data could go in a circle, or where a way is so long that its
/// bound is beyond all buffers. `tiers` has a node's height by
/// its number, 0 for a host: data climbs, then descends, and turns back at no node. The work grows
/// with the number of lines.
///
/// # Panics
/// If a line has rate zero, or ends at a node that has no tier.
pub fn port_bounds(rules: &Rules, tiers: &[u8], lines: &[Line]) -> Option<Vec<PortBound>> {
    let mut fabric = Fabric::new(tiers, lines);
    let mut bounds: Vec<Option<PortBound>> = vec![None; lines.len()];
    let mut ready: Vec<u32> = Vec::new();
    for node in 0..tiers.len() {
        fabric.start(node, &mut ready);
    }
    while let Some(place) = ready.pop() {
        let line = &lines[place as usize];
        let host = (rules.host_delay_least, rules.host_delay_most);
        let delays = fabric.delays(line).unwrap_or(host);
        let bound = port(rules, &line.link, delays);
        if bound.most > LATEST {
            return None;
        }
        if bounds[place as usize].replace(bound).is_none() {
            fabric.arrive(line, through(rules, &line.link, &bound), &mut ready);
        }
    }
    bounds.into_iter().collect()
}

/// Which way a line leads, seen from the node that it leaves or comes to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Way {
    /// To or from a lower tier.
    Low,
    /// Within a tier.
    Level,
    /// To or from a higher tier.
    High,
}

const WAYS: [Way; 3] = [Way::Low, Way::Level, Way::High];

impl Way {
    fn of(here: u8, there: u8) -> Self {
        match there.cmp(&here) {
            std::cmp::Ordering::Less => Self::Low,
            std::cmp::Ordering::Equal => Self::Level,
            std::cmp::Ordering::Greater => Self::High,
        }
    }

    /// Whether data that came in this way may leave by `out`: once it descends, it climbs no more.
    fn goes_on(self, out: Self) -> bool {
        self == Self::Low || out == Self::Low || (self == Self::Level && out == Self::Level)
    }
}

/// The best of what came so far and the best of what came from anybody else: so that what came from
/// one neighbour can be left out.
#[derive(Clone, Copy, Default)]
struct Best {
    first: Option<(Span, u32)>,
    other: Option<Span>,
}

impl Best {
    fn add(&mut self, value: Span, who: u32, better: fn(Span, Span) -> bool) {
        match self.first {
            Some((best, by)) if by == who || !better(value, best) => {
                if by != who {
                    let beaten = self.other.is_some_and(|other| !better(value, other));
                    self.other = if beaten { self.other } else { Some(value) };
                } else if better(value, best) {
                    self.first = Some((value, who));
                }
            }
            old => {
                self.first = Some((value, who));
                self.other = old.map(|(best, _)| best);
            }
        }
    }

    /// The best of all but what came from `who`.
    fn without(&self, who: u32) -> Option<Span> {
        match self.first {
            Some((_, by)) if by == who => self.other,
            first => first.map(|(best, _)| best),
        }
    }
}

/// What comes together at a switch to leave it by one way.
#[derive(Clone, Copy, Default)]
struct Meeting {
    least: Best,
    most: Best,
    /// Lines whose bound is not known yet: how many, and the sum and the sum of squares of the
    /// numbers of the nodes that they come from. All come from one node where the count times the
    /// squares is the square of the sum. [Cauchy]
    left: u64,
    sum: u64,
    squares: u128,
}

impl Meeting {
    fn expect(&mut self, who: u32) {
        self.left += 1;
        self.sum += u64::from(who);
        self.squares += u128::from(who) * u128::from(who);
    }

    fn hear(&mut self, who: u32, (least, most): (Span, Span)) {
        self.left -= 1;
        self.sum -= u64::from(who);
        self.squares -= u128::from(who) * u128::from(who);
        self.least.add(least, who, |a, b| a < b);
        self.most.add(most, who, |a, b| a > b);
    }

    /// Nobody is waited for: [`Wait::None`]; lines of one node: that one.
    fn waits(&self) -> Wait {
        let sum = u128::from(self.sum);
        if self.left == 0 {
            Wait::None
        } else if u128::from(self.left) * self.squares == sum * sum {
            Wait::One(u32::try_from(self.sum / self.left).expect("it is the number of a node"))
        } else {
            Wait::Several
        }
    }
}

/// Whom a meeting waits for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wait {
    None,
    One(u32),
    Several,
}

/// What is known of every switch.
struct Fabric<'a> {
    tiers: &'a [u8],
    lines: &'a [Line],
    /// By node: where its lines start in `out`; one more at the end.
    first: Vec<u32>,
    /// Lines by the node that they leave.
    out: Vec<u32>,
    /// By node: its place in `meetings`; hosts have none.
    place: Vec<Option<u32>>,
    /// By switch and by the way out.
    meetings: Vec<[Meeting; 3]>,
}

impl<'a> Fabric<'a> {
    fn new(tiers: &'a [u8], lines: &'a [Line]) -> Self {
        let mut first = vec![0u32; tiers.len() + 1];
        for line in lines {
            first[line.from as usize + 1] += 1;
        }
        for node in 0..tiers.len() {
            first[node + 1] += first[node];
        }
        let mut next = first.clone();
        let mut out = vec![0u32; lines.len()];
        for (number, line) in (0u32..).zip(lines) {
            let slot = &mut next[line.from as usize];
            out[*slot as usize] = number;
            *slot += 1;
        }
        let mut switches = 0u32;
        let place = tiers.iter().map(|&tier| {
            switches += u32::from(tier > 0);
            (tier > 0).then(|| switches - 1)
        });
        let mut fabric = Self {
            tiers,
            lines,
            first,
            out,
            place: place.collect(),
            meetings: vec![[Meeting::default(); 3]; switches as usize],
        };
        for line in lines {
            fabric.each_meeting(line, |meeting| meeting.expect(line.from));
        }
        fabric
    }

    fn way(&self, here: u32, there: u32) -> Way {
        Way::of(self.tiers[here as usize], self.tiers[there as usize])
    }

    /// Calls `tell` with every meeting at the end of `line` that its data may leave with.
    fn each_meeting(&mut self, line: &Line, mut tell: impl FnMut(&mut Meeting)) {
        let into = self.way(line.to, line.from);
        if let Some(place) = self.place[line.to as usize] {
            let meetings = self.meetings[place as usize].iter_mut();
            for (meeting, _) in meetings.zip(WAYS).filter(|&(_, out)| into.goes_on(out)) {
                tell(meeting);
            }
        }
    }

    /// Lines of a node whose bound can be found before any other is known.
    fn start(&self, node: usize, ready: &mut Vec<u32>) {
        match self.place[node] {
            None => ready.extend(&self.out[self.lines_of(node)]),
            Some(place) => {
                for (meeting, out) in self.meetings[place as usize].iter().zip(WAYS) {
                    self.release(node, out, meeting.waits(), ready);
                }
            }
        }
    }

    fn lines_of(&self, node: usize) -> std::ops::Range<usize> {
        self.first[node] as usize..self.first[node + 1] as usize
    }

    /// Names the lines that leave `node` by `out` and wait for nobody but the node they lead to.
    fn release(&self, node: usize, out: Way, waits: Wait, ready: &mut Vec<u32>) {
        if waits == Wait::Several {
            return;
        }
        for &number in &self.out[self.lines_of(node)] {
            let line = &self.lines[number as usize];
            let free = waits == Wait::None || waits == Wait::One(line.to);
            if free && self.way(line.from, line.to) == out {
                ready.push(number);
            }
        }
    }

    /// Takes in when data of `line` comes out of it, and names the lines whose bounds can be found now.
    fn arrive(&mut self, line: &Line, delays: (Span, Span), ready: &mut Vec<u32>) {
        let mut waits = Vec::with_capacity(WAYS.len());
        self.each_meeting(line, |meeting| {
            let before = meeting.waits();
            meeting.hear(line.from, delays);
            waits.push((before, meeting.waits()));
        });
        let into = self.way(line.to, line.from);
        let ways = WAYS.into_iter().filter(|&out| into.goes_on(out));
        for (out, (_, now)) in ways.zip(waits).filter(|(_, (was, now))| was != now) {
            self.release(line.to as usize, out, now, ready);
        }
    }

    /// Least and most time until data comes that `line` sends on; none at a host, and where no data
    /// comes.
    fn delays(&self, line: &Line) -> Option<(Span, Span)> {
        let place = self.place[line.from as usize]?;
        let meeting = &self.meetings[place as usize][self.way(line.from, line.to) as usize];
        Some((
            meeting.least.without(line.to)?,
            meeting.most.without(line.to)?,
        ))
    }
}

/// From a credit's departure at one end of `link` to the arrival of its data there, by way of
/// the port `from` at the other end.
fn through(rules: &Rules, link: &Link, from: &PortBound) -> (Span, Span) {
    let time = |bytes: u16| link.rate.serialize(Bytes(u64::from(bytes)));
    let flight = link.propagation.times(2);
    let least = from.least + flight + time(rules.credit_size_min);
    let period = u64::from(rules.credit_size_mean) + u64::from(rules.frame_max);
    let credits_wait = link
        .rate
        .serialize(Bytes(u64::from(link.credit_queue) * period));
    // A credit may also wait for the frame on its line.
    let frames = time(rules.frame_max).times(2) + time(rules.credit_size_mean);
    let data_waits = link.rate.serialize(from.bytes);
    (
        least,
        from.most + flight + frames + credits_wait + data_waits,
    )
}

/// The bound of a port on `link` whose data comes after `least` to `most`.
fn port(rules: &Rules, link: &Link, (least, most): (Span, Span)) -> PortBound {
    let burst = (u64::from(rules.bucket) + 1) * u64::from(rules.frame_max);
    let spread = link.rate.bytes_in(most.max(least) - least).get() + 1;
    PortBound {
        bytes: Bytes(spread + burst),
        least,
        most: most.max(least),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOST: Link = Link {
        rate: Rate::gbps(10),
        propagation: Span::us(1),
        credit_queue: 8,
    };
    const UP: Link = Link {
        rate: Rate::gbps(40),
        propagation: Span::us(1),
        credit_queue: 8,
    };
    const CORE: Link = Link {
        rate: Rate::gbps(40),
        propagation: Span::us(5),
        credit_queue: 8,
    };
    const TIERS: [Link; 3] = [HOST, UP, CORE];

    const RULES: Rules = Rules {
        host_delay_least: Span::ZERO,
        host_delay_most: Span::ns(5_100),
        credit_size_min: 84,
        credit_size_mean: 84,
        frame_max: 1538,
        bucket: 2,
    };

    /// Hosts at both ends of so many switches in a row.
    fn chain(switches: u32) -> Option<Vec<PortBound>> {
        let mut tiers = vec![1; switches as usize + 2];
        (tiers[0], tiers[switches as usize + 1]) = (0, 0);
        let lines = (0..=switches).flat_map(|n| {
            let link = HOST;
            let (from, to) = (n, n + 1);
            let back = Line {
                link,
                from: to,
                to: from,
            };
            [Line { link, from, to }, back]
        });
        port_bounds(&RULES, &tiers, &lines.collect::<Vec<_>>())
    }

    #[test]
    fn a_chain_that_is_too_long_has_no_bound() {
        let most = |bounds: Vec<PortBound>| bounds.iter().map(|port| port.bytes).max();
        assert!(most(chain(12).unwrap()) > most(chain(11).unwrap()));
        for switches in [100, 3_000] {
            assert_eq!(chain(switches), None);
        }
    }

    /// A tree of two branches at each node, and the lines up from its first host, then down to it.
    fn tree(tiers: &[Link]) -> (Vec<u8>, Vec<Line>, Vec<usize>) {
        let (mut heights, mut lines, mut path) = (Vec::new(), Vec::new(), Vec::new());
        for (height, link) in (0u8..).zip(tiers) {
            let nodes = 1u32 << (tiers.len() - usize::from(height));
            let here = u32::try_from(heights.len()).unwrap();
            path.push(lines.len());
            for n in 0..nodes {
                let (from, to) = (here + n, here + nodes + n / 2);
                let link = *link;
                lines.extend([
                    Line { link, from, to },
                    Line {
                        link,
                        from: to,
                        to: from,
                    },
                ]);
                heights.push(height);
            }
        }
        heights.push(u8::try_from(tiers.len()).unwrap());
        path.extend(path.clone().iter().rev().map(|up| up + 1));
        (heights, lines, path)
    }

    /// Along the path up and down a tree.
    fn along(rules: &Rules, tiers: &[Link]) -> Vec<PortBound> {
        let (heights, lines, path) = tree(tiers);
        let bounds = port_bounds(rules, &heights, &lines).unwrap();
        path.into_iter().map(|line| bounds[line]).collect()
    }

    fn kilobytes(rules: &Rules, tiers: &[Link]) -> Vec<u64> {
        let bounds = along(rules, tiers);
        bounds.iter().map(|port| port.bytes.get() / 1000).collect()
    }

    #[test]
    fn the_published_fabric_needs_the_published_order_of_magnitude() {
        // Host, ToR and aggregation up; core, aggregation and ToR down. Published for 10/40G,
        // 8 credits, 5.1 us: ToR up 19.0, core 131.1, ToR down 577.3 KB.
        assert_eq!(kilobytes(&RULES, &TIERS), [10, 138, 292, 601, 1318, 671]);
    }

    #[test]
    fn one_hop_is_what_a_hand_computes() {
        let bounds = along(&RULES, &[HOST]);
        let frame = Span::ps(1538 * 800);
        let credit = Span::ps(84 * 800);
        let burst = 3 * 1538;
        // The host's line: 5.1 us at 10 Gb/s are 6375 B.
        assert_eq!(bounds[0].bytes, Bytes(6375 + 1 + burst));
        let host_line = Rate::gbps(10).serialize(bounds[0].bytes);
        let queue = Span::ps(8 * 1622 * 800);
        let most = Span::ns(5_100) + Span::us(2) + frame.times(2) + credit + queue + host_line;
        assert_eq!(bounds[1].most, most);
        assert_eq!(bounds[1].least, Span::us(2) + credit);
    }

    #[test]
    fn more_of_anything_that_varies_needs_no_less() {
        let base = kilobytes(&RULES, &TIERS);
        let no_less = |rules: Rules, tiers: &[Link]| {
            let theirs = kilobytes(&rules, tiers);
            assert!(
                theirs
                    .iter()
                    .zip(&base)
                    .all(|(theirs, ours)| theirs >= ours),
                "{theirs:?}"
            );
            assert_ne!(theirs, base);
        };
        no_less(
            Rules {
                host_delay_most: Span::us(9),
                ..RULES
            },
            &TIERS,
        );
        no_less(Rules { bucket: 4, ..RULES }, &TIERS);
        no_less(
            Rules {
                frame_max: 9022,
                ..RULES
            },
            &TIERS,
        );
        for tier in 0..3 {
            let mut tiers = TIERS;
            tiers[tier].credit_queue = 16;
            no_less(RULES, &tiers);
        }
        let mut tiers = TIERS;
        tiers[2].propagation = Span::us(20);
        no_less(RULES, &tiers);
    }

    #[test]
    fn without_spread_only_bursts_wait() {
        let calm = Link {
            credit_queue: 0,
            ..HOST
        };
        let rules = Rules {
            host_delay_most: Span::ZERO,
            ..RULES
        };
        let bounds = along(&rules, &[calm]);
        assert_eq!(bounds[0].bytes, Bytes(1 + 3 * 1538));
    }

    fn join(link: Link, a: u32, b: u32) -> [Line; 2] {
        [
            Line {
                link,
                from: a,
                to: b,
            },
            Line {
                link,
                from: b,
                to: a,
            },
        ]
    }

    #[test]
    fn a_circle_has_no_bound() {
        // Three switches of one tier, each with a host: data could go round.
        let cables = [(0, 3), (1, 4), (2, 5), (3, 4), (4, 5), (5, 3)];
        let lines = cables.map(|(a, b)| join(HOST, a, b)).concat();
        let tiers = [0, 0, 0, 1, 1, 1];
        assert_eq!(port_bounds(&RULES, &tiers, &lines), None);
        // Without the last cable they are a row.
        assert!(port_bounds(&RULES, &tiers, &lines[..10]).is_some());
    }

    #[test]
    fn what_descends_climbs_no_more_and_nothing_changes_levels_twice() {
        use Way::{High, Level, Low};
        let ways = [Low, Level, High];
        let goes = |come: Way| ways.map(|out| come.goes_on(out));
        assert_eq!(goes(Low), [true; 3], "from below it goes anywhere");
        assert_eq!(goes(Level), [true, true, false]);
        assert_eq!(goes(High), [true, false, false]);
    }

    #[test]
    fn lines_of_one_node_are_known_by_their_sums() {
        let meeting = |from: &[u32]| {
            let mut meeting = Meeting::default();
            for &who in from {
                meeting.expect(who);
            }
            meeting.waits()
        };
        assert!(matches!(meeting(&[]), Wait::None));
        assert!(matches!(meeting(&[7]), Wait::One(7)));
        assert!(matches!(meeting(&[9, 9, 9]), Wait::One(9)));
        assert!(matches!(meeting(&[3, 9, 6]), Wait::Several));
        assert!(matches!(meeting(&[0, 1]), Wait::Several));
    }

    #[test]
    fn what_a_port_sends_comes_from_every_other_neighbour_and_from_none_twice() {
        // A switch with a slow host, two fast ones and, to one of these, a second cable.
        let far = |us| Link {
            propagation: Span::us(us),
            ..HOST
        };
        let cables = [(far(9), 0), (far(1), 1), (far(2), 2), (far(5), 2)];
        let lines = cables.map(|(link, host)| join(link, host, 3)).concat();
        let bounds = port_bounds(&RULES, &[0, 0, 0, 1], &lines).unwrap();
        let credit = Span::ps(84 * 800);
        let least = |line: usize| bounds[line].least - credit;
        assert_eq!(least(1), Span::us(2), "to host 0: from host 1");
        assert_eq!(
            least(3),
            Span::us(4),
            "to host 1: from host 2, by its shorter cable"
        );
        assert_eq!(
            [least(5), least(7)],
            [Span::us(2); 2],
            "to host 2: from host 1"
        );
        // The farthest is host 0 for all others, and host 2 by its longer cable for host 0.
        let spread = |line: usize| bounds[line].most - bounds[line].least;
        assert_eq!(spread(3) - spread(1), Span::us(18 - 4 - (10 - 2)));
        assert_eq!(spread(5), spread(7));
    }
}
