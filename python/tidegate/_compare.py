"""Compare transports, settings and seeds by the program's own `compare`."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, SupportsIndex

from tidegate import _core, _ended, _html
from tidegate._folder import Folder
from tidegate._keywords import suggesting
from tidegate._plain import listed, whole
from tidegate._run import QUANTILES, Result, groups, program
from tidegate._scenario import (
    KEYS,
    THREADS_MAX,
    RunError,
    Scenario,
    Start,
    anchored,
    document,
    mapping,
    refined,
    toml,
)
from tidegate.plot import ComparisonPlots

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tidegate._run import Quantile

_THRESHOLD = 1
_RUNS_MAX = 10_000
"""Runs of a comparison at most."""


class Verdict(NamedTuple):
    """What one part of the messages says.

    Attributes:
        part: Which messages, and what of them: `p99 slowdown, tag rpc`.
        winners: Who is ahead, or level with who is; empty where that cannot be said.
        says: Why, with numbers.
        cells: What each transport has, in the order of `Advice.rivals`, with intervals.
    """

    part: str
    winners: list[str]
    says: str
    cells: list[str]


@suggesting
@dataclass(frozen=True)
class Advice:
    """Who wins for which messages, at what price; printed, what `tidegate advise` says first.

    Attributes:
        claim: Who is best overall, with the greatest price.
        more: What a reader has to know besides.
        best: The transport of the claim; None where all left so much unfinished that nobody is.
        rivals: The transports, in the order of `Verdict.cells`.
        verdicts: All messages first, then by size and tag.
        prices: Every part in which `best` is slower than another, the worst first.
        unjudged: What the runs do not tell.
        equal: Whose seeds changed nothing, so that their runs count as one; None where all did.
    """

    claim: str
    more: str
    best: str | None
    rivals: list[str]
    verdicts: list[Verdict]
    prices: list[str]
    unjudged: list[str]
    equal: str | None

    def __str__(self) -> str:
        """Say it in lines: the claim, then part by part."""
        parts = [f"{one.part}: {_who(one)}, {one.says}" for one in self.verdicts]
        return "\n".join([f"{self.claim} {self.more}".rstrip(), *parts, *self.unjudged])

    def _repr_html_(self) -> str:
        """Show the claim, and a row per part."""
        rows = [(one.part, _who(one), *one.cells) for one in self.verdicts]
        table = _html.folded(("part", "ahead", *self.rivals), rows, what="parts")
        said = [f"{self.claim} {self.more}", *self.unjudged]
        return "".join(f"<p>{escape(text)}</p>" for text in said) + table


def _who(verdict: Verdict) -> str:
    return " and ".join(verdict.winners) or "nobody"


@suggesting
@dataclass(frozen=True)
class Comparison:
    """Runs side by side; printed, the table that `tidegate compare` prints.

    Attributes:
        summaries: The document `summary.json` of each run, by settings and then by seed.
        results: The runs themselves, in the same order: their tables and folders.
        report: The page that shows them together.
        code: 0, 1 where a threshold was not met, or the code of the `RunError` that has this.
        varied: The values of each key that differs, by their texts in `summaries`.
    """

    summaries: list[dict[str, Any]]
    results: list[Result]
    report: Path
    code: int
    varied: Mapping[str, Mapping[str, object]] = field(
        default_factory=dict[str, Mapping[str, object]], repr=False
    )

    def rows(self) -> list[dict[str, Any]]:
        """Return one flat row per run: settings, seed, and the figures that are compared most.

        Numbers that `vary` names are numbers. Times are in picoseconds, `queue_max` in bytes,
        `drops` in packets of data.
        """
        return [
            {
                "transport": run["transport"],
                "seed": run["seed"],
                **self._values(run),
                **{column.name: column.of(run) for column in _COLUMNS},
            }
            for run in self.summaries
        ]

    def groups(self) -> list[dict[str, Any]]:
        """Return one flat row per run and tag, and per run and range of sizes.

        Each has the run's settings and seed, then what `Result.groups` has.
        """
        return [
            {"transport": run["transport"], "seed": run["seed"], **self._values(run), **row}
            for run in self.summaries
            for row in groups(run)
        ]

    def _values(self, run: dict[str, Any]) -> dict[str, object]:
        """Read the settings of a run as the values that the caller gave."""
        return {
            key: self.varied.get(key, {}).get(text, text) for key, text in _settings(run).items()
        }

    def advice(self) -> Advice:
        """Say who wins for which messages, and what that costs others.

        Raises:
            ValueError: The runs differ in more than transport and seed, or no message has a
                completion time.
        """
        values: dict[str, set[str]] = {}
        for run in self.summaries:
            for key, value in _settings(run).items():
                values.setdefault(key, set()).add(value)
        several = [key for key, found in values.items() if len(found) > 1]
        if several:
            keys = ", ".join(several)
            message = f"the runs also differ in {keys}: compare each value of it by itself"
            raise ValueError(message)
        text = _core.advice(json.dumps(self.summaries))
        if text is None:
            message = "no message has a completion time: there is nothing to choose by"
            raise ValueError(message)
        said = json.loads(text)
        verdicts = [Verdict(**one) for one in said.pop("verdicts")]
        return Advice(verdicts=verdicts, **said)

    @property
    def plot(self) -> ComparisonPlots:
        """Pictures of all runs together: `compared.plot.slowdown()`."""
        return ComparisonPlots(self)

    def __str__(self) -> str:
        """Show the table that the program prints."""
        return _core.table(json.dumps(self.summaries)).rstrip()

    def _repr_html_(self) -> str:
        """Show a row per run, and the report behind a fold."""
        titles = {column.name: column.title for column in _COLUMNS}
        texts = {column.name: column.text for column in _COLUMNS}
        rows = self.rows()
        head = [titles.get(name, name.replace("_", " ")) for name in rows[0]] if rows else []
        shown = [
            [texts[name](run) if name in texts else str(value) for name, value in row.items()]
            for run, row in zip(self.summaries, rows, strict=True)
        ]
        table = _html.table(head, shown, f"{len(rows)} runs")
        if not self.report.exists():
            return table
        return table + _html.page(self.report.read_text("utf-8"), "The report")


class _Column(NamedTuple):
    """A figure that is compared: its name in rows, its title, and how it is read of a run."""

    name: str
    title: str
    of: Callable[[dict[str, Any]], object]
    text: Callable[[dict[str, Any]], str]


def _quantile(column: Quantile) -> _Column:
    """Take a quantile of all messages of a run."""

    def of(run: dict[str, Any]) -> object:
        return column.of(run["sizes"][0])

    def text(run: dict[str, Any]) -> str:
        return column.text(run["sizes"][0])

    return _Column(column.name, column.title, of, text)


def _count(name: str, among: str, which: str) -> _Column:
    """Take a count out of a part of the summary."""

    def of(run: dict[str, Any]) -> object:
        return run[among][which]

    def text(run: dict[str, Any]) -> str:
        return f"{run[among][which]:,}"

    return _Column(name, name, of, text)


def _queue_max(run: dict[str, Any]) -> int | None:
    return run["queue_max"] and run["queue_max"]["bytes"]


def _queue_text(run: dict[str, Any]) -> str:
    return _html.human(_queue_max(run), "size")


_COLUMNS = (
    *map(_quantile, QUANTILES),
    _Column("queue_max", "queue max", _queue_max, _queue_text),
    _count("drops", "drops", "data"),
    _count("unfinished", "messages", "unfinished"),
)
"""What a comparison shows of each run, besides its settings."""


def _watched(out: Path, total: int) -> Callable[[], None] | None:
    """Show in a notebook how many of so many runs this folder holds since now; None elsewhere."""
    bar = _html.bar_of_runs(total)
    if bar is None:
        return None
    began = time.time()

    def look() -> None:
        whole = (file.stat().st_mtime for file in out.glob("*/meta.json"))
        bar(sum(moment >= began for moment in whole))

    return look


def _settings(run: dict[str, Any]) -> dict[str, str]:
    return {key: value for key, value in run["settings"] if key != "transport.kind"}


def _written(tables: Mapping[str, object], out: Path) -> Path:
    """Write a dictionary below `out`, in a folder of its own, so that equal ones are one file."""
    text = document(anchored(tables))
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    file = out / ".tidegate" / digest / "scenario.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, "utf-8")
    return file


def _one(value: object) -> str:
    """Write a value for all runs: of a list `--set` would take one item per run.

    >>> _one([1, 2]), _one("a")
    ('[[1, 2]]', '"a"')
    """
    text = toml(value)
    return f"[{text}]" if isinstance(value, list | tuple) else text


def _result(path: str, code: int) -> Result:
    """Take the run that is in a folder now."""
    folder = Folder(Path(path))
    folder.summary()
    return Result(folder, code=code)


def _broken(compared: Comparison) -> str:
    """Name the runs that broke or left messages unfinished, and say why."""
    pairs = zip(compared.summaries, compared.results, strict=True)
    broken = [(said, run.path) for said, run in pairs if run.code == _ended.BROKEN]
    return _ended.of_runs(broken, len(compared.results), compared.report) if broken else ""


def _path(key: str) -> tuple[str, ...]:
    """Take a key apart; the first of several tables needs no number.

    >>> _path("workload.0.load")
    ('workload', 'load')
    """
    return tuple(part for part in key.split(".") if part != "0")


def _by_text(several: list[Any]) -> dict[str, object]:
    """Find values by the texts that the program makes of them.

    >>> _by_text([16, "10KB", True])
    {'16': 16, '10KB': '10KB', 'true': True}
    """
    scalars = [value for value in several if not isinstance(value, list | dict)]
    return {toml(value).strip('"'): value for value in scalars}


def _told(
    kinds: list[Any], vary: Mapping[str, object], sets: Mapping[str, object]
) -> frozenset[tuple[str, ...]]:
    """Tell which keys a comparison sets.

    Raises:
        ValueError: Two words of the caller set one of them, of which only the last would hold.
    """
    words = [("transports", KEYS["transport"])] if kinds else []
    words += [(f"vary[{key!r}]", KEYS.get(key, key)) for key in vary]
    words += [(f"set[{key!r}]", key) for key in sets]
    said: dict[tuple[str, ...], str] = {}
    for word, key in words:
        first = said.setdefault(_path(key), word)
        # Of two ways to write one key in `set` the last holds, as on the command line.
        if first != word and not (first.startswith("set[") and word.startswith("set[")):
            message = (
                f"{first} and {word} both set {key}, and rows would name values that did not run;"
                " leave one of them out"
            )
            raise ValueError(message)
    return frozenset(said)


def _lists(kinds: list[Any], vary: Mapping[str, Iterable[object]]) -> dict[str, list[Any]]:
    """Name by its key what differs between runs, each with its values.

    Raises:
        ValueError: There are no values, or the seed is one of the keys.
    """
    lists = {KEYS["transport"]: kinds} if kinds else {}
    for key, values in vary.items():
        several = listed(values, f"vary[{key!r}]")
        if not several:
            message = f"vary[{key!r}] is empty: write the values to try, or leave it out"
            raise ValueError(message)
        lists[KEYS.get(key, key)] = several
    if KEYS["seed"] in lists:
        message = (
            "vary has the seed, and every combination runs with the same seeds: write seeds=3 for"
            f" three of them, and set={{{KEYS['seed']!r}: 1}} for the first"
        )
        raise ValueError(message)
    return lists


@suggesting
def compare(
    scenario: Start | Scenario,
    *,
    transports: Iterable[str] | None = None,
    seeds: SupportsIndex = 1,
    set: Mapping[str, object] | None = None,  # noqa: A002 - the same word as on the command line
    vary: Mapping[str, Iterable[object]] | None = None,
    out: str | os.PathLike[str] = "out",
    jobs: SupportsIndex | None = None,
) -> Comparison:
    """Run every combination on all cores; what `out` holds already is not run again.

    Args:
        scenario: A path, a name such as "incast", a dictionary of a scenario's tables, or what
            `scenario` describes. A dictionary is written to a folder in `out` first; files that it
            names are read from the present folder, as in `run`.
        transports: The transports; without any, the scenario's own.
        seeds: How many seeds of every combination; from 5 on the report has bootstrap intervals.
        set: Values for all runs, by dotted path; a list is one value.
        vary: Values to try, by dotted path or by a keyword of `scenario`: `{"load": [0.4, 0.6]}`.
        out: The folder for the runs and the report.
        jobs: Runs side by side, instead of one per core.

    Returns:
        The summaries and the results of all runs.

    Raises:
        RunError: A run is impossible, or one broke or left messages unfinished (code 3): the text
            names those, and `result` of the error has the comparison all the same.
        TypeError: A value has no place in a scenario file.
        ValueError: Two of `transports`, `vary` and `set` set one key, `vary` has the seed or no
            values, or `seeds` or `jobs` is out of range.
    """
    scenario = refined(scenario)
    many = whole(seeds, "seeds", 1, _RUNS_MAX)
    side = [] if jobs is None else ["--jobs", str(whole(jobs, "jobs", 1, THREADS_MAX))]
    kinds = listed(() if transports is None else transports, "transports")
    vary = mapping(vary, "vary", "{'load': [0.4, 0.6]}")
    lists = _lists(kinds, vary)
    told = _told(kinds, vary, mapping(set))
    # A comparison may replace what its scenario sets.
    kept = {key: value for key, value in scenario.sets.items() if _path(key) not in told}
    start = scenario.start
    values = {key: _one(value) for key, value in refined(start, kept, set).sets.items()}
    values |= {key: toml(several) for key, several in lists.items()}
    name = str(_written(start, Path(out))) if isinstance(start, Mapping) else os.fspath(start)
    words = ["compare", name, "--json", "--seeds", str(many), "--out", str(out), *side]
    for key, value in values.items():
        words += ["--set", f"{key}={value}"]
    # A process of its own: Ctrl-C ends it after its current windows, and its folder stays whole.
    code, said, wrong = program(words, _watched(Path(out), many * prod(map(len, lists.values()))))
    document: dict[str, Any] = json.loads(said) if said else {}
    if not document.get("report"):
        raise RunError(code, wrong or f"the program ended with code {code} and said nothing")
    varied = {key: _by_text(several) for key, several in lists.items()}
    compared = _compared(document, code, varied)
    if code > _THRESHOLD:
        raise RunError(code, f"{wrong}{_broken(compared)}", compared)
    return compared


def _compared(
    document: dict[str, Any], code: int, varied: dict[str, dict[str, object]]
) -> Comparison:
    """Read the document that the program prints of a comparison."""
    runs = document["runs"]
    return Comparison(
        [run["summary"] for run in runs],
        [_result(run["dir"], run["exit_code"]) for run in runs],
        Path(document["report"]).absolute(),
        code,
        varied,
    )
