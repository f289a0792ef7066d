//! `[thresholds]`, read before anything runs.

use crate::diagnostic::Diagnostic;
use crate::resolve::Scenario;
use results::Threshold;

/// The conditions of a scenario.
///
/// # Errors
/// Metrics and comparisons that do not exist.
pub(crate) fn parse(scenario: &Scenario) -> Result<Vec<Threshold>, Vec<Diagnostic>> {
    let (mut found, mut errors) = (Vec::new(), Vec::new());
    for ((key, text), at) in scenario.thresholds.iter().zip(&scenario.threshold_origins) {
        match Threshold::parse(key, text) {
            Ok(threshold) => found.push(threshold),
            Err(why) => errors.push(
                Diagnostic::at(at, format!("thresholds.{key} cannot be used"))
                    .label(why.to_string()),
            ),
        }
    }
    if errors.is_empty() {
        Ok(found)
    } else {
        Err(errors)
    }
}

impl Scenario {
    /// The conditions that a run has to meet.
    ///
    /// # Errors
    /// Metrics and comparisons that do not exist.
    pub fn conditions(&self) -> Result<Vec<Threshold>, crate::Errors> {
        parse(self).map_err(crate::Errors)
    }
}
