//! How a table is read as a struct: [`Settings`] is a table with what it says.
//!
//! The structs of `settings.rs` have a field for each key. The name of the field is the key, and its type says what the
//! key takes and whether it always has a value: what is no key does not compile. Structs and kinds may be fields of others,
//! and then read keys of the same table.

#[cfg(test)]
use crate::fields::{Absent, Field};
use crate::section::{Named, Section};
#[cfg(test)]
use crate::value::Type;
use crate::value::{Room, Value};
use std::ops::Deref;
use units::{Bytes, Rate, Span};

/// A table of a scenario: what it says, and as it is written.
#[derive(Clone, Debug)]
pub struct Settings<T> {
    /// As it is written.
    pub section: Section,
    said: T,
}

impl<T> Settings<T> {
    /// What `section` says, about which nothing is wrong.
    pub(crate) fn of(section: Section) -> Self
    where
        T: Setting,
    {
        let said = T::read(&section, "");
        Self { section, said }
    }
}

impl<T> Deref for Settings<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.said
    }
}

/// What a key is read as, or a group of them.
pub(crate) trait Setting: Sized {
    /// Reads the value of `key`; a group reads those of its own keys.
    fn read(section: &Section, key: &'static str) -> Self;

    /// The keys that it reads of a table of this kind, each with whether a field is one for its type.
    #[cfg(test)]
    fn keys(key: &'static str, kind: &str) -> Vec<Key>;
}

/// A key, and whether a field is one for the type that it is read as.
#[cfg(test)]
pub(crate) type Key = (&'static str, fn(&Field) -> bool);

/// What one value is read as.
pub(crate) trait Single: Sized {
    fn of(value: &Value) -> Option<Self>;

    /// Whether every value of this type is one.
    #[cfg(test)]
    fn takes(every: &Type) -> bool;
}

impl<T: Single> Setting for T {
    fn read(section: &Section, key: &'static str) -> Self {
        let value = Option::read(section, key);
        value.expect("the table gives this key a value for this kind")
    }

    #[cfg(test)]
    fn keys(key: &'static str, _: &str) -> Vec<Key> {
        vec![(key, |field| {
            !matches!(field.absent, Absent::Unset(_)) && T::takes(&field.takes)
        })]
    }
}

impl<T: Single> Setting for Option<T> {
    fn read(section: &Section, key: &'static str) -> Self {
        let value = section.get(key)?;
        let read = T::of(value);
        Some(read.unwrap_or_else(|| unreachable!("{} is {value}", section.dotted(key))))
    }

    #[cfg(test)]
    fn keys(key: &'static str, _: &str) -> Vec<Key> {
        vec![(key, |field| {
            matches!(field.absent, Absent::Unset(_)) && T::takes(&field.takes)
        })]
    }
}

macro_rules! singles {
    ($($type:ty: $value:ident of $($takes:ident)|+,)+) => {$(
        impl Single for $type {
            fn of(value: &Value) -> Option<Self> {
                match value {
                    Value::$value(own) => Some(own.clone()),
                    _ => None,
                }
            }
            #[cfg(test)]
            fn takes(every: &Type) -> bool {
                matches!(every, $(Type::$takes { .. })|+)
            }
        }
    )+};
}
singles! {
    Rate: Rate of Rate,
    Span: Span of Span,
    Bytes: Bytes of Bytes,
    Room: Room of Room,
    u64: Count of Count,
    f64: Number of Number,
    bool: Flag of Flag,
    String: Text of Text | Transport | Control,
}

/// Counts that their bounds keep within fewer bits.
macro_rules! counts {
    ($($type:ty),+) => {$(
        impl Single for $type {
            fn of(value: &Value) -> Option<Self> {
                u64::of(value)?.try_into().ok()
            }
            #[cfg(test)]
            fn takes(every: &Type) -> bool {
                matches!(every, Type::Count(_, most) if Self::try_from(*most).is_ok())
            }
        }
    )+};
}
counts!(u8, u16, u32);

/// A type that is one of a few words.
macro_rules! one_of_words {
    ($type:ty) => {
        impl $crate::typed::Single for $type {
            fn of(value: &$crate::value::Value) -> Option<Self> {
                match value {
                    $crate::value::Value::Text(word) => $crate::choice::Choice::of(word),
                    _ => None,
                }
            }
            #[cfg(test)]
            fn takes(every: &$crate::value::Type) -> bool {
                let own = $crate::choice::words::<Self>();
                matches!(every, $crate::value::Type::Word(list) if list() == own)
            }
        }
    };
}

impl<T: Single> Single for Vec<T> {
    fn of(value: &Value) -> Option<Self> {
        match value {
            Value::List(list) => list.iter().map(T::of).collect(),
            _ => None,
        }
    }
    #[cfg(test)]
    fn takes(every: &Type) -> bool {
        matches!(every, Type::List(each) if T::takes(each))
    }
}

impl Setting for Named {
    fn read(section: &Section, key: &'static str) -> Self {
        section.named(key)
    }
    #[cfg(test)]
    fn keys(key: &'static str, kind: &str) -> Vec<Key> {
        String::keys(key, kind)
    }
}

/// A value of which it matters who chose it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chosen<T> {
    value: T,
    /// Whether it is written.
    pub(crate) is_given: bool,
    /// Whether it is the default, written or not.
    pub(crate) is_default: bool,
}

impl<T: Setting> Setting for Chosen<T> {
    fn read(section: &Section, key: &'static str) -> Self {
        Self {
            value: T::read(section, key),
            is_given: section.is_given(key),
            is_default: section.is_default(key),
        }
    }
    #[cfg(test)]
    fn keys(key: &'static str, kind: &str) -> Vec<Key> {
        T::keys(key, kind)
    }
}

impl<T> Deref for Chosen<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.value
    }
}

/// Structs with a field for each key, of the key's name.
macro_rules! settings {
    ($($(#[$about:meta])* $seen:vis struct $name:ident {
        $($(#[$what:meta])* $who:vis $key:ident: $type:ty,)*
    })+) => {$(
        $(#[$about])*
        #[derive(Clone, Debug)]
        $seen struct $name {
            $($(#[$what])* $who $key: $type,)*
        }

        impl $crate::typed::Setting for $name {
            fn read(section: &$crate::section::Section, _: &'static str) -> Self {
                Self { $($key: $crate::typed::Setting::read(section, stringify!($key)),)* }
            }
            #[cfg(test)]
            fn keys(_: &'static str, kind: &str) -> Vec<$crate::typed::Key> {
                [$(<$type as $crate::typed::Setting>::keys(stringify!($key), kind)),*].concat()
            }
        }
    )+};
}

/// The kinds of a table: a variant for each word of the key `kind`, with what that kind has.
macro_rules! kinds {
    ($(#[$about:meta])* enum $name:ident of $words:ident {
        $($kind:ident { $($key:ident: $type:ty,)* })+
    }) => {
        settings! {$(
            #[doc = concat!("What [`", stringify!($name), "::", stringify!($kind), "`] has.")]
            pub(crate) struct $kind { $(pub(crate) $key: $type,)* }
        )+}

        $(#[$about])*
        #[derive(Clone, Debug)]
        pub(crate) enum $name { $($kind($kind)),+ }

        impl $crate::typed::Setting for $name {
            fn read(section: &$crate::section::Section, key: &'static str) -> Self {
                match $crate::typed::Setting::read(section, key) {
                    $($words::$kind => Self::$kind($crate::typed::Setting::read(section, key)),)+
                }
            }
            #[cfg(test)]
            fn keys(key: &'static str, kind: &str) -> Vec<$crate::typed::Key> {
                let own = match $crate::choice::Choice::of(kind).expect("a kind of the table") {
                    $($words::$kind => <$kind as $crate::typed::Setting>::keys(key, kind),)+
                };
                [<$words as $crate::typed::Setting>::keys(key, kind), own].concat()
            }
        }
    };
}

pub(crate) use {kinds, one_of_words, settings};
