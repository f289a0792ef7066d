//! Combinations of settings at which transports meet, and those by which they are judged.

use super::{Comparison, Group};
use crate::table::last_part;
use units::{Bytes, Rate, Span};

/// Combinations that are judged one by one; of more only the last. [ours]
const PLACES_MAX: usize = 8;

/// Whether a setting's value is a number, with a unit or without.
fn is_number(value: &str) -> bool {
    let plain = value.parse::<f64>().is_ok() || value.parse::<Span>().is_ok();
    plain || value.parse::<Bytes>().is_ok() || value.parse::<Rate>().is_ok()
}

impl Comparison {
    /// The combinations of settings at which transports are judged, each by its first group: the last of numbers, which
    /// by custom is the hardest, and every one where a setting has names, as cases do.
    pub fn judged(&self) -> Vec<&Group> {
        let mut places = self.places();
        let mut values = self.groups.iter().flat_map(|group| &group.settings);
        let numbers = values.all(|(_, value)| is_number(value));
        if numbers || places.len() > PLACES_MAX {
            places.drain(..places.len().saturating_sub(1));
        }
        places
    }

    /// The combinations of which it is said what they rest on: all, or those that are judged where there are many.
    pub(super) fn grounds(&self) -> Vec<&Group> {
        let places = self.places();
        match places.len() {
            ..=PLACES_MAX => places,
            _ => self.judged(),
        }
    }

    /// All combinations of settings, each by its first group.
    pub(super) fn places(&self) -> Vec<&Group> {
        let mut places: Vec<&Group> = Vec::new();
        for group in &self.groups {
            if places.iter().all(|place| place.settings != group.settings) {
                places.push(group);
            }
        }
        places
    }
}

impl Group {
    /// Its settings in words: `load 0.8, traffic web-search`; empty where nothing differs but transports.
    pub fn place(&self) -> String {
        let settings = self.settings.iter();
        let told: Vec<String> = settings
            .map(|(key, value)| format!("{} {value}", last_part(key)))
            .collect();
        told.join(", ")
    }
}
