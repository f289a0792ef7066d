"""Run a scenario and read what it wrote."""

from __future__ import annotations

import csv
import json
import tempfile
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from tidegate import _core

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

Cell = int | float | str | bool | None

_OK = (0, 1)
_INTERRUPTED = 130


class RunError(Exception):
    """A run that was refused or that broke.

    Attributes:
        code: The exit code the program would have ended with: 2 for a scenario that cannot be run,
            3 for a broken invariant, 4 for a file that could not be read or written.
    """

    def __init__(self, code: int, message: str) -> None:
        """Keep the exit code beside the message."""
        super().__init__(message)
        self.code = code


class Result:
    """What one run wrote.

    Attributes:
        path: The run's folder: tables, resolved scenario, report.
        code: 0, or 1 where a threshold of the scenario was not met.
    """

    path: Path
    code: int

    def __init__(
        self,
        path: Path,
        code: int = 0,
        keep: tempfile.TemporaryDirectory[str] | None = None,
    ) -> None:
        """Read the folder at `path`; `keep` is deleted with this object."""
        self.path = path
        self.code = code
        self._keep = keep

    @cached_property
    def summary(self) -> dict[str, Any]:
        """The document `summary.json`."""
        document: dict[str, Any] = json.loads((self.path / "summary.json").read_text("utf-8"))
        return document

    @cached_property
    def flows(self) -> dict[str, list[Cell]]:
        """The table `flows.csv` as columns by name: one row per message."""
        return columns(self.path / "flows.csv")

    @property
    def fingerprint(self) -> str:
        """The hash over what happened: 16 hex digits, equal on every machine."""
        return str(self.summary["fingerprint"])

    def __repr__(self) -> str:
        """Name the folder and the fingerprint."""
        return f"Result(path={str(self.path)!r}, fingerprint={self.fingerprint!r})"


def run(
    scenario: str | os.PathLike[str],
    *,
    set: Mapping[str, object] | None = None,  # noqa: A002 - the same word as on the command line
    seed: int | None = None,
    out: str | os.PathLike[str] | None = None,
) -> Result:
    """Run a scenario file or a built-in scenario.

    Args:
        scenario: A path, or a name such as "incast".
        set: Values that replace those of the file, by dotted path; quantities are strings with
            units, as in the file: `{"workload.load": 0.6, "topology.host_rate": "100Gbps"}`.
        seed: The seed, instead of the file's.
        out: The folder to write to. Without it the files live as long as the result.

    Returns:
        The tables and the summary of the run.

    Raises:
        RunError: The scenario cannot be run, or the run broke.
        KeyboardInterrupt: The run was interrupted; what it had done is in `out`.
    """
    keep = None
    if out is None:
        keep = tempfile.TemporaryDirectory(prefix="tidegate-")
        out = keep.name
    path = Path(out)
    argv = ["run", str(scenario), "--quiet", "--out", str(path), *_set_arguments(set or {})]
    if seed is not None:
        argv += ["--seed", str(seed)]
    code = _core.main(argv)
    if code == _INTERRUPTED:
        raise KeyboardInterrupt
    if code not in _OK:
        message = f"{scenario}: exit code {code}; standard error says what is wrong"
        raise RunError(code, message)
    return Result(path, code, keep)


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


def _set_arguments(values: Mapping[str, object]) -> list[str]:
    """Write overrides as the command line takes them.

    >>> _set_arguments({"workload.load": 0.6, "switch.buffer": "200KB", "run.trace": True})
    ['--set', 'workload.load=0.6', '--set', 'switch.buffer="200KB"', '--set', 'run.trace=true']
    """
    return [word for key, value in values.items() for word in ("--set", f"{key}={_toml(value)}")]


def _toml(value: object) -> str:
    """Write a value in TOML's words.

    >>> _toml([1, "a", {"b": 2.5}])
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
            return "[" + ", ".join(_toml(item) for item in items) + "]"
        case dict():
            pairs = cast("Mapping[str, object]", value).items()
            return "{" + ", ".join(f"{json.dumps(k)} = {_toml(v)}" for k, v in pairs) + "}"
        case _:
            message = f"{value!r} has no place in a scenario: write a number, a string or a list"
            raise TypeError(message)
