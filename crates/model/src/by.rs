//! Tables with one entry per class or per reason of a drop: nothing else counts them, so a new class
//! or reason is a line where it is named and none where it is counted.

use crate::{Class, DropReason};
use std::ops::{AddAssign, Index, IndexMut};

macro_rules! table {
    ($name:ident, $key:ident, $one:literal) => {
        #[doc = concat!("One `T` per ", $one, ".")]
        #[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
        pub struct $name<T>([T; $key::COUNT]);

        impl<T> $name<T> {
            #[doc = concat!("What `of` says of each ", $one, ".")]
            pub fn from_fn(of: impl FnMut($key) -> T) -> Self {
                Self($key::ALL.map(of))
            }

            /// The entries alone, in the order of their numbers.
            pub fn as_slice(&self) -> &[T] {
                &self.0
            }

            #[doc = concat!("Each ", $one, " with its entry, in the order of their numbers.")]
            pub fn iter(&self) -> impl Iterator<Item = ($key, &T)> {
                $key::ALL.into_iter().zip(&self.0)
            }
        }

        impl<T: Copy + std::iter::Sum> $name<T> {
            /// All entries together.
            pub fn sum(&self) -> T {
                self.0.iter().copied().sum()
            }
        }

        impl<T: AddAssign> AddAssign for $name<T> {
            fn add_assign(&mut self, other: Self) {
                for (mine, theirs) in self.0.iter_mut().zip(other.0) {
                    *mine += theirs;
                }
            }
        }

        impl<T> Index<$key> for $name<T> {
            type Output = T;
            #[inline]
            fn index(&self, key: $key) -> &T {
                &self.0[key as usize]
            }
        }

        impl<T> IndexMut<$key> for $name<T> {
            #[inline]
            fn index_mut(&mut self, key: $key) -> &mut T {
                &mut self.0[key as usize]
            }
        }
    };
}

table!(ByClass, Class, "class of packets");
table!(ByReason, DropReason, "reason of a drop");
