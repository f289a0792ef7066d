"""Run a scenario and read what it wrote."""

from __future__ import annotations

import csv
import json
import platform
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, SupportsIndex

from tidegate import _core, _ended, _html
from tidegate._folder import Folder, chosen
from tidegate._keywords import suggesting
from tidegate._plain import whole
from tidegate._scenario import (
    KEYS,
    THREADS_MAX,
    RunError,
    Scenario,
    Start,
    assignments,
    refined,
    seeded,
    source,
)
from tidegate.plot import RunPlots

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Sequence

Cell = int | float | str | None

_WHOLE = {0, 1}
"""Exit codes of runs that ended as they should; 1 where a threshold was not met."""
_INTERRUPTED = 130
_POLLED = 0.5
"""Seconds between two looks at what a program in a process of its own has done."""


_MESSAGE_MAX = 2**32 - 1
_LADDER_MAX = 2**16 - 1


class Progress(NamedTuple):
    """How far a run is.

    Attributes:
        now_ps: Simulated time, in picoseconds.
        until_ps: When the run ends at the latest.
        done: Messages that ended.
        total: Messages of the run.
        hops: Packets delivered over links.
    """

    now_ps: int
    until_ps: int
    done: int
    total: int
    hops: int


@suggesting
class Table(Mapping[str, list[Cell]]):
    """A table of a run: columns by name, and an Arrow stream for whatever reads those.

    `table["size"]` is a list; `polars.DataFrame(table)`, `pyarrow.table(table)` and their like
    take it without copying through Python objects.
    """

    def __init__(self, path: Path, folder: Folder | None = None) -> None:
        """Name the file, without its ending, and its folder; it is read when needed."""
        self._name = path.name
        self._folder = folder or Folder(path.parent)

    @cached_property
    def _columns(self) -> dict[str, list[Cell]]:
        return columns(self._folder.table(self._name, ".csv"))

    def __getitem__(self, name: str) -> list[Cell]:
        """Return a column."""
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        """Go through the names of the columns."""
        return iter(self._columns)

    def __len__(self) -> int:
        """Count the columns."""
        return len(self._columns)

    def __repr__(self) -> str:
        """Name the file, the number of rows and the columns."""
        try:
            rows = max(map(len, self._columns.values()), default=0)
        except (OSError, RuntimeError) as why:
            return f"Table({self._name}: {why})"
        return f"Table({self._name}: {rows} rows of {', '.join(self)})"

    def _repr_html_(self) -> str:
        """Show the first rows, numbers with their units, and say how many there are."""
        rows = list(zip(*self._columns.values(), strict=True))
        known = _html.kinds(self._name)
        kinds = [known.get(name, "") for name in self]
        hosts = self._hosts() if {"src", "dst"} <= {*self} else {}

        def cell(value: Cell, name: str, kind: str) -> str:
            named = hosts.get(value) if name in {"src", "dst"} else None
            return named or _html.cell(value, kind)

        shown = [list(map(cell, row, self, kinds)) for row in rows[: _html.ROWS_MAX]]
        words = f"{self._name}: {len(rows):,} rows"
        if len(rows) > len(shown):
            words += f", the first {len(shown)}"
        return _html.table(list(self), shown, words)

    def _hosts(self) -> dict[Cell, str]:
        """Names of hosts by number, where the table of hosts lies beside this one."""
        try:
            hosts = columns(self._folder.table("hosts", ".csv"))
        except FileNotFoundError:
            hosts = {}
        return {
            number: str(name)
            for number, name in zip(hosts.get("host", []), hosts.get("name", []), strict=True)
        }

    def __array__(self, dtype: object = None, copy: object = None) -> NoReturn:
        """Refuse to be an array: `pandas.DataFrame(table)` would be one of the columns' names.

        Raises:
            TypeError: Always, with what to write instead.
        """
        del dtype, copy
        message = (
            f"a table is no array: write pandas.DataFrame.from_arrow({self._name}) or"
            f" pandas.DataFrame(dict({self._name})) for a frame, and {self._name}['column'] for"
            " one column"
        )
        raise TypeError(message)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Hand the table over by the Arrow PyCapsule interface, in the types that it has."""
        del requested_schema  # a consumer that wants other types casts
        return _core.arrow_stream(self._folder.table(self._name, ".parquet"))


@suggesting
@dataclass(frozen=True)
class Why:
    """Where a message's time went; printed, what `tidegate why` says.

    Attributes:
        message: Its number.
        parts: The parts of its completion time, in picoseconds; they add up to it exactly.
        document: Everything: the way of its last byte, and every packet with its hops.
        text: The same for people.
    """

    message: int
    parts: dict[str, int]
    document: dict[str, Any]
    text: str

    def __str__(self) -> str:
        """Return the text."""
        return self.text

    def _repr_html_(self) -> str:
        """Show the parts, and the text behind a fold."""
        took = max(1, sum(self.parts.values()))
        rows = [
            (part, _html.human(ps, "time"), f"{100 * ps / took:.1f} %")
            for part, ps in self.parts.items()
            if ps
        ]
        rows.append(("in all", _html.human(took, "time"), "100 %"))
        parts = _html.table(("part", "time", "share"), rows, f"message {self.message}")
        return f"{parts}<details><summary>Packets</summary><pre>{escape(self.text)}</pre></details>"


@suggesting
class Result:
    """What one run wrote; printed, the table that `tidegate run` prints.

    Attributes:
        path: The run's folder, as a whole path: tables, resolved scenario, report. When another
            run is written to it, what was not read yet raises RuntimeError.
        code: 0, 1 where a threshold of the scenario was not met, or the code of the `RunError` that
            has this.
    """

    path: Path
    code: int

    def __init__(self, path: str | os.PathLike[str] | Folder, *, code: int = 0) -> None:
        """Name the folder, which is read when needed."""
        self._folder = path if isinstance(path, Folder) else Folder(Path(path))
        self.path = self._folder.path
        self.code = code

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle a result by its folder, or with its files where the folder goes with it."""
        if not self._folder.fleeting:
            return Result, (self._folder,), {"code": self.code}
        files = {file.name: file.read_bytes() for file in self.path.iterdir()}
        return _from_files, (files, self.code)

    @cached_property
    def summary(self) -> dict[str, Any]:
        """The document `summary.json`."""
        return self._folder.summary()

    @cached_property
    def flows(self) -> Table:
        """One row per message."""
        return Table(self.path / "flows", self._folder)

    @cached_property
    def ports(self) -> Table:
        """One row per link."""
        return Table(self.path / "ports", self._folder)

    @cached_property
    def hosts(self) -> Table:
        """One row per host and transport, with columns for what transports declare to count."""
        return Table(self.path / "hosts", self._folder)

    @cached_property
    def series(self) -> Table:
        """Ports sampled over time, where the scenario asks for it."""
        return Table(self.path / "series", self._folder)

    @cached_property
    def memory(self) -> Table:
        """The most that parts of each switch's memory held, where `output.memory` asks for it."""
        return Table(self.path / "memory", self._folder)

    @property
    def fingerprint(self) -> str:
        """The hash over what happened: 16 hex digits, equal on every machine."""
        return str(self.summary["fingerprint"])

    def groups(self) -> list[dict[str, Any]]:
        """Return one flat row per tag and per range of sizes that has messages.

        Each has its `tag`, or its messages have more bytes than `above` and no more than `up_to`;
        what does not apply is None. Times are in picoseconds. Of a tag `took_ps` is the time from
        its first start to its last byte, and `stragglers` are messages whose slowdown is more than
        twice the tag's median. Where some are `unfinished`, figures are lower bounds.
        """
        return groups(self.summary)

    @property
    def report(self) -> Path:
        """The page for the browser."""
        return self.path / "report.html"

    @property
    def plot(self) -> RunPlots:
        """Pictures of this run: `result.plot.slowdown()`; `pip install 'tidegate[plot]'`."""
        return RunPlots(self)

    def why(
        self,
        message: SupportsIndex | None = None,
        *,
        flow: SupportsIndex | None = None,
        ladder: SupportsIndex = 20,
    ) -> Why:
        """Say where a message's time went, by running the scenario once more.

        Args:
            message: Its number in `flows["flow_id"]`; the slowest where none is named.
            flow: The same as `message`, by the word of the command line.
            ladder: Show about so many packets in the text.

        Returns:
            The parts of its completion time, the way of its last byte, its packets.

        Raises:
            RunError: There is no such message, or another version of the program made the run.
            ValueError: A number is out of range, or both `message` and `flow` are given.
        """
        if message is not None and flow is not None:
            both = f"message={message!r} and flow={flow!r} both name a message: leave one out"
            raise ValueError(both)
        self._folder.summary()
        packets = whole(ladder, "ladder", 0, _LADDER_MAX)
        words = ["why", str(self.path), "--json", "--ladder", str(packets)]
        word, number = ("message", message) if flow is None else ("flow", flow)
        if number is not None:
            words += ["--flow", str(whole(number, word, 0, _MESSAGE_MAX))]
        code, said, wrong = program(words)
        if code:
            raise RunError(code, wrong)
        document: dict[str, Any] = json.loads(said)
        why = document["why"]
        parts = {part["part"]: part["ps"] for part in why["parts"]}
        return Why(why["message"], parts, why, document["text"])

    def __repr__(self) -> str:
        """Name the folder, and the fingerprint where there is one."""
        try:
            known = f", fingerprint={self.fingerprint!r}"
        except (OSError, RuntimeError):
            known = ""
        return f"Result(path={str(self.path)!r}{known})"

    def __str__(self) -> str:
        """Show the table that the program prints."""
        return _core.table(json.dumps([self.summary])).rstrip()

    def _repr_html_(self) -> str:
        """Show the figures of the run, and its report behind a fold."""
        said = self.summary
        sizes, queue, goodput = said["sizes"][0], said["queue_max"], said["goodput"]
        rows = [
            ("transport", said["transport"]),
            ("messages", f"{sizes['messages']:,}, {sizes['unfinished']:,} of them unfinished"),
            ("completion p50", _html.figure(sizes["fct_ps"], "p50", "time")),
            ("completion p99", _html.figure(sizes["fct_ps"], "p99", "time")),
            ("slowdown p99", _html.figure(sizes["slowdown"], "p99")),
            ("goodput", _html.human(goodput and goodput["bps"], "rate")),
            ("longest queue", _html.human(queue and queue["bytes"], "size")),
            ("dropped data packets", f"{said['drops']['data']:,}"),
            ("status, seed", f"{_status(said)}, {said['seed']}"),
            ("fingerprint", self.fingerprint),
        ]
        shown = _html.table(("figure", "value"), rows, f"{said['scenario']}: {said['title']}")
        if len(said["tags"]) > 1:
            shown += _by_tag(said["tags"])
        self._folder.summary()
        if not self.report.exists():
            return shown
        return shown + _html.page(self.report.read_text("utf-8"), "The report")


def groups(summary: dict[str, Any]) -> list[dict[str, Any]]:
    """Make the rows of `Result.groups` of one run."""

    def row(of: dict[str, Any], tag: str | None) -> dict[str, Any]:
        took = of.get("took_ps")
        return {
            "tag": tag,
            "above": of.get("above"),
            "up_to": of.get("up_to"),
            "messages": of["messages"],
            "unfinished": of["unfinished"],
            "took_ps": took and took["value"],
            "stragglers": of.get("stragglers"),
            **{column.name: column.of(of) for column in QUANTILES},
        }

    tags = [row(of, of["name"]) for of in summary["tags"]]
    return tags + [row(of, None) for of in summary["sizes"][1:] if of["messages"]]


def quantile(spread: dict[str, Any] | None, which: str) -> float | None:
    """Take a quantile of a summary, where there is one."""
    return None if spread is None else spread[which]["value"]


class Quantile(NamedTuple):
    """A column that has a quantile of messages: its name, its title, and where it is found."""

    name: str
    title: str
    spread: str
    which: str
    kind: str = ""

    def of(self, messages: dict[str, Any]) -> float | None:
        """Take it of the messages of a size or a tag."""
        return quantile(messages[self.spread], self.which)

    def text(self, messages: dict[str, Any]) -> str:
        """Write it with its unit; what did not finish makes it a lower bound."""
        return _html.figure(messages[self.spread], self.which, self.kind)


QUANTILES = (
    Quantile("fct_p50_ps", "completion p50", "fct_ps", "p50", "time"),
    Quantile("fct_p99_ps", "completion p99", "fct_ps", "p99", "time"),
    Quantile("slowdown_p50", "slowdown p50", "slowdown", "p50"),
    Quantile("slowdown_p99", "slowdown p99", "slowdown", "p99"),
)
"""The quantiles of every row that is made of a summary, in their order."""


def _by_tag(tags: Sequence[dict[str, Any]]) -> str:
    """Show the messages of each tag: how many, and when the last byte of all had come.

    Of many tags the slowest are seen, and the others behind a fold.
    """
    head = ("tag", "messages", "complete after", "completion p99", "slowdown p99", "stragglers")

    def row(of: dict[str, Any]) -> tuple[str, ...]:
        return (
            of["name"],
            f"{of['messages']:,}"
            + (f", {of['unfinished']:,} unfinished" if of["unfinished"] else ""),
            ("≥ " if of["took_ps"]["at_least"] else "")
            + _html.human(of["took_ps"]["value"], "time"),
            _html.figure(of["fct_ps"], "p99", "time"),
            _html.figure(of["slowdown"], "p99"),
            f"{of['stragglers']:,}",
        )

    if len(tags) <= _html.ROWS_MAX:
        return _html.table(head, map(row, tags), "messages by tag")
    order = sorted(
        tags, key=lambda of: (not of["unfinished"], -(quantile(of["slowdown"], "p99") or 0))
    )
    words = f"messages by tag, the {_html.ROWS_MAX} slowest of {len(tags):,}"
    return _html.folded(head, [*map(row, order)], words, "tags")


def _status(summary: dict[str, Any]) -> str:
    """Say how a run ended; its scenario may end it before its messages do."""
    late = summary["sizes"][0]["unfinished"]
    status: str = summary["status"]
    return f"ended with {late:,} unfinished" if late and status == "complete" else status


def _from_files(files: Mapping[str, bytes], code: int) -> Result:
    path = Path(tempfile.mkdtemp(prefix="tidegate-"))
    for name, content in files.items():
        (path / name).write_bytes(content)
    return Result(Folder(path, fleeting=True), code=code)


def program(
    words: Sequence[str], meanwhile: Callable[[], None] | None = None
) -> tuple[int, str, str]:
    """Run the program in a process of its own: its exit code, its output and its errors.

    `meanwhile` is called every now and then until it has ended.
    """
    command = [sys.executable, "-m", "tidegate", *words]
    if meanwhile is None:
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
        return done.returncode, done.stdout, done.stderr
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True) as process:  # noqa: S603
        try:
            while True:
                try:
                    said, wrong = process.communicate(timeout=_POLLED)
                except subprocess.TimeoutExpired:
                    meanwhile()
                else:
                    meanwhile()
                    return process.returncode, said, wrong
        except BaseException:
            process.kill()
            raise


@suggesting
def run(
    scenario: Start | Scenario,
    *,
    set: Mapping[str, object] | None = None,  # noqa: A002 - the same word as on the command line
    seed: SupportsIndex | None = None,
    out: str | os.PathLike[str] | None = None,
    threads: SupportsIndex | None = None,
    progress: Callable[[Progress], object] | None = None,
) -> Result:
    """Run a scenario.

    Args:
        scenario: A path, a name such as "incast", a dictionary of a scenario's tables, or what
            `scenario` describes.
        set: Values that replace those of the scenario, by dotted path; quantities are strings with
            units, as in the file: `{"workload.load": 0.6, "topology.host_rate": "100Gbps"}`.
        seed: The seed, instead of the scenario's.
        out: The folder to write to; without it the one that the scenario names by `output.dir`. If
            neither names one, the files live as long as the result.
        threads: Threads to run with, instead of the scenario's number. Results do not depend on it.
        progress: Called every now and then; the run ends early if it returns False or anything
            else that is falsy, but for None. Other Python threads run meanwhile. A notebook shows a
            bar where none is given.

    Returns:
        The tables and the summary of the run.

    Raises:
        RunError: The scenario cannot be run, the run broke or left messages unfinished (code 3),
            or `progress` ended it (code 130). The error then has what there is as its `result`.
        TypeError: A value has no place in a scenario file.
        ValueError: `seed` or `threads` is out of range.
        KeyboardInterrupt: The run was interrupted; what it had done is in `out`.
    """
    scenario = refined(scenario, set, None if seed is None else {KEYS["seed"]: seeded(seed)})
    several = None if threads is None else whole(threads, "threads", 1, THREADS_MAX)
    name, text = source(scenario.start)
    folder = chosen(scenario, out)
    sets = assignments(scenario.sets)
    if text is None:
        words = ["tidegate", "run", name]
        for word in sets:
            words += ["--set", word]
    else:
        # A dictionary has no file but the one that the run writes.
        words = ["tidegate", "run", "resolved.toml"]

    bar = _html.bar() if progress is None else None

    def tell(*at: int) -> object:
        if bar is not None:
            bar(at)
        said = None if progress is None else progress(Progress(*at))
        # Falsy values of other libraries are not the object False, which alone ends a run.
        return said is None or bool(said)

    code, message = _core.run(
        name,
        text,
        sets,
        folder.path,
        command=shlex.join(words),
        started=datetime.now(UTC).isoformat(timespec="seconds"),
        host=platform.node(),
        threads=several,
        progress=tell if progress is not None or bar is not None else None,
    )
    if code not in {*_WHOLE, _ended.BROKEN, _INTERRUPTED}:
        raise RunError(code, message)
    # The result is of the run that is there now.
    summary = folder.summary()
    result = Result(folder, code=code)
    if code == _ended.BROKEN:
        message = _ended.of_run(message, summary, result.report)
    if code not in _WHOLE:
        raise RunError(code, message, result)
    return result


def columns(path: Path) -> dict[str, list[Cell]]:
    """Read a table with a header row as columns, each with the narrowest type that fits it all."""
    with path.open(newline="", encoding="utf-8") as file:
        rows = csv.reader(line for line in file if not line.startswith("#"))
        names = next(rows, None) or []
        cells = list(zip(*rows, strict=True)) or [()] * len(names)
    return {
        name: [cell == "1" for cell in column] if name in _truths() else _typed(column)
        for name, column in zip(names, cells, strict=True)
    }


@cache
def _truths() -> frozenset[str]:
    """Name the columns of truth values, which are 1 and 0 in CSV."""
    return frozenset(_core.truths())


def _typed(column: Sequence[str]) -> list[Cell]:
    """Turn a column's texts into numbers where all of them are; an empty cell is None.

    >>> _typed(["1", "", "3"])
    [1, None, 3]
    >>> _typed(["1", "2.5"])
    [1.0, 2.5]
    >>> _typed(["1", "two"])
    ['1', 'two']
    """
    for kind in (int, float):
        try:
            return [kind(cell) if cell else None for cell in column]
        except ValueError:
            continue
    return [cell or None for cell in column]
