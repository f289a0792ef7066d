//! Readers of other people's topology files; each gives a [`crate::Graph`].

pub mod graphml;
pub mod hpcc;
pub mod htsim;
mod labelled;
pub mod node_link;
