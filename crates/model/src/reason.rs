//! Why a packet went no further.

/// Why a packet was dropped.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub enum DropReason {
    /// The queue, or the port's own buffer, was full.
    Full = 0,
    /// The class is dropped first and the queue was above its threshold. [aeolus s3.2]
    Selective = 1,
    /// Random early detection. [RFC 2309]
    Early = 2,
    /// The credit queue was full: the receiver learns its rate from this. [xpass s3.1]
    CreditFull = 3,
    /// No hop was left.
    Ttl = 4,
    /// No route led to the destination.
    Unreachable = 5,
    /// A packet that ranks lower took its place. [pfabric s4.2]
    PushedOut = 6,
    /// It reached a host trimmed or bounced whose transport asks for neither.
    Unwanted = 7,
    /// The memory that the ports of a switch share had no room, or not for that port. [Choudhury and Hahne 1998]
    Memory = 8,
    /// The room that a flow control keeps for what was under way was full: it should have held all. [802.1Q s36]
    Headroom = 9,
}

impl DropReason {
    /// How many there are.
    pub const COUNT: usize = 10;

    /// Every reason, in the order of its number.
    pub const ALL: [Self; Self::COUNT] = [
        Self::Full,
        Self::Selective,
        Self::Early,
        Self::CreditFull,
        Self::Ttl,
        Self::Unreachable,
        Self::PushedOut,
        Self::Unwanted,
        Self::Memory,
        Self::Headroom,
    ];

    /// The name in tables and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Full => "buffer full",
            Self::Selective => "selective",
            Self::Early => "early",
            Self::CreditFull => "credit queue full",
            Self::Ttl => "no hops left",
            Self::Unreachable => "no route",
            Self::PushedOut => "pushed out",
            Self::Unwanted => "unwanted",
            Self::Memory => "shared memory full",
            Self::Headroom => "headroom full",
        }
    }
}
