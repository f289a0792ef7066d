//! How large messages are: a piecewise distribution with an exact mean.
//!
//! A distribution is a list of stretches of probability, each one size, even in the size, even in its logarithm, or a
//! Pareto tail. A load needs the mean of the sizes that are really drawn, whole bytes or packets, with their
//! frames: it is exact for single sizes and for bytes even in the size, and sampled for the rest.

use crate::WorkloadError;
use model::Encap;
use std::fmt;

/// How sizes fill the space between two listed points.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Interp {
    /// Evenly: the rule of ns-2's integral interpolation and of the HPCC generator.
    Linear,
    /// Not at all: a draw is always the upper of the two points, as in Homa's simulator.
    Step,
    /// Evenly in the logarithm of the size.
    Log,
}

/// One point of a cumulative distribution.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Point {
    /// In bytes or packets.
    pub size: f64,
    /// Share of messages that are at most this large.
    pub upto: f64,
}

/// A generalised Pareto tail above the last listed point.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Tail {
    /// The paper's sigma, in bytes.
    pub scale: f64,
    /// The paper's k; below 1, so that there is a mean.
    pub shape: f64,
}

/// Sizes above this are refused: 281 TB, or 47 minutes of 800 Gb/s.
pub const SIZE_MAX: f64 = (1u64 << 48) as f64;

/// A distribution of message sizes.
///
/// A draw takes one number from [0, 1), looks up its quantile and rounds it up to a whole byte (or
/// packet), at least one. All figures are those of this sampler, so a load derived from them is the
/// load that is offered.
#[derive(Clone, PartialEq, Debug)]
pub struct SizeDist {
    name: String,
    /// Ascending and without gaps in probability.
    pieces: Vec<Piece>,
    /// Bytes per unit of size: 1, or the payload of a packet.
    grain: u64,
}

/// A stretch of probability and the sizes that it spans.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Piece {
    above: f64,
    upto: f64,
    shape: Shape,
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Shape {
    Atom(f64),
    Linear {
        from: f64,
        to: f64,
    },
    Log {
        from: f64,
        to: f64,
    },
    /// The first `part` of a tail.
    Pareto {
        from: f64,
        tail: Tail,
        part: f64,
    },
}

/// Places at which a shape without a closed form is evaluated.
const SAMPLES: u32 = 4096;

impl Shape {
    /// The size at share `v` of the stretch, `v` in [0, 1).
    fn at(self, v: f64) -> f64 {
        match self {
            Self::Atom(size) => size,
            Self::Linear { from, to } => from + (to - from) * v,
            Self::Log { from, to } => from * libm::exp(libm::log(to / from) * v),
            Self::Pareto { from, tail, part } => {
                from + tail.scale / tail.shape * (libm::pow(1.0 - v * part, -tail.shape) - 1.0)
            }
        }
    }

    /// The mean before rounding.
    fn mean(self) -> f64 {
        match self {
            Self::Atom(size) => size,
            Self::Linear { from, to } => f64::midpoint(from, to),
            Self::Log { from, to } => (to - from) / libm::log(to / from),
            Self::Pareto {
                from,
                tail,
                part: 1.0,
            } => from + tail.scale / (1.0 - tail.shape),
            Self::Pareto { .. } => self.integral(1.0),
        }
    }

    /// The share of the stretch that is at most `size`.
    fn share(self, size: f64) -> f64 {
        let v = match self {
            Self::Atom(at) => f64::from(u8::from(at <= size)),
            Self::Linear { from, to } => (size - from) / (to - from),
            Self::Log { from, to } if size > 0.0 => libm::log(size / from) / libm::log(to / from),
            Self::Pareto { from, tail, part } if size > from => {
                let above = 1.0 + tail.shape * (size - from) / tail.scale;
                (1.0 - libm::pow(above, -1.0 / tail.shape)) / part
            }
            Self::Log { .. } | Self::Pareto { .. } => 0.0,
        };
        v.clamp(0.0, 1.0)
    }

    /// The integral of the size over the first `v` of the stretch, `v` from 0 to 1, before rounding.
    fn integral(self, v: f64) -> f64 {
        match self {
            Self::Atom(size) => size * v,
            Self::Linear { from, to } => v * (from + (to - from) * v / 2.0),
            Self::Log { from, to } => {
                let scale = libm::log(to / from);
                from * (libm::exp(scale * v) - 1.0) / scale
            }
            Self::Pareto { from, tail, part } => {
                let (Tail { scale, shape }, u) = (tail, v * part);
                let above = (1.0 - libm::pow(1.0 - u, 1.0 - shape)) / (1.0 - shape);
                (from * u + scale / shape * (above - u)) / part
            }
        }
    }

    /// The first `v` of the stretch, up to `size`.
    fn first(self, v: f64, size: f64) -> Self {
        match self {
            Self::Atom(at) => Self::Atom(at),
            Self::Linear { from, .. } => Self::Linear { from, to: size },
            Self::Log { from, .. } => Self::Log { from, to: size },
            Self::Pareto { from, tail, part } => Self::Pareto {
                from,
                tail,
                part: part * v,
            },
        }
    }

    /// The mean of `f` over the stretch, sampled at the middle of equal shares.
    fn sampled(self, f: impl Fn(f64) -> f64) -> f64 {
        let n = f64::from(SAMPLES);
        (0..SAMPLES)
            .map(|i| f(self.at((f64::from(i) + 0.5) / n)))
            .sum::<f64>()
            / n
    }
}

impl SizeDist {
    /// A distribution from the points of its cumulative curve, in units of `grain` bytes.
    ///
    /// A first point above probability 0 is an atom, and so are two points of one size. Without a
    /// `tail` the last point must have probability 1.
    ///
    /// # Errors
    /// If the points do not ascend from 0 to 1, with the number of the offending point.
    pub fn new(
        name: &str,
        points: &[Point],
        interp: Interp,
        grain: u64,
        tail: Option<Tail>,
    ) -> Result<Self, WorkloadError> {
        check_points(points, interp, grain, tail).map_err(|(index, problem)| {
            WorkloadError(format!(
                "size distribution \"{name}\", point {}: {problem}",
                index + 1
            ))
        })?;
        let mut pieces = Vec::with_capacity(points.len() + 1);
        let mut last = Point {
            size: points[0].size,
            upto: 0.0,
        };
        for &point in points {
            if point.upto > last.upto {
                let (from, to) = (last.size, point.size);
                let shape = match interp {
                    _ if from >= to => Shape::Atom(to),
                    Interp::Step => Shape::Atom(to),
                    Interp::Linear => Shape::Linear { from, to },
                    Interp::Log => Shape::Log { from, to },
                };
                pieces.push(Piece {
                    above: last.upto,
                    upto: point.upto,
                    shape,
                });
            }
            last = point;
        }
        if let Some(tail) = tail {
            let shape = Shape::Pareto {
                from: last.size,
                tail,
                part: 1.0,
            };
            pieces.push(Piece {
                above: last.upto,
                upto: 1.0,
                shape,
            });
        }
        Ok(Self {
            name: name.to_string(),
            pieces,
            grain,
        })
    }

    /// Every message has `bytes`, at least one.
    pub fn fixed(bytes: u64) -> Self {
        let shape = Shape::Atom(bytes.max(1) as f64);
        let pieces = vec![Piece {
            above: 0.0,
            upto: 1.0,
            shape,
        }];
        Self {
            name: format!("fixed {bytes}"),
            pieces,
            grain: 1,
        }
    }

    /// The same with every size above `bytes` cut to it, or to the whole packets in it; one byte or packet at least.
    #[must_use]
    pub fn cut(self, bytes: u64) -> Self {
        let top = (bytes / self.grain).max(1) as f64;
        let mut pieces = Vec::with_capacity(self.pieces.len() + 1);
        for piece in self.pieces {
            let share = piece.shape.share(top);
            let middle = piece.above + (piece.upto - piece.above) * share;
            if share > 0.0 {
                let (upto, shape) = if share < 1.0 {
                    (middle, piece.shape.first(share, top))
                } else {
                    (piece.upto, piece.shape)
                };
                pieces.push(Piece {
                    upto,
                    shape,
                    ..piece
                });
            }
            if share < 1.0 {
                pieces.push(Piece {
                    above: middle,
                    upto: piece.upto,
                    shape: Shape::Atom(top),
                });
            }
        }
        Self { pieces, ..self }
    }

    /// The distribution's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The size at share `u` of all messages, `u` in [0, 1): the inverse of the cumulative curve,
    /// rounded up. One uniform draw gives one size.
    pub fn quantile(&self, u: f64) -> u64 {
        let index = self.pieces.partition_point(|piece| piece.upto <= u);
        let piece = &self.pieces[index.min(self.pieces.len() - 1)];
        let v = (u - piece.above) / (piece.upto - piece.above);
        self.rounded(piece.shape.at(v))
    }

    /// One message's size.
    pub fn draw(&self, rng: &mut model::Rng) -> u64 {
        self.quantile(rng.unit())
    }

    /// The mean of the curve in bytes, before sizes are rounded up: the figure that papers print.
    pub fn mean(&self) -> f64 {
        self.over_pieces(Shape::mean) * self.grain as f64
    }

    /// The mean of drawn sizes in bytes. Rounding up adds half a byte (or packet) to what is
    /// interpolated linearly between whole sizes, and nothing to atoms.
    pub fn mean_drawn(&self) -> f64 {
        self.over_pieces(|shape| match shape {
            Shape::Atom(size) => self.rounded(size) as f64,
            Shape::Linear { from, to } if self.grain == 1 => {
                (size_integral(to) - size_integral(from)) / (to - from)
            }
            Shape::Linear { .. } | Shape::Log { .. } | Shape::Pareto { .. } => {
                let grain = self.grain as f64;
                grain * shape.mean()
                    + shape.sampled(|size| self.rounded(size) as f64 - grain * size)
            }
        })
    }

    /// The mean number of bytes on the wire: payload, the overhead of each frame, and the padding
    /// of a last frame that is too small. Exact for atoms and for bytes interpolated linearly,
    /// within 10^-4 for the others.
    pub fn mean_wire(&self, encap: Encap) -> f64 {
        self.over_pieces(|shape| match shape {
            Shape::Atom(size) => encap.wire_total(self.rounded(size)) as f64,
            Shape::Linear { from, to } if self.grain == 1 => {
                (wire_integral(encap, to) - wire_integral(encap, from)) / (to - from)
            }
            Shape::Linear { .. } | Shape::Log { .. } | Shape::Pareto { .. } => {
                // Only what rounding and framing add is sampled; the heavy part is exact.
                let grain = self.grain as f64;
                let added = |size| encap.wire_total(self.rounded(size)) as f64 - grain * size;
                grain * shape.mean() + shape.sampled(added)
            }
        })
    }

    /// The share of messages of at most `bytes`.
    pub fn share_at_most(&self, bytes: u64) -> f64 {
        let size = (bytes / self.grain) as f64;
        self.over_pieces(|shape| match shape {
            Shape::Atom(at) => f64::from(u8::from(self.rounded(at) <= bytes)),
            Shape::Linear { .. } | Shape::Log { .. } | Shape::Pareto { .. } => shape.share(size),
        })
    }

    /// The shares of messages in the bins that end at `bounds` (included), and above the last.
    pub fn shares(&self, bounds: &[u64]) -> Vec<f64> {
        let upto: Vec<_> = bounds
            .iter()
            .map(|&bound| self.share_at_most(bound))
            .chain([1.0])
            .collect();
        let below = [0.0].into_iter().chain(upto.iter().copied());
        upto.iter()
            .zip(below)
            .map(|(upto, below)| upto - below)
            .collect()
    }

    /// The largest size that can be drawn.
    pub fn max(&self) -> u64 {
        self.quantile(1.0 - f64::EPSILON / 2.0)
    }

    fn over_pieces(&self, f: impl Fn(Shape) -> f64) -> f64 {
        self.pieces
            .iter()
            .map(|piece| (piece.upto - piece.above) * f(piece.shape))
            .sum()
    }

    fn rounded(&self, size: f64) -> u64 {
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "sizes are between 0 and 2^48, and a tail's largest quantile is below 2^63"
        )]
        let whole = libm::ceil(size) as u64;
        whole.max(1).saturating_mul(self.grain)
    }
}

/// Shares of messages are those of the sampler; shares of bytes and the mean are the curve's, before sizes are
/// rounded up to a whole byte or packet.
impl model::Sizes for SizeDist {
    fn messages_upto(&self, size: u64) -> f64 {
        self.share_at_most(size)
    }
    fn bytes_upto(&self, size: u64) -> f64 {
        let units = (size / self.grain) as f64;
        let bytes = self.over_pieces(|shape| match shape {
            Shape::Atom(at) if self.rounded(at) > size => 0.0,
            Shape::Atom(at) => at,
            Shape::Linear { .. } | Shape::Log { .. } | Shape::Pareto { .. } => {
                shape.integral(shape.share(units))
            }
        });
        (bytes / self.over_pieces(Shape::mean)).min(1.0)
    }
    fn mean(&self) -> f64 {
        Self::mean(self)
    }
    fn largest(&self) -> u64 {
        self.max()
    }
}

impl fmt::Display for SizeDist {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// The first point that spoils a distribution, and how.
pub(crate) fn check_points(
    points: &[Point],
    interp: Interp,
    grain: u64,
    tail: Option<Tail>,
) -> Result<(), (usize, String)> {
    let Some(last) = points.last() else {
        return Err((
            0,
            "there are no points; list sizes and cumulative probabilities".into(),
        ));
    };
    let mut before = Point {
        size: 0.0,
        upto: 0.0,
    };
    for (i, &point) in points.iter().enumerate() {
        if !(point.size >= before.size && point.size * grain as f64 <= SIZE_MAX) {
            return Err((
                i,
                format!(
                    "size {} after {}; sizes must ascend from 0 and stay below 2^48 bytes",
                    point.size, before.size
                ),
            ));
        }
        if !(point.upto >= before.upto && point.upto <= 1.0) {
            return Err((
                i,
                format!(
                    "probability {} after {}; probabilities must ascend from 0 to 1",
                    point.upto, before.upto
                ),
            ));
        }
        before = point;
    }
    if interp == Interp::Log && points[0].size <= 0.0 {
        return Err((0, "no logarithm of size 0; start the list at size 1".into()));
    }
    match tail {
        None if last.upto < 1.0 => Err((
            points.len() - 1,
            format!(
                "the list ends at probability {}; it must reach 1",
                last.upto
            ),
        )),
        Some(tail) if !(tail.scale > 0.0 && tail.shape > 0.0 && tail.shape < 1.0) => Err((
            points.len() - 1,
            "a Pareto tail needs a scale above 0 and a shape in (0, 1)".into(),
        )),
        Some(_) if last.upto >= 1.0 => Err((
            points.len() - 1,
            "a tail needs a list that ends below probability 1".into(),
        )),
        None | Some(_) => Ok(()),
    }
}

/// The integral of the size rounded up from 0 to `x`: its mean over a stretch is a difference of
/// two of these, divided by the length.
fn size_integral(x: f64) -> f64 {
    let whole = libm::floor(x);
    whole * (whole + 1.0) / 2.0 + (x - whole) * (whole + 1.0)
}

/// The integral from 0 to `x` of the wire bytes of a message whose size is rounded up.
fn wire_integral(encap: Encap, x: f64) -> f64 {
    let payload = f64::from(encap.payload_max);
    // Padding repeats with every frame: `room - r` for a last frame of r bytes, if that is positive.
    let room = f64::from(encap.frame_min.saturating_sub(encap.overhead));
    let padding = |bytes: f64| {
        let whole = libm::floor(bytes).min(room);
        let partial = if whole < room {
            (bytes - whole).min(1.0) * (room - whole - 1.0)
        } else {
            0.0
        };
        whole * room - whole * (whole + 1.0) / 2.0 + partial
    };
    let full = libm::floor(x / payload);
    let rest = x - full * payload;
    let frames = payload * full * (full + 1.0) / 2.0 + rest * (full + 1.0);
    size_integral(x) + f64::from(encap.overhead) * frames + full * padding(payload) + padding(rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Rng, stream};
    use proptest::prelude::*;

    fn points(list: &[(f64, f64)]) -> Vec<Point> {
        list.iter()
            .map(|&(size, upto)| Point { size, upto })
            .collect()
    }

    fn dist(list: &[(f64, f64)], interp: Interp) -> SizeDist {
        SizeDist::new("test", &points(list), interp, 1, None).unwrap()
    }

    fn close(a: f64, b: f64, tolerance: f64) {
        assert!((a - b).abs() <= tolerance, "{a} is not {b}");
    }

    #[test]
    fn bytes_are_shared_as_a_long_list_of_draws_shares_them() {
        use model::Sizes;
        let list = [
            (100.0, 0.0),
            (2_000.0, 0.5),
            (2_000.0, 0.6),
            (90_000.0, 1.0),
        ];
        let tail = Tail {
            scale: 9_000.0,
            shape: 0.3,
        };
        let open = &points(&list)[..3];
        let dists = [
            dist(&list, Interp::Linear),
            dist(&list, Interp::Log),
            dist(&list, Interp::Step),
            SizeDist::new("tail", open, Interp::Linear, 1, Some(tail)).unwrap(),
        ];
        for dist in dists {
            let many = 400_000;
            let even = |i| (f64::from(i) + 0.5) / f64::from(many);
            let draws: model::SizeList = (0..many).map(|i| dist.quantile(even(i))).collect();
            for size in [99, 100, 1_000, 1_999, 2_000, 40_000, 90_000] {
                close(dist.messages_upto(size), draws.messages_upto(size), 1e-5);
                close(dist.bytes_upto(size), draws.bytes_upto(size), 1e-3);
            }
            close(dist.bytes_upto(dist.largest()), 1.0, 1e-9);
            for share in [0.1, 0.5, 0.9] {
                let [exact, drawn] =
                    [&dist as &dyn Sizes, &draws].map(|s| s.quantile_of_bytes(share));
                close(exact as f64 / drawn as f64, 1.0, 0.01);
            }
        }
    }

    #[test]
    fn a_quantile_interpolates_as_told() {
        let list = [(100.0, 0.0), (200.0, 0.5), (800.0, 1.0)];
        let at = |interp| [0.0, 0.25, 0.5, 0.75].map(|u| dist(&list, interp).quantile(u));
        assert_eq!(at(Interp::Linear), [100, 150, 200, 500]);
        assert_eq!(at(Interp::Step), [200, 200, 800, 800]);
        assert_eq!(at(Interp::Log), [100, 142, 200, 400]);
    }

    #[test]
    fn points_of_one_size_and_a_late_start_are_atoms() {
        let d = dist(
            &[(10.0, 0.25), (20.0, 0.25), (20.0, 0.5), (30.0, 1.0)],
            Interp::Linear,
        );
        assert_eq!(
            [0.0, 0.24, 0.3, 0.49].map(|u| d.quantile(u)),
            [10, 10, 20, 20]
        );
        close(d.share_at_most(19), 0.25, 1e-12);
        close(d.share_at_most(20), 0.5, 1e-12);
        close(d.share_at_most(25), 0.75, 1e-12);
        close(d.mean(), 0.25 * 10.0 + 0.25 * 20.0 + 0.5 * 25.0, 1e-12);
    }

    #[test]
    fn no_message_is_empty() {
        let d = dist(&[(0.0, 0.0), (4.0, 1.0)], Interp::Linear);
        assert_eq!(d.quantile(0.0), 1);
        assert_eq!(SizeDist::fixed(0).quantile(0.5), 1);
        assert_eq!(d.max(), 4);
    }

    /// Means by the definition: every whole size and how often it is drawn.
    fn counted(from: u32, to: u32, f: impl Fn(u64) -> f64) -> f64 {
        (from + 1..=to).map(|size| f(u64::from(size))).sum::<f64>() / f64::from(to - from)
    }

    #[test]
    fn linear_means_are_exact() {
        let odd = Encap {
            overhead: 78,
            payload_max: 100,
            frame_min: 84,
        };
        for encap in [Encap::PAPER, Encap::UDP, odd] {
            for (from, to) in [(0, 1), (0, 7), (3, 9), (0, 1460), (1400, 1500), (5, 30_011)] {
                let list = [(f64::from(from), 0.0), (f64::from(to), 1.0)];
                let d = dist(&list, Interp::Linear);
                close(
                    d.mean(),
                    f64::midpoint(f64::from(from), f64::from(to)),
                    1e-9,
                );
                close(d.mean_drawn(), counted(from, to, |size| size as f64), 1e-6);
                let wire_bytes = counted(from, to, |size| encap.wire_total(size) as f64);
                close(d.mean_wire(encap), wire_bytes, 1e-6);
            }
        }
    }

    #[test]
    fn draws_have_the_means_and_shares_that_are_promised() {
        let tail = Some(Tail {
            scale: 214.476,
            shape: 0.348_238,
        });
        let head = points(&[(5.0, 0.2), (15.0, 0.47)]);
        let list = [(50.0, 0.0), (1000.0, 0.5), (9000.0, 0.9), (100_000.0, 1.0)];
        for d in [
            dist(&list, Interp::Linear),
            dist(&list, Interp::Log),
            SizeDist::new("tail", &head, Interp::Step, 1, tail).unwrap(),
            SizeDist::new("packets", &points(&list), Interp::Linear, 1442, None).unwrap(),
        ] {
            let n = 400_000;
            let mut rng = Rng::stream(1, stream::TEST, 0);
            let sizes: Vec<u64> = (0..n).map(|_| d.draw(&mut rng)).collect();
            let mean =
                |f: &dyn Fn(u64) -> f64| sizes.iter().map(|&s| f(s)).sum::<f64>() / f64::from(n);
            let drawn = mean(&|s| s as f64);
            close(drawn / d.mean_drawn(), 1.0, 0.02);
            close(
                mean(&|s| Encap::PAPER.wire_total(s) as f64) / d.mean_wire(Encap::PAPER),
                1.0,
                0.02,
            );
            for bytes in [10, 100, 2000, 1_000_000] {
                let below = mean(&|s| f64::from(u8::from(s <= bytes)));
                close(below, d.share_at_most(bytes), 0.005);
            }
        }
    }

    #[test]
    fn sampled_means_are_close_to_the_sum_over_all_sizes() {
        // The shares of whole sizes come from the cumulative curve, a road that sampling does not take.
        let list = [(7.0, 0.0), (3000.0, 0.7), (60_000.0, 1.0)];
        let d = dist(&list, Interp::Log);
        let exact = |f: &dyn Fn(u64) -> f64| -> f64 {
            (1..=60_000)
                .map(|s| (d.share_at_most(s) - d.share_at_most(s - 1)) * f(s))
                .sum()
        };
        close(d.mean_drawn() / exact(&|s| s as f64), 1.0, 1e-4);
        let wire_bytes = exact(&|s| Encap::PAPER.wire_total(s) as f64);
        close(d.mean_wire(Encap::PAPER) / wire_bytes, 1.0, 1e-4);
    }

    proptest! {
        /// The quantile is the inverse of the cumulative curve, whatever the curve.
        #[test]
        fn quantiles_invert_the_curve(
            steps in prop::collection::vec((0..5000u32, 0..100u32), 1..12),
            interp in prop_oneof![Just(Interp::Linear), Just(Interp::Step), Just(Interp::Log)],
            us in prop::collection::vec(0.0..1.0f64, 1..20),
            grain in 1..3u64,
        ) {
            let total = f64::from(steps.iter().map(|s| s.1).sum::<u32>().max(1));
            let (mut size, mut upto) = (1, 0);
            let mut list = Vec::new();
            for (bytes, weight) in steps {
                (size, upto) = (size + bytes, upto + weight);
                list.push((f64::from(size), f64::from(upto) / total));
            }
            if let Some(last) = list.last_mut() {
                last.1 = 1.0;
            }
            let d = SizeDist::new("any", &points(&list), interp, grain, None).unwrap();
            let mut us = us;
            us.sort_by(f64::total_cmp);
            let sizes: Vec<u64> = us.iter().map(|&u| d.quantile(u)).collect();
            prop_assert!(sizes.is_sorted());
            for (&u, &size) in us.iter().zip(&sizes) {
                prop_assert!(size >= 1 && size <= d.max());
                prop_assert!(d.share_at_most(size) >= u - 1e-9, "{} of {}", size, u);
                prop_assert!(d.share_at_most(size - 1) <= u + 1e-9, "{} of {}", size, u);
            }
            prop_assert!(d.mean() <= d.mean_drawn() + 1e-6);
            prop_assert!(d.mean_drawn() <= d.mean_wire(Encap::PAPER));
        }
    }

    #[test]
    fn what_is_cut_is_the_least_of_two_sizes_and_has_the_mean_of_them() {
        let tail = Some(Tail {
            scale: 214.476,
            shape: 0.348_238,
        });
        let head = points(&[(5.0, 0.2), (15.0, 0.47)]);
        let list = [(50.0, 0.0), (1000.0, 0.5), (1000.0, 0.6), (100_000.0, 1.0)];
        for whole in [
            dist(&list, Interp::Linear),
            dist(&list, Interp::Log),
            dist(&list, Interp::Step),
            SizeDist::new("tail", &head, Interp::Step, 1, tail).unwrap(),
            SizeDist::new("packets", &points(&list), Interp::Linear, 1442, None).unwrap(),
        ] {
            for most in [7, 999, 1000, 1001, 60_000, 200_000, 1 << 40] {
                let cut = whole.clone().cut(most);
                let top = (most / whole.grain).max(1) * whole.grain;
                let us = (0..100_000).map(|i| (f64::from(i) + 0.5) / 100_000.0);
                let mut sum = 0.0;
                for u in us {
                    assert_eq!(cut.quantile(u), whole.quantile(u).min(top), "{u} {most}");
                    sum += cut.quantile(u) as f64;
                }
                close(sum / 100_000.0 / cut.mean_drawn(), 1.0, 2e-3);
                assert_eq!(cut.max(), whole.max().min(top));
                // Cut twice is cut once.
                assert_eq!(cut.clone().cut(most), cut);
            }
        }
    }

    #[test]
    fn points_that_make_no_curve_are_refused_with_their_number() {
        let refused = |list: &[(f64, f64)], interp| {
            SizeDist::new("x", &points(list), interp, 1, None)
                .unwrap_err()
                .to_string()
        };
        let cases = [
            (refused(&[], Interp::Step), "point 1: there are no points"),
            (
                refused(&[(5.0, 0.0), (4.0, 1.0)], Interp::Step),
                "point 2: size 4 after 5",
            ),
            (
                refused(&[(5.0, 0.5), (6.0, 0.4)], Interp::Step),
                "point 2: probability 0.4 after 0.5",
            ),
            (
                refused(&[(5.0, 0.5), (6.0, 1.1)], Interp::Step),
                "point 2: probability 1.1 after 0.5",
            ),
            (
                refused(&[(5.0, 0.5)], Interp::Step),
                "point 1: the list ends at probability 0.5",
            ),
            (
                refused(&[(0.0, 0.0), (6.0, 1.0)], Interp::Log),
                "point 1: no logarithm of size 0",
            ),
            (
                refused(&[(f64::NAN, 0.0), (6.0, 1.0)], Interp::Step),
                "point 1: size NaN after 0",
            ),
            (
                refused(&[(1.0, f64::NAN), (6.0, 1.0)], Interp::Step),
                "point 1: probability NaN",
            ),
        ];
        for (error, expected) in cases {
            assert!(error.contains(expected), "{error}");
        }
    }
}
