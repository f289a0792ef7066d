//! Headers as declarations: [`header!`](crate::header) makes types, codec, checks, description and
//! dissector of one list of kinds and fields.
//!
//! A transport's part of a packet is a string of 100 bits: the head's 96, and the four flags of the kind.
//! The head's first 48 are word 0 and, above it, the upper half of word 1; the others the lower half of
//! word 1 and word 2, so that positions of 48 bits stand at its front, lengths behind them, and the word
//! that hosts and switches share ([`Packet::shared`]) at its end. [ADR 28]

use super::{Codec, DecodeError, Decoded, HEADER_MAX, Link, Reader, Writer};
use crate::{Class, Lifetime, Packet};

/// The low bits of [`Packet::kind`]: what kind it is. The four above are flags.
const KIND: u8 = 0x0f;
/// Kinds that a transport can have.
const KINDS_MAX: usize = 16;
/// Bits of each half of the head.
const HALF: u32 = 48;
/// Where the flags begin.
const FLAGS: u32 = 96;
/// All bits.
const ALL: u32 = 100;

/// The 100 bits of a packet that are its transport's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bits {
    front: u64,
    back: u64,
    flags: u8,
}

impl Bits {
    /// Nothing is set.
    pub const NONE: Self = Self {
        front: 0,
        back: 0,
        flags: 0,
    };

    /// Those of a packet.
    #[inline]
    pub const fn of(packet: &Packet) -> Self {
        let [a, b, c] = packet.head;
        Self {
            front: a as u64 | ((b >> 16) as u64) << 32,
            back: ((b & 0xffff) as u64) << 32 | c as u64,
            flags: packet.kind() >> 4,
        }
    }

    /// The number in bits `from..to`, the first of them its highest.
    #[inline]
    pub const fn get(self, from: u32, to: u32) -> u64 {
        let all = if to <= HALF {
            self.front >> (HALF - to)
        } else if from >= FLAGS {
            (self.flags >> (ALL - to)) as u64
        } else if from >= HALF {
            self.back >> (FLAGS - to)
        } else {
            self.front << (to - HALF) | self.back >> (FLAGS - to)
        };
        all & u64::MAX >> (64 - (to - from))
    }

    /// The same with `value` in bits `from..to`, which were 0.
    #[inline]
    #[must_use]
    #[allow(clippy::cast_possible_truncation, reason = "four flags")]
    pub const fn with(self, from: u32, to: u32, value: u64) -> Self {
        debug_assert!(value <= u64::MAX >> (64 - (to - from)), "a field is full");
        let value = value & u64::MAX >> (64 - (to - from));
        let mut bits = self;
        if to <= HALF {
            bits.front |= value << (HALF - to);
        } else if from >= FLAGS {
            bits.flags |= (value << (ALL - to)) as u8;
        } else {
            if from < HALF {
                bits.front |= value >> (to - HALF);
            }
            bits.back |= (value << (FLAGS - to)) & u64::MAX >> (64 - HALF);
        }
        bits
    }

    /// The words of the head.
    #[inline]
    #[allow(clippy::cast_possible_truncation, reason = "the parts of 48 bits")]
    pub const fn head(self) -> [u32; 3] {
        [
            self.front as u32,
            ((self.front >> 32) as u32) << 16 | (self.back >> 32) as u32,
            self.back as u32,
        ]
    }

    /// Kind number `number` with the flags.
    #[inline]
    pub const fn kind(self, number: u8) -> u8 {
        number | self.flags << 4
    }
}

/// What a field can hold.
pub trait Value: Copy {
    /// Widest field of it.
    const BITS: u32;
    /// As a number.
    fn bits(self) -> u64;
    /// From a number that [`Value::is_known`].
    fn of(bits: u64) -> Self;
    /// Whether the number means something.
    fn is_known(bits: u64) -> bool {
        let _ = bits;
        true
    }
}

macro_rules! whole {
    ($($number:ty),*) => {$(
        impl Value for $number {
            const BITS: u32 = Self::BITS;
            #[inline]
            fn bits(self) -> u64 {
                self.into()
            }
            #[inline]
            #[allow(clippy::cast_possible_truncation, clippy::allow_attributes, reason = "no field is wider")]
            fn of(bits: u64) -> Self {
                bits as Self
            }
        }
    )*};
}
whole!(u8, u16, u32, u64);

impl Value for bool {
    const BITS: u32 = 1;
    #[inline]
    fn bits(self) -> u64 {
        self.into()
    }
    #[inline]
    fn of(bits: u64) -> Self {
        bits != 0
    }
}

impl Value for Lifetime {
    const BITS: u32 = 2;
    #[inline]
    fn bits(self) -> u64 {
        match self {
            Self::Persistent => 0,
            Self::OneMessage => 1,
            Self::Exchange => 2,
        }
    }
    #[inline]
    fn of(bits: u64) -> Self {
        match bits {
            1 => Self::OneMessage,
            2 => Self::Exchange,
            _ => Self::Persistent,
        }
    }
    fn is_known(bits: u64) -> bool {
        bits < 3
    }
}

/// What a field means to those who know no transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The connection that the packet is about, where it travels on another: [`Codec::about`].
    Connection,
    /// The moment that a credit is for: [`Codec::is_timed`].
    Moment,
    /// How many credits there have been: those that come when nothing waits for them are kept. [`Codec::is_counted`]
    Count,
    /// How it is said and not what, like how often, by which way, or how much leaves unasked, which is less the second
    /// time: a packet that differs in it alone repeats another. [`Codec::repeats`]
    Aside,
}

/// A declared field.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Its name.
    pub name: &'static str,
    /// Its first bit and the one behind its last.
    pub at: (u32, u32),
    /// What it says, with its unit.
    pub meaning: &'static str,
    /// What it means to those who know no transport, where it means something to them.
    pub role: Option<Role>,
    /// Whether a number means something there.
    pub is_known: fn(u64) -> bool,
}

impl Field {
    /// Its number in a packet.
    pub const fn read(&self, packet: &Packet) -> u64 {
        Bits::of(packet).get(self.at.0, self.at.1)
    }
    /// Whether it is among the flags of the kind.
    pub const fn is_flag(&self) -> bool {
        self.at.0 >= FLAGS
    }
    /// Its width in bits.
    pub const fn width(&self) -> u32 {
        self.at.1 - self.at.0
    }
}

/// Offset and length of a packet's payload in the stream, in bytes.
pub type Payload = fn(&Packet) -> (u64, u16);

/// A declared kind of packet.
#[derive(Clone, Copy, Debug)]
pub struct KindOf {
    /// Its number, below 16.
    pub number: u8,
    /// Its name in ladders, dissectors and documents.
    pub name: &'static str,
    /// What it is for.
    pub meaning: &'static str,
    /// Classes that it may have, the one that it is made with first.
    pub classes: &'static [Class],
    /// What it carries.
    pub fields: &'static [Field],
    /// It may be the first of a connection to arrive: the cookie follows it.
    pub opens: bool,
    /// Words 0 and 1 of the head are not on the wire: it fits a smallest frame.
    pub short: bool,
    /// The bits of its fields.
    pub used: Bits,
    /// Offset and length of the payload in the stream, where it carries any.
    pub carries: Option<Payload>,
    /// What else must hold of a packet: the name of what does not.
    pub sound: fn(&Packet) -> Result<(), &'static str>,
    /// What it says, for ladders, behind its name.
    pub says: fn(&Packet) -> String,
}

impl KindOf {
    /// Whether a packet of this kind is one that no peer of ours would send.
    fn check(&self, packet: &Packet) -> Result<(), &'static str> {
        let bits = Bits::of(packet);
        if bits.flags & !self.used.flags != 0 {
            return Err("flags");
        }
        if !self.classes.contains(&packet.class()) {
            return Err("class");
        }
        if bits.front & !self.used.front != 0 || bits.back & !self.used.back != 0 {
            return Err("reserved");
        }
        let strange = |field: &&Field| !(field.is_known)(field.read(packet));
        match self.fields.iter().find(strange) {
            Some(field) => Err(field.name),
            None => (self.sound)(packet),
        }
    }
}

/// The bits of `fields`.
///
/// # Panics
/// If two of them overlap, or one does not fit: [`header!`](crate::header) asks while it is compiled.
pub const fn used(fields: &[Field]) -> Bits {
    let (mut used, mut i) = (Bits::NONE, 0);
    while i < fields.len() {
        let (from, to) = fields[i].at;
        assert!(from < to && to <= ALL, "a field has bits among the hundred");
        assert!(to - from <= 64, "a field has at most 64 bits");
        assert!(
            from >= FLAGS || to <= FLAGS,
            "a field keeps to head or flags"
        );
        assert!(used.get(from, to) == 0, "two fields overlap");
        used = used.with(from, to, u64::MAX >> (64 - (to - from)));
        i += 1;
    }
    used
}

/// Every kind by its number.
///
/// # Panics
/// If two kinds have one number, or one has more than four bits; if a short one has fields that are not
/// on the wire.
pub const fn by_number(kinds: &'static [KindOf]) -> [Option<&'static KindOf>; KINDS_MAX] {
    let (mut table, mut i) = ([None; KINDS_MAX], 0);
    while i < kinds.len() {
        let number = kinds[i].number as usize;
        assert!(table[number].is_none(), "two kinds have one number");
        let Bits { front, back, .. } = kinds[i].used;
        let hidden = kinds[i].short && (front > 0 || back >> 32 > 0);
        assert!(!hidden, "a short kind has fields in the last word alone");
        table[number] = Some(&kinds[i]);
        i += 1;
    }
    table
}

/// A kind that [`header!`](crate::header) declared.
pub trait Declared {
    /// Its declaration.
    const OF: KindOf;
}

/// A declared header: the codec of a transport.
#[derive(Debug)]
pub struct Layout {
    /// The number of the transport in every header. [ours: from 128 on for those outside tidegate; both
    /// ends of a wire must agree]
    pub transport: u8,
    /// Its name.
    pub name: &'static str,
    /// Its kinds, in the order of its declaration.
    pub kinds: &'static [KindOf],
    /// The same by number.
    pub numbers: [Option<&'static KindOf>; KINDS_MAX],
    /// Whether a credit is the one that released a packet of data; `None` where they do not say.
    pub answers: fn(&Packet, &Packet) -> Option<bool>,
    /// Whether a packet is of a kind that stands for a credit that was lost.
    pub releases: fn(&Packet) -> bool,
}

impl Layout {
    /// Whether a kind that is always a credit has a field of this role.
    fn credits_have(&self, role: Role) -> bool {
        let credits = |kind: &&KindOf| kind.classes == [Class::Credit];
        let credits = self.kinds.iter().filter(credits);
        let mut fields = credits.flat_map(|kind| kind.fields);
        fields.any(|field| field.role == Some(role))
    }

    /// The kind of a packet.
    pub const fn kind(&self, packet: &Packet) -> Option<&'static KindOf> {
        self.numbers[(packet.kind() & KIND) as usize]
    }
}

impl Codec for Layout {
    fn encode(&self, packet: &Packet, link: Link, out: &mut [u8; HEADER_MAX]) -> usize {
        let mut writer = Writer::begin(out, packet, link, self.transport);
        let kind = self.kind(packet);
        if !kind.is_some_and(|kind| kind.short) {
            writer.u32(packet.head[0]);
            writer.u32(packet.head[1]);
        }
        if kind.is_some_and(|kind| kind.opens) {
            writer.u64(link.cookie);
        }
        writer.len()
    }

    fn decode(&self, bytes: &[u8]) -> Result<Decoded, DecodeError> {
        let mut reader = Reader(bytes);
        let (mut packet, mut link) = reader.begin(self.transport)?;
        let number = packet.kind() & KIND;
        let kind = self.kind(&packet).ok_or(DecodeError::Kind(number))?;
        if !kind.short {
            (packet.head[0], packet.head[1]) = (reader.u32()?, reader.u32()?);
        }
        kind.check(&packet).map_err(DecodeError::Field)?;
        if kind.opens {
            link.cookie = reader.u64()?;
        }
        Ok(Decoded {
            packet,
            link,
            header_len: bytes.len() - reader.0.len(),
        })
    }

    fn payload(&self, packet: &Packet) -> Option<(u64, u16)> {
        let carries = self.kind(packet)?.carries?;
        Some(carries(packet))
    }

    fn answers(&self, data: &Packet, credit: &Packet) -> Option<bool> {
        (self.answers)(data, credit)
    }

    fn releases(&self, word: &Packet) -> bool {
        word.class() == Class::Credit || (self.releases)(word)
    }

    fn repeats(&self, packet: &Packet, before: &Packet) -> bool {
        let same = |field: &Field| {
            field.role == Some(Role::Aside) || field.read(packet) == field.read(before)
        };
        let alike = packet.kind() & KIND == before.kind() & KIND;
        alike
            && self
                .kind(packet)
                .is_some_and(|kind| kind.fields.iter().all(same))
    }

    fn about(&self, packet: &Packet) -> Option<u32> {
        let mut fields = self.kind(packet)?.fields.iter();
        let connection = fields.find(|field| field.role == Some(Role::Connection))?;
        u32::try_from(connection.read(packet)).ok()
    }

    fn is_timed(&self) -> bool {
        self.credits_have(Role::Moment)
    }

    fn is_counted(&self) -> bool {
        self.credits_have(Role::Count)
    }

    fn describe(&self, packet: &Packet) -> String {
        match self.kind(packet) {
            Some(kind) => format!("{}{}", kind.name, (kind.says)(packet)),
            None => format!("unknown kind {}", packet.kind() & KIND),
        }
    }

    fn layout(&self) -> Option<&Layout> {
        Some(self)
    }
}

/// `text` where something holds, otherwise nothing: for what packets say.
pub const fn when(holds: bool, text: &'static str) -> &'static str {
    if holds { text } else { "" }
}

/// What `text` says where something holds, otherwise nothing.
pub fn given(holds: bool, text: impl FnOnce() -> String) -> String {
    holds.then(text).unwrap_or_default()
}

/// A piece of a stream: where it begins and ends.
pub fn piece(offset: u64, length: u16) -> String {
    format!("{offset}..{}", offset + u64::from(length))
}

/// Where something ends that may be too long for its field to say.
pub fn up_to(too_long: bool, end: u64) -> String {
    match too_long {
        true => "more".to_owned(),
        false => end.to_string(),
    }
}

/// Who says it: the sender of the data or its receiver.
pub const fn whose(of_sender: bool) -> &'static str {
    if of_sender { "sender" } else { "receiver" }
}

/// Declares the header of a transport: its kinds of packet, what they carry, and what must hold of them.
///
/// A field stands at bits `from..to` of the hundred that are a transport's own (see
/// [`wire::declared`](crate::wire::declared)); 96 to 99 are the flags of the kind. A kind has a number
/// below 16, a name, the classes that it may have, and perhaps marks: `short` leaves words 0 and 1 of
/// the head off the wire, `opens` adds the cookie. A field may have a [`Role`](crate::wire::declared::Role) behind what it
/// says: `connection`, `moment`, `count` or `aside`. Behind its fields it may say which payload it
/// `carries`, what `must` hold besides, and what it `says` in ladders behind its name. Before the kinds, `answers`
/// may say which credit released which data, once for each kind of data; kinds with the fields of the first kind of
/// credit may follow it, behind `or`. Behind these, `releases` names kinds that stand for a credit that was lost.
///
/// ```
/// mod header {
///     model::header! {
///         pub(super) static CODEC: "Example" = 200;
///         /// A piece of a message.
///         Data = 1 "DATA" Plain {
///             offset: u64 = 0..48 "where it begins in the stream, in bytes";
///             length: u16 = 48..64 "bytes of payload";
///             end: bool = 99..100 "the message ends with it";
///         }
///         carries |data| (data.offset, data.length);
///         must "length" |data| data.length > 0 || data.end;
///         says |data, _| format!(" {}+{}", data.offset, data.length);
///         /// The message has arrived.
///         Done = 2 "DONE" Control { end: u64 = 0..48 "where it ended, in bytes"; }
///     }
/// }
/// use header::{CODEC, Data, Kind};
/// use model::wire::Codec;
/// use model::{ConnId, HostId};
///
/// let data = Data { offset: 1_000, length: 500, end: true };
/// let packet = data.packet(HostId(1), ConnId(2), 578);
/// assert_eq!((Kind::of(&packet), Data::read(&packet)), (Some(Kind::Data), data));
/// assert_eq!(CODEC.describe(&packet), "DATA 1000+500");
/// assert_eq!(CODEC.payload(&packet), Some((1_000, 500)));
/// ```
#[macro_export]
macro_rules! header {
    (
        $vis:vis static $codec:ident: $title:literal = $transport:literal;
        $(answers |$data:ident: $Data:ident, $credit:ident: $Credit:ident $(or $Alike:ident)*| $answers:expr;)*
        $(releases $Released:ident;)*
        $(
            $(#[doc = $meaning:literal])+
            $Kind:ident = $number:literal $name:literal $class:ident $(| $other:ident)* $(, $mark:ident)* {
                $($field:ident: $type:ty = $from:literal .. $to:literal $what:literal $(, $role:ident)?;)*
            }
            $(carries $carries:expr;)?
            $(must $why:literal $must:expr;)*
            $(says $says:expr;)?
        )+
    ) => {
        /// What a packet is.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[repr(u8)]
        $vis enum Kind { $($(#[doc = $meaning])+ $Kind = $number,)+ }

        impl Kind {
            /// That of a packet; `None` where it is none of this transport.
            #[inline]
            $vis const fn of(packet: &$crate::Packet) -> Option<Self> {
                match packet.kind() & 0x0f {
                    $($number => Some(Self::$Kind),)+
                    _ => None,
                }
            }
        }

        $(
            $(#[doc = $meaning])+
            #[derive(Clone, Copy, PartialEq, Eq, Debug)]
            $vis struct $Kind { $(#[doc = $what] $vis $field: $type,)* }

            #[allow(dead_code, unused_variables, clippy::allow_attributes, reason = "some kinds are empty, and not all are read")]
            impl $Kind {
                /// Reads it from a packet of its kind.
                #[inline]
                $vis fn read(packet: &$crate::Packet) -> Self {
                    let bits = $crate::wire::declared::Bits::of(packet);
                    Self { $($field: $crate::wire::declared::Value::of(bits.get($from, $to)),)* }
                }

                /// A packet that carries it, with `size` bytes on the wire.
                #[inline]
                $vis fn packet(self, to: $crate::HostId, conn: $crate::ConnId, size: u16) -> $crate::Packet {
                    let bits = $crate::wire::declared::Bits::NONE
                        $(.with($from, $to, $crate::wire::declared::Value::bits(self.$field)))*;
                    let class = $crate::Class::$class;
                    let mut packet = $crate::Packet::new(to, conn, class, bits.kind($number), size);
                    packet.head = bits.head();
                    packet
                }
            }

            impl $crate::wire::declared::Declared for $Kind {
                const OF: $crate::wire::declared::KindOf = {
                    const FIELDS: &[$crate::wire::declared::Field] = &[$({
                        assert!(
                            $to - $from <= <$type as $crate::wire::declared::Value>::BITS,
                            "a type is as wide as its field"
                        );
                        $crate::wire::declared::Field {
                            name: stringify!($field),
                            at: ($from, $to),
                            meaning: $what,
                            role: $crate::header!(@role $($role)?),
                            is_known: <$type as $crate::wire::declared::Value>::is_known,
                        }
                    }),*];
                    const CARRIES: &[$crate::wire::declared::Payload] = &[$(|packet| {
                        let carries: fn($Kind) -> (u64, u16) = $carries;
                        carries($Kind::read(packet))
                    })?];
                    fn sound(packet: &$crate::Packet) -> Result<(), &'static str> {
                        let rules: &[(&'static str, fn(&$Kind) -> bool)] = &[$(($why, $must)),*];
                        let read = $Kind::read(packet);
                        match rules.iter().find(|(_, holds)| !holds(&read)) {
                            Some((why, _)) => Err(why),
                            None => Ok(()),
                        }
                    }
                    fn says(packet: &$crate::Packet) -> String {
                        let says: &[fn(&$Kind, &$crate::Packet) -> String] = &[$($says)?];
                        says.first().map_or_else(String::new, |says| says(&$Kind::read(packet), packet))
                    }
                    $crate::wire::declared::KindOf {
                        number: $number,
                        name: $name,
                        meaning: concat!($($meaning),+),
                        classes: &[$crate::Class::$class $(, $crate::Class::$other)*],
                        fields: FIELDS,
                        opens: $crate::header!(@marked opens $($mark)*),
                        short: $crate::header!(@marked short $($mark)*),
                        used: $crate::wire::declared::used(FIELDS),
                        carries: if CARRIES.is_empty() { None } else { Some(CARRIES[0]) },
                        sound,
                        says,
                    }
                };
            }
        )+

        $vis static $codec: $crate::wire::declared::Layout = {
            const KINDS: &[$crate::wire::declared::KindOf] =
                &[$(<$Kind as $crate::wire::declared::Declared>::OF),+];
            $crate::wire::declared::Layout {
                transport: $transport,
                name: $title,
                kinds: KINDS,
                numbers: $crate::wire::declared::by_number(KINDS),
                answers: |data, credit| {
                    $(
                        let credits = matches!(Kind::of(credit), Some(Kind::$Credit $(| Kind::$Alike)*));
                        if Kind::of(data) == Some(Kind::$Data) && credits {
                            let ($data, $credit) = ($Data::read(data), $Credit::read(credit));
                            return Some($answers);
                        }
                    )*
                    let _ = (data, credit);
                    None
                },
                releases: |word| {
                    const RELEASED: &[Kind] = &[$(Kind::$Released),*];
                    Kind::of(word).is_some_and(|kind| RELEASED.contains(&kind))
                },
            }
        };
    };
    (@role) => { None };
    (@role connection) => { Some($crate::wire::declared::Role::Connection) };
    (@role moment) => { Some($crate::wire::declared::Role::Moment) };
    (@role count) => { Some($crate::wire::declared::Role::Count) };
    (@role aside) => { Some($crate::wire::declared::Role::Aside) };
    (@marked opens opens $($rest:ident)*) => { true };
    (@marked short short $($rest:ident)*) => { true };
    (@marked $mark:ident $other:ident $($rest:ident)*) => { $crate::header!(@marked $mark $($rest)*) };
    (@marked $mark:ident) => { false };
}
