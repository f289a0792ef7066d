//! Every host transport of tidegate, one folder each; the organs that they share are in [`parts`].
//!
//! A transport is added with one folder and two lines in this file: its `pub mod` and its place in
//! [`registry`]. The command line, Python, the documentation and the conformance suite iterate
//! over the registry. One that lives elsewhere is added by its own `main`: [`Registry::with`].

pub mod dcpim;
pub mod dctcp;
pub mod expresspass;
pub mod fastpass;
pub mod homa;
pub mod ideal_rate;
pub mod lanes;
pub mod ndp;
pub mod none;
pub mod phost;
pub mod sird;

pub use parts::{
    self, Caution, Control, ControlFactory, Crowd, Described, Fabric, Factory, NO_CONTROL,
    Neighbour, ParamError, Parameter, Place, Protected, Refusal, Registry, Transport, Unread,
};

/// The transports and the flow controls of this repository, in the order in which tables list them.
pub fn registry() -> Registry {
    let transports = Registry::new(&[
        &expresspass::EXPRESSPASS,
        &expresspass::AEOLUS,
        &expresspass::GAPS,
        &expresspass::SSP,
        &dctcp::DCTCP,
        &ideal_rate::IDEAL_RATE,
        &homa::HOMA,
        &homa::AEOLUS,
        &homa::GAPS,
        &ndp::NDP,
        &ndp::AEOLUS,
        &ndp::GAPS,
        &fastpass::FASTPASS,
        &phost::PHOST,
        &sird::SIRD,
        &dcpim::DCPIM,
        &none::NONE,
    ]);
    flow_control::ALL
        .iter()
        .fold(transports, |all, control| all.with_control(*control))
}
