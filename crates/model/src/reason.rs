//! Why a packet went no further.

/// Why a packet was dropped.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub enum DropReason {
    /// The buffer was full.
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
}

impl DropReason {
    /// How many there are.
    pub const COUNT: usize = 8;

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
        }
    }
}
