//! Settings that are one of a few words: each is a type, whose words stand here alone. The table of fields lists
//! them, a section reads them, and whoever uses one matches it, so that no word is compared anywhere else.

use crate::typed::one_of_words;
use model::Class;
use model::intent::{CreditCount, DropBy, DropMeasure, MarkAt};
use topology::PortOrder;
use workload::{Interp, LoadBasis, Pick};

/// One of a few words.
pub(crate) trait Choice: Sized + 'static {
    /// Every word with its meaning, in the order of the reference.
    fn all() -> Vec<(&'static str, Self)>;

    /// What a word means.
    fn of(word: &str) -> Option<Self> {
        let mut all = Self::all().into_iter();
        all.find(|(own, _)| *own == word).map(|(_, choice)| choice)
    }

    /// Its own word.
    fn word(&self) -> &'static str
    where
        Self: PartialEq,
    {
        let mut all = Self::all().into_iter();
        let own = all.find(|(_, choice)| choice == self);
        own.expect("every choice has a word").0
    }
}

/// The words of a choice.
pub(crate) fn words<T: Choice>() -> Vec<&'static str> {
    T::all().into_iter().map(|(word, _)| word).collect()
}

macro_rules! choices {
    ($($(#[$about:meta])* $name:ident { $($choice:ident = $word:literal),+ $(,)? })+) => {$(
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum $name { $($choice),+ }

        impl Choice for $name {
            fn all() -> Vec<(&'static str, Self)> {
                vec![$(($word, Self::$choice)),+]
            }
        }
        one_of_words!($name);
    )+};
}

/// The same for types that others have.
macro_rules! words_of {
    ($($type:ty { $($choice:expr => $word:literal),+ $(,)? })+) => {$(
        impl Choice for $type {
            fn all() -> Vec<(&'static str, Self)> {
                vec![$(($word, $choice)),+]
            }
        }
        one_of_words!($type);
    )+};
}

choices! {
    /// Kinds of `[topology]`.
    ShapeOf {
        Star = "star",
        Dumbbell = "dumbbell",
        ParkingLot = "parking-lot",
        MultiBottleneck = "multi-bottleneck",
        LeafSpine = "leaf-spine",
        FatTree = "fat-tree",
        ThreeTier = "three-tier",
        File = "file",
    }
    /// How the file of a topology is written.
    TopologyFormat { Hpcc = "hpcc", Htsim = "htsim", Graphml = "graphml", NodeLink = "node-link" }
    /// Kinds of `[[workload]]`.
    SourceOf {
        Random = "random",
        Incast = "incast",
        IncastRr = "incast-rr",
        Bursts = "bursts",
        Permutation = "permutation",
        Shuffle = "shuffle",
        AllToAll = "all-to-all",
        LongFlows = "long-flows",
        Trace = "trace",
    }
    /// How the file of a trace is written.
    TraceFormat { Csv = "csv", Hpcc = "hpcc", Htsim = "htsim", HtsimUs = "htsim-us" }
    /// The time between two arrivals.
    GapsOf { Poisson = "poisson", LogNormal = "lognormal", Even = "even" }
    /// When requests leave.
    PacingOf { Closed = "closed", Every = "every" }
    /// How long flows leave.
    LeaveOf { Together = "together", FirstIn = "first-in", LastIn = "last-in" }
    /// Kinds of `[[faults]]`.
    FaultOf {
        Down = "down",
        Loss = "loss",
        Corrupt = "corrupt",
        Duplicate = "duplicate",
        Reorder = "reorder",
    }
    /// Headers in every packet.
    Headers { Paper = "paper", Udp = "udp" }
    /// When a message counts as finished.
    FctRule { LastByte = "last_byte", XpassCompat = "xpass_compat" }
    /// What chooses among equal paths.
    BalanceOf { Flow = "flow", Packet = "packet", Flowlet = "flowlet", Adaptive = "adaptive" }
    /// How ports drop one class first.
    DropProfile { Wred = "wred", RedEcn = "red-ecn" }
    /// Where other transports wait.
    LegacyQueue { Own = "own", Shared = "shared" }
}

words_of! {
    CreditCount { Self::Credits => "credits", Self::Bytes => "bytes" }
    MarkAt { Self::Enqueue => "enqueue", Self::Dequeue => "dequeue" }
    DropMeasure {
        Self::Queue => "queue",
        Self::QueueAndPacket => "queue_and_packet",
        Self::VictimOnly => "victim_only",
        Self::Port => "port",
    }
    DropBy { Self::Class => "class", Self::Ecn => "ecn" }
    Interp { Self::Linear => "linear", Self::Step => "step", Self::Log => "log" }
    Pick { Self::InOrder => "in-order", Self::Random => "random" }
    LoadBasis { Self::Hosts => "hosts", Self::Uplinks => "uplinks" }
    PortOrder { Self::Appearance => "appearance", Self::Neighbour => "neighbour" }
}

impl Choice for Class {
    fn all() -> Vec<(&'static str, Self)> {
        let named = Self::ALL.into_iter().map(|class| (class.name(), class));
        named.collect()
    }
}
one_of_words!(Class);
