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
        let threshold = Threshold::parse(key, text).map_err(|why| why.to_string());
        let known = threshold.and_then(|one| match counted(scenario, &one) {
            Ok(()) => Ok(one),
            Err(why) => Err(why),
        });
        match known {
            Ok(threshold) => found.push(threshold),
            Err(why) => errors
                .push(Diagnostic::at(at, format!("thresholds.{key} cannot be used")).label(why)),
        }
    }
    if errors.is_empty() {
        Ok(found)
    } else {
        Err(errors)
    }
}

/// Whether a transport of the scenario declares the counter that `threshold` is about, if it is about one.
fn counted(scenario: &Scenario, threshold: &Threshold) -> Result<(), String> {
    let Some(name) = threshold.counter() else {
        return Ok(());
    };
    let beside = scenario.beside.iter().map(|beside| beside.protocol);
    let transports = std::iter::once(scenario.protocol).chain(beside);
    let known: Vec<&str> = transports
        .flat_map(transports::Transport::counters)
        .map(|counter| counter.name)
        .collect();
    match known.as_slice() {
        _ if known.contains(&name) => Ok(()),
        [] => Err("no transport of this scenario declares counters".to_owned()),
        _ => Err(format!(
            "no transport here counts \"{name}\"; they count {}",
            known.join(", ")
        )),
    }
}

/// Conditions on tags that no message has.
pub(crate) fn tagged(scenario: &Scenario, tags: &[String]) -> Vec<Diagnostic> {
    let mut errors = Vec::new();
    for ((key, text), at) in scenario.thresholds.iter().zip(&scenario.threshold_origins) {
        let Ok(threshold) = Threshold::parse(key, text) else {
            continue;
        };
        if let Some(tag) = threshold.tag()
            && !tags.iter().any(|known| known == tag)
        {
            let what = format!("no message has the tag \"{tag}\"");
            errors.push(
                Diagnostic::at(at, what)
                    .help(format!("the tags of this scenario are {}", tags.join(", "))),
            );
        }
    }
    errors
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
