//! The distributions that come with tidegate, by name.
//!
//! The point lists are numbers from public repositories; each file in `data/` names its source.

use crate::{CdfOptions, Dialect, Interp, SizeDist, SizeUnit, Tail, WorkloadError, parse_cdf};

/// A distribution that comes with tidegate.
#[derive(Clone, Copy, Debug)]
pub struct Builtin {
    /// Its name in scenarios.
    pub name: &'static str,
    /// Another name, from the papers.
    pub alias: Option<&'static str>,
    /// The file in `data/`.
    text: &'static str,
    interp: Interp,
    unit: SizeUnit,
    /// What continues a list that ends below probability 1.
    tail: Option<Tail>,
}

const BYTES: SizeUnit = SizeUnit::Bytes;

macro_rules! data {
    ($file:literal) => {
        include_str!(concat!("../data/", $file, ".csv"))
    };
}

macro_rules! builtin {
    ($name:literal, $alias:expr, $interp:ident, $unit:expr) => {
        Builtin {
            name: $name,
            alias: $alias,
            text: data!($name),
            interp: Interp::$interp,
            unit: $unit,
            tail: None,
        }
    };
}

/// All of them, in alphabetic order.
pub const BUILTINS: [Builtin; 18] = [
    builtin!("alibaba-storage", None, Linear, BYTES),
    builtin!("cache-follower", None, Linear, BYTES),
    builtin!("cache-follower-intracluster-full", None, Step, BYTES),
    builtin!("data-mining", None, Linear, BYTES),
    builtin!("data-mining-abm", None, Linear, BYTES),
    builtin!("facebook-hadoop", None, Linear, BYTES),
    Builtin {
        name: "homa-w1",
        alias: Some("w1"),
        text: data!("homa-w1-points"),
        interp: Interp::Step,
        unit: BYTES,
        // The published fit of memcached value sizes. [homa artefact, FacebookKeyValue]
        tail: Some(Tail {
            scale: 214.476,
            shape: 0.348_238,
        }),
    },
    builtin!("homa-w1-sampled", None, Step, BYTES),
    builtin!("homa-w2", Some("w2"), Step, BYTES),
    builtin!("homa-w3", Some("w3"), Step, BYTES),
    builtin!("homa-w4", Some("w4"), Step, BYTES),
    // Full packets of Homa's simulator carry 1442 B. [homa artefact]
    builtin!(
        "homa-w5",
        Some("w5"),
        Step,
        SizeUnit::Packets { payload: 1442 }
    ),
    // Packets of 1460 B, and atoms as in the simulator that published them. [dcpim artefact]
    builtin!("imc10", None, Step, SizeUnit::Packets { payload: 1460 }),
    builtin!("web-search", None, Linear, BYTES),
    builtin!("web-search-hpcc", None, Linear, BYTES),
    builtin!("web-server", None, Linear, BYTES),
    builtin!("web-server-intracluster", None, Linear, BYTES),
    builtin!("web-server-intracluster-full", None, Step, BYTES),
];

impl Builtin {
    /// What it describes, in its file's words.
    pub fn about(&self) -> &'static str {
        self.text
            .lines()
            .next()
            .unwrap_or("")
            .trim_start_matches("# ")
    }

    /// The distribution with its own interpolation.
    pub fn dist(&self) -> SizeDist {
        self.dist_as(self.interp)
            .expect("the built-in lists are checked by a test")
    }

    /// The distribution with another interpolation.
    ///
    /// # Errors
    /// If the list cannot be interpolated so.
    pub fn dist_as(&self, interp: Interp) -> Result<SizeDist, WorkloadError> {
        let options = CdfOptions {
            dialect: Some(Dialect::Csv),
            interp: Some(interp),
            unit: Some(self.unit),
            tail: self.tail,
        };
        parse_cdf(self.name, self.text, options)
            .map(|cdf| cdf.dist)
            .map_err(|error| {
                WorkloadError(format!(
                    "size distribution \"{}\": {}",
                    self.name, error.message
                ))
            })
    }
}

/// The entry of this name or alias.
pub fn builtin(name: &str) -> Option<&'static Builtin> {
    BUILTINS
        .iter()
        .find(|entry| entry.name == name || entry.alias == Some(name))
}

/// The built-in distribution of this name or alias.
pub fn named(name: &str) -> Option<SizeDist> {
    builtin(name).map(Builtin::dist)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Rng, stream};

    #[test]
    fn the_means_are_the_published_ones() {
        let published = [
            ("alibaba-storage", 40_870.0, 0.5),
            ("cache-follower", 712_573.5, 0.6),
            ("cache-follower-intracluster-full", 692_975.6, 0.1),
            ("data-mining", 7_487_884.0, 0.5),
            ("data-mining-abm", 5_036_535.2, 0.1),
            ("facebook-hadoop", 120_421.0, 0.5),
            // 2.7 B of listed sizes and 0.53 of 15 + sigma / (1 - k).
            ("homa-w1", 185.088, 0.001),
            ("homa-w1-sampled", 187.5, 0.1),
            ("homa-w2", 440.8, 0.1),
            ("homa-w3", 2_927.354, 0.001),
            ("homa-w4", 127_796.6, 0.1),
            ("homa-w5", 1442.0 * 1_744.704, 1.0),
            ("imc10", 1460.0 * 184.475, 0.1),
            ("web-search", 1_710_004.4, 0.1),
            ("web-search-hpcc", 1_711_250.0, 0.1),
            ("web-server", 66_121.0, 0.1),
            ("web-server-intracluster", 62_482.0, 0.5),
            ("web-server-intracluster-full", 62_874.3, 0.1),
        ];
        assert_eq!(published.map(|(name, ..)| name), BUILTINS.map(|b| b.name));
        for (name, mean, tolerance) in published {
            let found = named(name).unwrap().mean();
            assert!(
                (found - mean).abs() <= tolerance,
                "{name}: {found}, published {mean}"
            );
        }
    }

    #[test]
    fn the_four_lists_of_the_expresspass_artefact_have_their_means() {
        let means = ["web-server", "cache-follower", "web-search", "data-mining"];
        let found: Vec<_> = means
            .iter()
            .map(|name| format!("{:.0}", named(name).unwrap().mean()))
            .collect();
        assert_eq!(found, ["66121", "712574", "1710004", "7487884"]);
    }

    #[test]
    fn drawn_flows_fall_into_the_published_bins() {
        // Shares up to 100 KB, to 1 MB and above, per cent; the rows of Web Search and Data Mining
        // put right. [aeolus Table 2]
        let table = [
            ("web-server", [81.0, 19.0, 0.0]),
            ("cache-follower", [53.0, 18.0, 29.0]),
            ("web-search", [52.0, 18.0, 30.0]),
            ("data-mining", [83.0, 8.0, 9.0]),
        ];
        let draws = 200_000;
        for (name, published) in table {
            let dist = named(name).unwrap();
            let mut rng = Rng::stream(1, stream::TEST, 0);
            let mut count = [0.0; 3];
            for _ in 0..draws {
                let size = dist.draw(&mut rng);
                let bin = usize::from(size > 100_000) + usize::from(size > 1_000_000);
                count[bin] += 100.0 / f64::from(draws);
            }
            let shares = dist.shares(&[100_000, 1_000_000]);
            for bin in 0..3 {
                assert!(
                    (count[bin] - published[bin]).abs() < 2.5,
                    "{name}: {count:?}"
                );
                assert!(
                    (count[bin] - 100.0 * shares[bin]).abs() < 0.4,
                    "{name}: {shares:?}"
                );
            }
        }
    }

    #[test]
    fn the_sampled_form_of_w1_confirms_where_its_tail_starts() {
        let (exact, sampled) = (named("w1").unwrap(), named("homa-w1-sampled").unwrap());
        for size in [1, 15, 50, 200, 1000, 5000, 20_000] {
            let (a, b) = (exact.share_at_most(size), sampled.share_at_most(size));
            assert!((a - b).abs() < 0.02, "{size}: {a} and {b}");
        }
    }

    #[test]
    fn names_and_words_are_unique() {
        let mut names: Vec<_> = BUILTINS
            .iter()
            .flat_map(|b| [Some(b.name), b.alias])
            .flatten()
            .collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        assert!(BUILTINS.iter().all(|b| b.about().len() > 10));
        assert!(named("web-serch").is_none());
    }
}
