//! Who is called best, and what stands beside the name.

#![allow(
    clippy::unwrap_used,
    reason = "this is test code, which clippy cannot see here"
)]

mod common;

use results::compare::{self, Advice, Comparison};
use results::{Style, Summary, table};
use units::{Span, Time};

/// 300 messages that start one after the other, tagged in turns; each takes what is said, in nanoseconds.
fn run(transport: &str, seed: u64, takes: &dyn Fn(usize) -> u64) -> Summary {
    let mut run = common::mixed(300);
    run.tags = vec!["rpc".into(), "checkpoint".into()];
    for (i, flow) in run.flows.iter_mut().enumerate() {
        flow.tag = u16::from(i % 2 == 1);
        (flow.size, flow.received, flow.ideal) = (50_000, 50_000, Span::us(10));
        let start = Time::ZERO.after(Span::us(i as u64));
        (flow.start, flow.end) = (Some(start), Some(start.after(Span::ns(takes(i)))));
    }
    run.transport = transport.into();
    run.seed = seed;
    run.end = run.flows.iter().filter_map(|flow| flow.end).max().unwrap();
    run.fingerprint = run.end.0 + seed;
    Summary::of(&run)
}

/// Three seeds of each of two transports, a little apart.
fn three(first: &dyn Fn(usize) -> u64, second: &dyn Fn(usize) -> u64) -> Vec<Summary> {
    let of = |name: &'static str, takes: &dyn Fn(usize) -> u64| {
        let run = |seed: u64| run(name, seed, &|i| takes(i) + seed);
        (0..3).map(run).collect::<Vec<_>>()
    };
    [of("homa", first), of("dctcp", second)].concat()
}

fn claim(runs: &[Summary]) -> String {
    let runs: Vec<&Summary> = runs.iter().collect();
    let said = compare::headline(&Comparison::of(&runs)).unwrap();
    format!("{} {}", said.claim, said.more)
}

/// Message 299 is the last of its group: no 99th percentile shows it.
fn last(i: usize, late: u64, others: u64) -> u64 {
    if i == 299 { late } else { others }
}

#[test]
fn a_winner_whose_group_is_complete_later_is_named_with_that() {
    let runs = three(&|i| last(i, 400_000, 40_000), &|i| {
        last(i, 60_000, 50_000 + 50 * (i as u64 % 7))
    });
    let said = claim(&runs);
    assert!(said.contains("p99 slowdown of homa is 20."), "{said}");
    for price in [
        "its slowest message is 6.67 times as slow as under dctcp",
        " What else it costs: the last byte of its 150 messages tagged checkpoint takes 1.95 times as long as under dctcp (last byte 698 \
         us against 358 us)",
    ] {
        assert!(said.contains(price), "{said}");
    }
    assert!(!said.contains("no size or tag"), "{said}");
}

#[test]
fn a_winner_in_the_tail_whose_messages_are_slower_as_a_rule_is_named_with_that() {
    let (rpc, late) = (|i: usize| i.is_multiple_of(2), |i: usize| i % 20 < 2);
    let runs = three(
        &|i| if rpc(i) { 30_000 } else { 20_000 },
        &|i| match (rpc(i), late(i)) {
            (true, false) => 10_000,
            (_, true) => 40_000,
            (false, false) => 20_000,
        },
    );
    let said = claim(&runs);
    assert!(
        said.contains("but half of its 150 messages tagged rpc are 3.00 times as slow as under dctcp (slowdown p50 3.00 against 1.00)"),
        "{said}"
    );
    assert!(!said.contains("no size or tag"), "{said}");
    let advice = Advice::of(&runs.iter().collect::<Vec<_>>()).unwrap();
    let priced = advice
        .prices
        .iter()
        .any(|price| price.contains("median slowdown, tag rpc"));
    assert!(priced, "{advice:?}");
}

#[test]
fn a_price_below_five_in_a_hundred_is_named_where_the_seeds_tell_it_from_chance() {
    // The p99 is that of checkpoints; the others take 3 % longer.
    let tags = |rpc: u64, checkpoint: u64| {
        move |i: usize| if i.is_multiple_of(2) { rpc } else { checkpoint }
    };
    let runs = three(&tags(20_600, 40_000), &tags(20_000, 50_000));
    let said = claim(&runs);
    assert!(
        said.contains("but its 150 messages tagged rpc are 1.03 times as slow as under dctcp (slowdown p99 2.06 against 2.00)"),
        "{said}"
    );
    // One seed does not tell so little from chance, and the table calls it level.
    let once = [runs[0].clone(), runs[3].clone()];
    let said = claim(&once);
    assert!(!said.contains("1.03 times"), "{said}");
    let advice = Advice::of(&once.iter().collect::<Vec<_>>()).unwrap();
    assert!(advice.prices.is_empty(), "{advice:?}");
}

#[test]
fn the_longest_completion_is_a_price_and_what_is_level_is_none() {
    // The large message that is late has no high slowdown; all others are level.
    let late = |end: u64| {
        move |i: usize| match i {
            0 => end,
            i => 40_000 + 100 * (i as u64 % 7),
        }
    };
    let of = |name: &str, end: u64| {
        let mut summary = run(name, 0, &late(40_000));
        let times = summary.sizes[0].fct_ps.as_mut().unwrap();
        times.max.value = end * 1000;
        summary
    };
    let runs = [of("sird", 2_480_000), of("phost", 2_870_000)];
    let said = claim(&runs);
    assert!(
        said.contains("phost has its price: its longest completion takes 1.16 times as long as under sird (max 2.87 ms against 2.48 ms)."),
        "{said}"
    );
    assert!(!said.contains("1.0"), "level is no price: {said}");
    assert!(!said.contains("A small difference may be chance"), "{said}");
}

#[test]
fn every_name_of_a_tie_has_its_number_or_a_range_says_that_it_is_one() {
    let of = |takes: &[u64]| {
        let names = ["a", "b", "c", "d", "e", "f"];
        let runs = names.iter().zip(takes);
        let runs: Vec<Summary> = runs
            .map(|(name, &takes)| run(name, 0, &|_| takes))
            .collect();
        claim(&runs)
    };
    let three = of(&[40_000, 40_100, 40_100]);
    assert!(
        three.starts_with("a, b and c tie at the lowest p99 slowdown: 4.00, 4.01 and 4.01."),
        "{three}"
    );
    let six = of(&[40_000, 40_100, 40_100, 40_200, 40_200, 40_300]);
    assert!(
        six.contains("tie at the lowest p99 slowdown: 4.00 to 4.03, in this order."),
        "{six}"
    );
    let same = of(&[40_000, 40_000]);
    assert!(same.contains("p99 slowdown: 4.00."), "{same}");
}

#[test]
fn a_tie_is_bold_for_all_of_it_and_says_what_goodput_one_of_them_lacks() {
    let mut runs = three(&|_| 40_000, &|_| 40_080);
    for run in &mut runs[3..] {
        run.goodput.as_mut().unwrap().bps /= 3;
    }
    let said = claim(&runs);
    assert!(
        said.contains("dctcp has its price: its goodput is "),
        "{said}"
    );
    let all: Vec<&Summary> = runs.iter().collect();
    let page = report::of_runs(&all, &[], "", 0);
    let numbers = page.split_once("id=\"numbers\"").unwrap().1;
    for number in ["4.00", "4.01"] {
        assert!(
            numbers.contains(&format!("<b class=\"best\">{number}</b>")),
            "{numbers}"
        );
    }
    let advice = Advice::of(&all).unwrap();
    assert_eq!(
        advice.verdicts[0].says,
        "no difference that can be told from chance: 4.00 to 4.01"
    );
}

#[test]
fn a_lead_that_chance_explains_or_that_matters_to_nobody_is_a_tie() {
    // 0.2 % with certainty, and 3 % in one run.
    let sure = three(&|_| 40_000, &|_| 40_080);
    let said = claim(&sure);
    assert!(
        said.starts_with("homa and dctcp tie at the lowest mean p99 slowdown: 4.00 and 4.01. They differ by less than 1%"),
        "{said}"
    );
    let once = [run("homa", 0, &|_| 40_000), run("dctcp", 0, &|_| 41_200)];
    let said = claim(&once);
    assert!(
        said.starts_with("homa and dctcp tie at the lowest p99 slowdown: 4.00 and 4.12. One seed tells no difference below 5%"),
        "{said}"
    );
    for runs in [&sure[..], &once[..]] {
        let advice = Advice::of(&runs.iter().collect::<Vec<_>>()).unwrap();
        assert_eq!(advice.verdicts[0].winners, ["homa", "dctcp"], "{advice:?}");
    }
    let lead = three(&|_| 40_000, &|_| 41_200);
    assert!(
        claim(&lead).contains("homa is 2.91% lower"),
        "{}",
        claim(&lead)
    );
}

#[test]
fn messages_of_all_parts_add_up_to_those_of_a_run() {
    let drawn = |seed: u64, rpcs: u64| {
        let mut summary = run("homa", seed, &|i| 40_000 + i as u64);
        (summary.tags[0].messages, summary.tags[1].messages) = (rpcs, 300 - rpcs);
        summary
    };
    let runs = [drawn(1, 195), drawn(2, 150), drawn(3, 105)];
    let comparison = Comparison::of(&runs.iter().collect::<Vec<_>>());
    let parts = comparison.groups[0].parts.iter();
    let counts: Vec<u64> = parts.map(|part| part.messages).collect();
    assert_eq!(counts, [150, 150]);
}

#[test]
fn messages_without_a_tag_are_called_that() {
    let tagged = |name: &str| {
        let mut summary = run(name, 0, &|i| 40_000 + i as u64);
        summary.tags[0].name = model::UNTAGGED.into();
        summary
    };
    let runs = [tagged("homa"), tagged("dctcp")];
    let comparison = Comparison::of(&runs.iter().collect::<Vec<_>>());
    let groups: Vec<_> = comparison.groups.iter().collect();
    let names: Vec<String> = compare::part_rows(&groups)
        .into_iter()
        .map(|row| row.name)
        .collect();
    assert_eq!(
        names[..2],
        ["p99 slowdown, no tag", "last byte of all, no tag"]
    );
    assert_eq!(comparison.groups[0].parts[0].name, "messages without a tag");
    assert_eq!(comparison.groups[0].parts[0].tag(), Some(model::UNTAGGED));
    let page = report::of_runs(&runs.iter().collect::<Vec<_>>(), &[], "", 0);
    assert!(
        page.contains(">no tag<") && !page.contains("untagged"),
        "the page says it"
    );
}

/// Five seeds of each of two transports, of which the seeds of the first change nothing, and of the second nothing
/// where `draws` is not.
fn five(first: u64, second: u64, draws: bool) -> Vec<Summary> {
    let of = |name: &'static str, takes: u64, draws: bool| {
        let run = move |seed: u64| {
            let mut summary = run(name, seed, &|i| {
                takes + (i as u64 % 7) + if draws { seed } else { 0 }
            });
            if !draws {
                summary.fingerprint = format!("{name} always");
            }
            summary
        };
        (1..=5).map(run).collect::<Vec<_>>()
    };
    [of("homa", first, false), of("dctcp", second, draws)].concat()
}

#[test]
fn seeds_that_change_nothing_are_one_measurement() {
    // 3 % would be a lead of five seeds, and is none of one.
    let runs = five(40_000, 41_200, false);
    let said = claim(&runs);
    assert!(
        said.starts_with("homa and dctcp tie at the lowest p99 slowdown") && !said.contains("seed"),
        "{said}"
    );
    assert!(
        said.contains("Equal runs tell no difference below 5% from chance."),
        "{said}"
    );
    let all: Vec<&Summary> = runs.iter().collect();
    let told = "Seeds change nothing here (a trace or fixed starts, no random draws): 5 equal runs count as one.";
    assert_eq!(compare::what_the_spread_is(&Comparison::of(&all)), told);
    let page = report::of_runs(&all, &[], "", 0);
    assert!(page.contains(told) && !page.contains("Means over") && !page.contains("mean of 5"));
    let advice = Advice::of(&all).unwrap();
    assert_eq!(advice.verdicts[0].winners, ["homa", "dctcp"], "{advice:?}");
    assert_eq!(advice.equal.as_deref(), Some(told));
    assert!(advice.unjudged[0].starts_with(told), "{advice:?}");
    // Beside one whose seeds tell something.
    let runs = five(40_000, 41_200, true);
    let all: Vec<&Summary> = runs.iter().collect();
    let spread = compare::what_the_spread_is(&Comparison::of(&all));
    assert!(
        spread.starts_with("Means over 5 seeds; ± is half of the 95% bootstrap interval")
            && spread.ends_with(
                "Seeds change nothing under homa (no random draws): 5 equal runs count as one."
            ),
        "{spread}"
    );
    let clear = five(40_000, 43_000, false);
    assert!(
        claim(&clear).contains("p99 slowdown of homa is 6.98% lower"),
        "{}",
        claim(&clear)
    );
}

#[test]
fn what_a_setting_changes_is_said_of_runs_that_differ() {
    let all = five(40_000, 41_200, false);
    let (before, after): (Vec<&Summary>, Vec<&Summary>) =
        (all[..5].iter().collect(), all[5..].iter().collect());
    assert_eq!(
        compare::changed(&before, &before),
        "nothing: the same packets at the same moments"
    );
    assert_eq!(
        compare::changed(&before, &after),
        "no difference of 5% or more, and equal runs tell no smaller one from chance"
    );
    let once = compare::changed(&before[..1], &after[..1]);
    assert!(
        once.ends_with("and one seed tells no smaller one from chance"),
        "{once}"
    );
}

#[test]
fn stragglers_of_a_group_stand_beside_those_of_others_and_rank_nobody() {
    // Ten in a hundred of the checkpoints of one take three times as long.
    let late = |i: usize| if i % 20 == 1 { 120_000 } else { 40_000 };
    let runs = three(&late, &|_| 50_000);
    let all: Vec<&Summary> = runs.iter().collect();
    let comparison = Comparison::of(&all);
    let groups: Vec<_> = comparison.groups.iter().collect();
    let rows = compare::part_rows(&groups);
    let of = |name: &str| rows.iter().find(|row| row.name == name);
    let row = of("stragglers, tag checkpoint").unwrap();
    assert_eq!((row.show(0), row.show(1)), ("15".into(), "0".into()));
    assert!(!row.is_best(1) && row.best().is_none() && row.places()[1].is_none());
    assert!(of("stragglers, tag rpc").is_none(), "nobody has some");
    let page = report::of_runs(&all, &[], "", 0);
    assert!(
        page.contains("<td>stragglers, tag checkpoint</td><td>15</td><td>0</td>"),
        "{page}"
    );
    let advice = Advice::of(&all).unwrap();
    assert!(
        advice
            .verdicts
            .iter()
            .all(|verdict| !verdict.part.contains("stragglers"))
    );
}

/// 300 messages of 60 tags, of which each takes longer than the one before, the one with number 7 longest.
fn jobs(transport: &str, slow: u64) -> Summary {
    let mut run = common::mixed(300);
    run.tags = (0..60).map(|tag| format!("job{tag}")).collect();
    for (i, flow) in run.flows.iter_mut().enumerate() {
        let tag = u16::try_from(i % 60).unwrap();
        (flow.tag, flow.ideal) = (tag, Span::us(10));
        let start = Time::ZERO.after(Span::us(i as u64));
        let takes = if tag == 7 { slow } else { 20 + u64::from(tag) };
        (flow.start, flow.end) = (Some(start), Some(start.after(Span::us(takes))));
    }
    run.transport = transport.into();
    run.end = run.flows.iter().filter_map(|flow| flow.end).max().unwrap();
    run.fingerprint = slow;
    Summary::of(&run)
}

#[test]
fn of_many_tags_a_terminal_shows_the_slowest_and_those_furthest_apart() {
    let (one, other) = (jobs("homa", 900), jobs("dctcp", 90));
    let alone = table::text(&[(&one, &[])], Style::PLAIN);
    let words = alone.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.contains("by tag, the 10 slowest of 60: job7 (5) 90.0 / 90.0 / 90.0,"),
        "{words}"
    );
    assert!(words.contains("job59 (5)") && !words.contains("job50 (5)"));
    let both = compare::text(&[&one, &other], Style::PLAIN);
    let rows: Vec<&str> = both
        .lines()
        .filter(|line| line.contains(", tag "))
        .collect();
    assert_eq!(rows.len(), 2 * compare::TAGS_SHOWN, "{both}");
    assert!(rows[0].starts_with(" p99 slowdown, tag job7 "), "{both}");
    assert!(
        both.contains(
            "the 10 tags in which the transports are furthest apart; 50 more in the page"
        ),
        "{both}"
    );
    assert!(both.lines().count() < 80, "{both}");
}

#[test]
fn who_ties_at_other_settings_is_said_by_name() {
    let at = |transport: &str, load: &str, takes: u64| {
        let mut run = run(transport, 1, &|_| takes);
        run.settings = vec![("workload.load".into(), load.into())];
        run
    };
    let said = |settings: &[(&str, [u64; 3])]| {
        let each = settings.iter().flat_map(|(load, takes)| {
            let names = ["homa", "dctcp", "ndp"];
            names
                .into_iter()
                .zip(takes)
                .map(|(name, &takes)| at(name, load, takes))
        });
        claim(&each.collect::<Vec<_>>())
    };
    // Numbers: the last is claimed, and the others are told.
    let told = said(&[
        ("0.2", [40_000, 40_000, 90_000]),
        ("0.5", [60_000, 50_000, 90_000]),
        ("0.8", [50_000, 90_000, 99_000]),
    ]);
    assert!(
        told.starts_with("At load 0.8, the p99 slowdown of homa is"),
        "{told}"
    );
    assert!(
        told.contains("Lowest elsewhere: homa and dctcp tie at load 0.2; dctcp at load 0.5."),
        "{told}"
    );
    // Names: every one is judged.
    let told = said(&[
        ("calm", [40_000, 40_000, 90_000]),
        ("rough", [50_000, 90_000, 99_000]),
    ]);
    assert!(
        told.starts_with(
            "Lowest p99 slowdown: homa and dctcp tie at load calm; homa at load rough."
        ),
        "{told}"
    );
    let alone = [at("homa", "0.2", 40_000), at("homa", "0.8", 50_000)];
    assert!(!claim(&alone).contains("elsewhere"), "{}", claim(&alone));
}

#[test]
fn a_setting_that_left_messages_unfinished_has_no_lowest_tail() {
    let one = |balance: &str, ends: bool| {
        let mut run = common::mixed(300);
        run.settings = vec![("switch.balance".into(), balance.into())];
        run.transport = "ndp".into();
        for (i, flow) in run.flows.iter_mut().enumerate() {
            let start = Time::ZERO.after(Span::us(i as u64));
            (flow.start, flow.ideal) = (Some(start), Span::us(10));
            flow.end = (ends || i < 200).then(|| start.after(Span::us(20)));
        }
        Summary::of(&run)
    };
    let said = claim(&[one("flow", true), one("packet", false)]);
    assert!(
        said.starts_with(
            "Lowest p99 slowdown: ndp at balance flow; nobody for sure at balance packet. "
        ) && said.contains("At balance flow, ndp has a p99 slowdown of 2.00.")
            && said.contains(", for it left messages unfinished."),
        "{said}"
    );
    let said = claim(&[one("flow", false), one("packet", false)]);
    assert!(
        said.starts_with(
            "Lowest p99 slowdown: nobody for sure at balance flow and balance packet."
        ),
        "{said}"
    );
}
