//! Readers of other people's topology files; each gives a [`crate::Graph`].

pub mod hpcc;
