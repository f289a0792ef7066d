"""Messages by tag and by size, from Python."""

from collections.abc import Mapping
from operator import methodcaller
from pathlib import Path

import pytest

import tidegate as tg

TWO: Mapping[str, object] = {
    "name": "two",
    "title": "replies, and one copy",
    "topology": {"kind": "star", "hosts": 5, "host_rate": "10Gbps", "host_delay": "1us"},
    "workload": [
        {"kind": "incast", "senders": 3, "size": "20KB", "tag": "replies"},
        {"kind": "incast", "senders": 1, "size": "1MB", "start": "5us", "tag": "copy"},
    ],
}


def test_rows_of_tags_and_sizes_are_those_of_the_messages() -> None:
    result = tg.run(dict(TWO))
    rows = result.groups()
    tags = {row["tag"]: row for row in rows if row["tag"] is not None}
    assert all(row["above"] is None and row["up_to"] is None for row in tags.values())
    columns = (result.flows[name] for name in ("tag", "size", "start_ps", "end_ps"))
    flows = list(zip(*columns, strict=True))
    for tag, count in (("replies", 3), ("copy", 1)):
        own = [(start, end) for of, _, start, end in flows if of == tag]
        assert (tags[tag]["messages"], tags[tag]["unfinished"], len(own)) == (count, 0, count)
        starts = [start for start, _ in own if isinstance(start, int)]
        ends = [end for _, end in own if isinstance(end, int)]
        assert tags[tag]["took_ps"] == max(ends) - min(starts)
    assert tags["copy"]["slowdown_p99"] < tags["replies"]["slowdown_p99"]
    sizes = [row for row in rows if row["tag"] is None]
    ranges = [(row["above"], row["up_to"], row["messages"]) for row in sizes]
    assert ranges == [(10_000, 100_000, 3), (100_000, 1_000_000, 1)]
    assert all(row["took_ps"] is None for row in sizes)


def test_a_comparison_says_who_wins_for_which_and_at_what_price(tmp_path: Path) -> None:
    compared = tg.compare(dict(TWO), transports=["expresspass", "dctcp"], out=tmp_path)
    rows = compared.groups()
    assert len(rows) == sum(len(run.groups()) for run in compared.results) == 8
    assert [row["transport"] for row in rows] == ["expresspass"] * 4 + ["dctcp"] * 4
    advice = compared.advice()
    assert advice.rivals == ["expresspass", "dctcp"]
    assert advice.best in advice.rivals
    assert advice.best in advice.claim
    parts = {one.part: one for one in advice.verdicts}
    took = {row["transport"]: row["took_ps"] for row in rows if row["tag"] == "copy"}
    (whole,) = (one for part, one in parts.items() if "copy" in part and "slowdown" not in part)
    assert whole.winners == [min(took, key=lambda name: took[name])], took
    assert len(whole.cells) == 2
    assert "One seed" in str(advice) or "one seed" in str(advice)
    shown = str(methodcaller("_repr_html_")(advice))
    assert all(part in shown for part in parts)


def test_what_differs_in_more_than_transports_is_no_advice(tmp_path: Path) -> None:
    compared = tg.compare("incast", vary={"fanout": [2, 3], "size": ["5KB"]}, out=tmp_path)
    with pytest.raises(ValueError, match=r"also differ in workload\.senders"):
        compared.advice()
    endless = tg.compare("dumbbell", set={"run.until": "1ms"}, out=tmp_path / "endless")
    with pytest.raises(ValueError, match="no message has a completion time"):
        endless.advice()
