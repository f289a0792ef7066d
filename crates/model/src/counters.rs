//! What a transport counts beside [`Totals`]: declared once, and a column everywhere.

use crate::Totals;

/// A counter that a transport declares with [`counters!`](crate::counters!).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Counter {
    /// Its name, in snake case: a column of tables, and a metric as `counters.NAME`.
    pub name: &'static str,
    /// What one of it is: `packets`, `bytes`, `times`.
    pub unit: &'static str,
    /// What it counts, as one sentence.
    pub meaning: &'static str,
    /// Whether it is a fact of a run's fingerprint. One that is added later and says so moves the
    /// fingerprints of its transport; one that does not moves none.
    pub hashed: bool,
}

/// What one transport has counted on one host.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HostCounts {
    /// The host.
    pub host: u32,
    /// The transport, by its number among those of the run.
    pub transport: u8,
    /// What every transport counts.
    pub totals: Totals,
    /// What this one counts besides, in the order of its declaration.
    pub own: Vec<(&'static Counter, u64)>,
}

/// Takes counters with their values.
pub type Count<'a> = dyn FnMut(&'static Counter, u64) + 'a;

/// Declares the counters of a transport: a struct of numbers, the list `ALL`, and `report` for
/// [`Endpoint::counters`](crate::Endpoint::counters).
///
/// ```
/// model::counters! {
///     /// What a transport of pulls counts.
///     pub struct Counts {
///         /// Pulls sent.
///         pulls: packets,
///         /// Bytes that came back trimmed.
///         trimmed: bytes in fingerprint,
///     }
/// }
/// let mut counts = Counts::default();
/// counts.trimmed += 9;
/// let mut said = Vec::new();
/// counts.report(&mut |counter, value| said.push((counter.name, counter.unit, counter.hashed, value)));
/// assert_eq!(said, [("pulls", "packets", false, 0), ("trimmed", "bytes", true, 9)]);
/// assert_eq!(Counts::ALL[0].meaning, "Pulls sent.");
/// ```
#[macro_export]
macro_rules! counters {
    ($(#[$about:meta])* $vis:vis struct $name:ident {
        $($(#[doc = $meaning:literal])+ $field:ident: $unit:ident $(in $fingerprint:ident)?),+ $(,)?
    }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
        $vis struct $name {
            $($(#[doc = $meaning])+ $vis $field: u64,)+
        }

        impl $name {
            /// Every counter, in the order of its columns.
            $vis const ALL: &'static [$crate::Counter] = &[$($crate::Counter {
                name: stringify!($field),
                unit: stringify!($unit),
                meaning: concat!($($meaning),+).trim_ascii(),
                hashed: $crate::counters!(@hashed $($fingerprint)?),
            }),+];

            /// Reports every counter with its value, in the order of [`Self::ALL`].
            $vis fn report(&self, report: &mut $crate::Count<'_>) {
                for (counter, value) in Self::ALL.iter().zip(self.values()) {
                    report(counter, value);
                }
            }

            /// The values, in the order of [`Self::ALL`].
            $vis const fn values(&self) -> [u64; [$(stringify!($field)),+].len()] {
                [$(self.$field),+]
            }
        }

        impl ::std::ops::AddAssign for $name {
            fn add_assign(&mut self, other: Self) {
                $(self.$field += other.$field;)+
            }
        }
    };
    (@hashed) => { false };
    (@hashed fingerprint) => { true };
}
