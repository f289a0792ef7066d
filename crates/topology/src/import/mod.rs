//! Readers of other people's topology files; each gives a [`crate::Graph`].

pub mod graphml;
pub mod hpcc;
pub mod htsim;
mod labelled;
pub mod node_link;

use crate::{RATE_MAX, RATE_MIN};
use units::Rate;

/// A rate that a line can have, or why it cannot.
fn of_a_line(rate: Rate) -> Result<Rate, String> {
    if rate.0 == 0 {
        return Err("a link of rate 0 carries nothing; write a rate like 100Gbps".to_owned());
    }
    if rate < RATE_MIN {
        return Err(format!(
            "no link has less than {RATE_MIN}, where a frame takes seconds"
        ));
    }
    if rate > RATE_MAX {
        return Err(format!(
            "no link has more than {RATE_MAX}, where a byte takes a picosecond"
        ));
    }
    Ok(rate)
}
