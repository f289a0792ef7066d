//! Every hop-by-hop flow control of tidegate, one folder each.
//!
//! One is added with its folder and its place in [`ALL`]. One that lives elsewhere is added by its own `main`:
//! [`Registry::with_control`](parts::Registry::with_control).

mod agenda;
pub mod aquarius;
#[cfg(test)]
mod bench;
pub mod bfc;
pub mod cbfc;
pub mod ideal;
pub mod pfc;
mod ports;

use parts::Control;

/// The flow controls of this repository, in the order in which tables list them.
pub const ALL: &[&dyn Control] = &[
    &pfc::PFC,
    &ideal::IDEAL,
    &bfc::BFC,
    &aquarius::AQUARIUS,
    &cbfc::CBFC,
];

#[cfg(test)]
mod tests {
    #[test]
    fn parameters_are_what_they_say() {
        for &control in super::ALL {
            parts::keys::examine_control(control);
        }
    }
}
