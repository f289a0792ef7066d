//! What a hop-by-hop flow control is to the rest of the program.

use crate::{ParamError, Parameter, Refusal};
use model::intent::PortSpec;
use model::{DropReason, Rng};
use switching::FlowControl;
use units::{Bytes, Rate, Span};

/// Bytes of a frame of a link's own on the wire, with preamble and gap. [802.3]
pub const LINK_FRAME: u64 = 84;

/// A flow control as the rest of the program sees it.
pub trait Control: Sync {
    /// Its name in scenarios.
    fn name(&self) -> &'static str;
    /// What it is, in one line.
    fn summary(&self) -> &'static str;
    /// Every parameter with default, meaning and source.
    fn parameters(&self) -> Vec<Parameter>;
    /// Reads the parameters of `[switch.<name>]`; absent ones take their defaults.
    ///
    /// # Errors
    /// The key that is wrong and what to write instead.
    fn configure(&self, table: &toml::Table) -> Result<Box<dyn ControlFactory>, ParamError>;
}

/// A configured flow control: makes one [`FlowControl`] per switch.
#[allow(unused_variables, reason = "names for those who write one")]
pub trait ControlFactory: Send + Sync {
    /// The flow control of one switch.
    fn make(&self, place: &Place<'_>) -> Box<dyn FlowControl>;
    /// The port that it works with, made of what the transport asks for.
    ///
    /// # Errors
    /// Why it cannot work with such a port, and the nearest that works.
    fn port(&self, port: PortSpec) -> Result<PortSpec, Refusal> {
        Ok(port)
    }
    /// Bytes that the ports of a switch share where the scenario does not say.
    fn memory(&self) -> Bytes;
    /// Whether switches write tags for the next one ([`FlowControl::tag`]): every hop then costs more.
    fn tags(&self) -> bool {
        false
    }
    /// Whether it can do its work at `place`.
    ///
    /// # Errors
    /// What it lacks there, and the nearest that works.
    fn suits(&self, place: &Place<'_>) -> Result<(), Refusal> {
        Ok(())
    }
    /// Memory that it needs at `place` to be suited.
    fn needs(&self, place: &Place<'_>) -> Bytes {
        Bytes(0)
    }
    /// What a user should know before trusting it at `place` under a transport of so many priorities.
    fn warns(&self, place: &Place<'_>, priorities: u8) -> Option<Caution> {
        None
    }
    /// Whether it lets packets of one connection overtake each other, where it was told to.
    fn overtakes(&self) -> bool {
        false
    }
    /// What it does where faults lose its own frames and what helps, in words; none where it heals by itself.
    fn lost_frames(&self) -> Option<String> {
        None
    }
    /// What helps where packets that it should have lost none of found no room for this reason, in words; none where
    /// such losses are its way.
    fn short_of_room(&self, why: DropReason) -> Option<String> {
        let help = "give switch.shared_buffer more";
        matches!(why, DropReason::Memory | DropReason::Headroom).then(|| help.to_owned())
    }
    /// What follows for a switch at `place`, as names and values for `check`.
    fn figures(&self, place: &Place<'_>) -> Vec<(String, String)> {
        vec![]
    }
    /// Every parameter with its final value, for `resolved.toml`.
    fn resolved(&self) -> toml::Table;
}

/// What a user should know of a flow control before trusting it.
pub struct Caution {
    /// Bytes that are lacking. Of several switches the one that lacks the most is told.
    pub lacks: u64,
    /// It, in words.
    pub said: String,
    /// Keys that help, as a scenario has them: `switch.pfc.lossless = 8`.
    pub keys: Vec<String>,
    /// The flow control with them, which may need more memory; none where no key helps.
    pub with: Option<Box<dyn ControlFactory>>,
}

/// Where a flow control works: one switch.
#[derive(Clone, Debug)]
pub struct Place<'a> {
    /// Its ports, by number.
    pub lines: &'a [Neighbour<'a>],
    /// Bytes that its ports share.
    pub memory: Bytes,
    /// The largest frame on the wire, in bytes.
    pub frame: u64,
    /// Its own random stream.
    pub rng: Rng,
}

/// One port of a switch, and who is behind it.
#[derive(Clone, Copy, Debug)]
pub struct Neighbour<'a> {
    /// Rate of the line to the neighbour.
    pub rate: Rate,
    /// Rate of the line from the neighbour.
    pub back: Rate,
    /// From here to the neighbour and back, without any frame in the way.
    pub round: Span,
    /// Whether it is a host.
    pub is_host: bool,
    /// What the port does.
    pub port: &'a PortSpec,
}

impl Neighbour<'_> {
    /// Most bytes that still come in after a pause has been decided on: the pause waits for a frame of at most
    /// `frame` bytes on its line and for `others` frames of this link's own, travels, finds a frame begun, and
    /// what is under way arrives. [802.1Q Annex N without the delays of interfaces, which lie in the links here]
    pub fn slack(&self, frame: u64, others: u64) -> u64 {
        let said = u128::from(frame + (1 + others) * LINK_FRAME);
        // What comes in while that goes out.
        let meanwhile = (said * u128::from(self.back.0)).div_ceil(u128::from(self.rate.0.max(1)));
        let meanwhile = u64::try_from(meanwhile).unwrap_or(u64::MAX);
        let under_way = self.back.bytes_in(self.round).get() + frame;
        meanwhile.saturating_add(under_way)
    }

    /// The same line as its other end sees it.
    #[must_use]
    pub fn mirrored(&self) -> Self {
        Self {
            rate: self.back,
            back: self.rate,
            ..*self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::{NoControl, place};

    #[test]
    fn a_line_gives_what_a_pause_cannot_hold_back_any_more() {
        let port = PortSpec::fifo(Bytes(0));
        let neighbour = |gbps, round| Neighbour {
            rate: Rate::gbps(gbps),
            back: Rate::gbps(gbps),
            round,
            is_host: false,
            port: &port,
        };
        // Two frames, and the pause itself.
        assert_eq!(neighbour(10, Span::ZERO).slack(1_538, 0), 2 * 1_538 + 84);
        // What is under way for 2 us at 10 Gb/s, and a frame of the link's own before the pause.
        assert_eq!(
            neighbour(10, Span::us(2)).slack(1_538, 1),
            2_500 + 2 * 1_538 + 2 * 84
        );
        assert_eq!(
            neighbour(100, Span::us(2)).slack(9_038, 2),
            25_000 + 2 * 9_038 + 3 * 84
        );
        // Ten times as much comes while a frame and the pause go out.
        let slow = Neighbour {
            rate: Rate::gbps(10),
            ..neighbour(100, Span::us(2))
        };
        assert_eq!(slow.slack(1_538, 0), 10 * (1_538 + 84) + 25_000 + 1_538);
        assert_eq!(
            slow.mirrored().slack(1_538, 0),
            163 + 2_500 + 1_538,
            "and a tenth the other way, 162.2 B"
        );
    }

    #[test]
    fn a_flow_control_that_says_nothing_takes_every_port_as_it_is() {
        let port = PortSpec::fifo(Bytes(99)).prioritised(3);
        assert_eq!(NoControl.port(port.clone()), Ok(port.clone()));
        let help = |why| NoControl.short_of_room(why).unwrap_or_default();
        let shared = [DropReason::Memory, DropReason::Headroom].map(help);
        assert_eq!(shared, ["give switch.shared_buffer more"; 2]);
        assert_eq!(help(DropReason::Full), "");
        let place = place(&[]);
        assert!(!NoControl.tags() && !NoControl.overtakes() && NoControl.suits(&place).is_ok());
        assert!(NoControl.figures(&place).is_empty());
        assert!(NoControl.warns(&place, 8).is_none());
        assert_eq!(NoControl.needs(&place), Bytes(0));
        assert_eq!(NoControl.lost_frames(), None);
    }
}
