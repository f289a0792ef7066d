"""Run a scenario and read what it wrote."""

from __future__ import annotations

import csv
import json
import platform
import shlex
import shutil
import tempfile
import weakref
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from tidegate import _core

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Sequence

    Start = str | os.PathLike[str]

Cell = int | float | str | None

_THRESHOLD = 1


# The keys of a scenario that scripts set most often, under shorter names.
_SHORT = {
    "transport": "transport.kind",
    "load": "workload.load",
    "senders": "workload.senders",
    "size": "workload.size",
    "link": "topology.host_rate",
    "seed": "run.seed",
}


@dataclass(frozen=True)
class Scenario:
    """A scenario to start from, and what is different.

    Attributes:
        start: A path, or a name such as "incast".
        sets: Values that replace those of the file, by dotted path.
    """

    start: Start
    sets: dict[str, object] = field(default_factory=dict[str, object])


def scenario(
    start: Start,
    *,
    transport: str | None = None,
    load: float | None = None,
    senders: int | None = None,
    size: str | None = None,
    link: str | None = None,
    seed: int | None = None,
    set: Mapping[str, object] | None = None,  # noqa: A002 - the same word as on the command line
) -> Scenario:
    """Describe a run: a scenario to start from, and what is different.

    Args:
        start: A path, or a name such as "incast".
        transport: The transport, as in `tidegate list transports`.
        load: Offered load, as a share of the capacity.
        senders: Hosts that send at once, for an incast.
        size: Size of each message, with its unit: "64KB".
        link: Rate of the hosts' links, with its unit: "100Gbps".
        seed: Seed of every random stream.
        set: Any other key of the reference, by dotted path.

    Returns:
        A value for `run`. It is checked when it runs.

    >>> scenario("incast", transport="dctcp", senders=8, set={"run.until": "5ms"}).sets
    {'transport.kind': 'dctcp', 'workload.senders': 8, 'run.until': '5ms'}
    """
    given: dict[str, object] = {
        "transport": transport,
        "load": load,
        "senders": senders,
        "size": size,
        "link": link,
        "seed": seed,
    }
    sets = {_SHORT[name]: value for name, value in given.items() if value is not None}
    return Scenario(start, {**sets, **(set or {})})


class RunError(Exception):
    """A run that was refused or that broke; the text says where and what to write instead.

    Attributes:
        code: The exit code the program would have ended with: 2 for a scenario that cannot be run,
            3 for a broken invariant or stuck flows, 4 for a file that could not be written, 130
            where it was ended early.
    """

    def __init__(self, code: int, message: str) -> None:
        """Keep the exit code beside the message."""
        super().__init__(message)
        self.code = code


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


class _Fleeting:
    """A folder that goes with the last object that needs it."""

    def __init__(self, path: Path) -> None:
        weakref.finalize(self, shutil.rmtree, path, ignore_errors=True)


class Table(Mapping[str, list[Cell]]):
    """A table of a run: columns by name, and an Arrow stream for whatever reads those.

    `table["size"]` is a list; `polars.DataFrame(table)`, `pyarrow.table(table)` and their like
    take it without copying through Python objects.
    """

    def __init__(self, path: Path, folder: object = None) -> None:
        """Name the file, without its ending, and what keeps its folder; it is read when needed."""
        self._path = path
        self._folder = folder

    @cached_property
    def _columns(self) -> dict[str, list[Cell]]:
        return columns(self._path.with_suffix(".csv"))

    def __getitem__(self, name: str) -> list[Cell]:
        """Return a column."""
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        """Go through the names of the columns."""
        return iter(self._columns)

    def __len__(self) -> int:
        """Count the columns."""
        return len(self._columns)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Hand the table over by the Arrow PyCapsule interface, in the types that it has."""
        del requested_schema  # a consumer that wants other types casts
        return _core.arrow_stream(self._path.with_suffix(".parquet"))


class Result:
    """What one run wrote.

    Attributes:
        path: The run's folder: tables, resolved scenario, report.
        code: 0, or 1 where a threshold of the scenario was not met.
    """

    path: Path
    code: int

    def __init__(self, path: Path, *, code: int = 0, fleeting: bool = False) -> None:
        """Read the folder at `path`, which goes with this and its tables where it is `fleeting`."""
        self.path = path
        self.code = code
        self._folder = _Fleeting(path) if fleeting else None

    def __reduce__(self) -> tuple[Callable[..., Result], tuple[object, ...]]:
        """Pickle a result by its folder, or with its files where the folder goes with it."""
        if self._folder is None:
            return _from_folder, (self.path, self.code)
        files = {file.name: file.read_bytes() for file in self.path.iterdir()}
        return _from_files, (files, self.code)

    @cached_property
    def summary(self) -> dict[str, Any]:
        """The document `summary.json`."""
        document: dict[str, Any] = json.loads((self.path / "summary.json").read_text("utf-8"))
        return document

    @cached_property
    def flows(self) -> Table:
        """One row per message."""
        return Table(self.path / "flows", self._folder)

    @cached_property
    def ports(self) -> Table:
        """One row per link."""
        return Table(self.path / "ports", self._folder)

    @cached_property
    def series(self) -> Table:
        """Ports sampled over time, where the scenario asks for it."""
        return Table(self.path / "series", self._folder)

    @property
    def fingerprint(self) -> str:
        """The hash over what happened: 16 hex digits, equal on every machine."""
        return str(self.summary["fingerprint"])

    def __repr__(self) -> str:
        """Name the folder and the fingerprint."""
        return f"Result(path={str(self.path)!r}, fingerprint={self.fingerprint!r})"


def _from_folder(path: Path, code: int) -> Result:
    return Result(path, code=code)


def _from_files(files: Mapping[str, bytes], code: int) -> Result:
    path = Path(tempfile.mkdtemp(prefix="tidegate-"))
    for name, content in files.items():
        (path / name).write_bytes(content)
    return Result(path, code=code, fleeting=True)


def run(
    scenario: Start | Scenario,
    *,
    set: Mapping[str, object] | None = None,  # noqa: A002 - the same word as on the command line
    seed: int | None = None,
    out: str | os.PathLike[str] | None = None,
    threads: int | None = None,
    progress: Callable[[Progress], object] | None = None,
) -> Result:
    """Run a scenario file or a built-in scenario.

    Args:
        scenario: A path, a name such as "incast", or what `scenario` describes.
        set: Values that replace those of the file, by dotted path; quantities are strings with
            units, as in the file: `{"workload.load": 0.6, "topology.host_rate": "100Gbps"}`.
        seed: The seed, instead of the file's.
        out: The folder to write to. Without it the files live as long as the result.
        threads: Threads to run with, instead of the file's number. Results do not depend on it.
        progress: Called every now and then; the run ends early if it returns False. Other Python
            threads run meanwhile.

    Returns:
        The tables and the summary of the run.

    Raises:
        RunError: The scenario cannot be run, the run broke, or `progress` ended it (code 130).
        KeyboardInterrupt: The run was interrupted; what it had done is in `out`.
    """
    if not isinstance(scenario, Scenario):
        scenario = Scenario(scenario)
    start = str(scenario.start)
    path = Path(tempfile.mkdtemp(prefix="tidegate-") if out is None else out)
    result = Result(path, fleeting=out is None)
    sets = [f"{key}={toml(value)}" for key, value in {**scenario.sets, **(set or {})}.items()]
    if seed is not None:
        sets.append(f"run.seed={seed}")
    words = ["tidegate", "run", start]
    for word in sets:
        words += ["--set", word]

    def tell(*at: int) -> object:
        return progress(Progress(*at)) if progress is not None else None

    code, message = _core.run(
        start,
        sets,
        path,
        command=shlex.join(words),
        started=datetime.now(UTC).isoformat(timespec="seconds"),
        host=platform.node(),
        threads=threads,
        progress=tell if progress is not None else None,
    )
    if code > _THRESHOLD:
        raise RunError(code, message)
    result.code = code
    return result


def columns(path: Path) -> dict[str, list[Cell]]:
    """Read a table with a header row as columns, each with the narrowest type that fits it all."""
    with path.open(newline="", encoding="utf-8") as file:
        rows = csv.reader(line for line in file if not line.startswith("#"))
        names = next(rows, None) or []
        cells = list(zip(*rows, strict=True)) or [()] * len(names)
    return {name: _typed(column) for name, column in zip(names, cells, strict=True)}


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


def toml(value: object) -> str:
    """Write a value in TOML's words.

    >>> toml([1, "a", {"b": 2.5}])
    '[1, "a", {"b" = 2.5}]'
    """
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)
        case str():
            # TOML's basic strings escape as JSON does.
            return json.dumps(value, ensure_ascii=False)
        case list() | tuple():
            items = cast("Sequence[object]", value)
            return "[" + ", ".join(toml(item) for item in items) + "]"
        case dict():
            pairs = cast("Mapping[str, object]", value).items()
            return "{" + ", ".join(f"{json.dumps(k)} = {toml(v)}" for k, v in pairs) + "}"
        case _:
            message = f"{value!r} has no place in a scenario: write a number, a string or a list"
            raise TypeError(message)
