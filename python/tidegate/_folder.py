"""The folder of a run: which run it holds, and how long it stays."""

from __future__ import annotations

import json
import shutil
import tempfile
import tomllib
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    import os

    from tidegate import Scenario

# Files that a run writes where it is asked to, with what asks.
_ASKED = {
    "memory": "set output.memory, like set={'output.memory': True}",
    "series": "no sample was taken; set output.every to less than the run lasts, like every='1us'",
}


class Folder:
    """A folder that is read later than it was written.

    Attributes:
        path: Its whole path.
        fleeting: Whether it goes with the last object that needs it.
    """

    def __init__(self, path: Path, *, fleeting: bool = False) -> None:
        """Remember the folder."""
        # The process may have another folder by the time that this one is read.
        self.path = path.absolute()
        self.fleeting = fleeting
        self._run: tuple[str, str] | None = None
        if fleeting:
            weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)

    def summary(self) -> dict[str, Any]:
        """Read the summary of the run, which has to be the one that was read before.

        Raises:
            FileNotFoundError: There is no run.
            RuntimeError: There is another run.
        """
        file = self.path / "summary.json"
        if not file.exists():
            message = f"{self.path} holds no run: it has no summary.json"
            raise FileNotFoundError(message)
        document: dict[str, Any] = json.loads(file.read_text("utf-8"))
        run = (document["fingerprint"], self._scenario())
        if self._run is None:
            self._run = run
        if self._run != run:
            message = (
                f"{self.path} now holds another run: give every run a folder of its own, or read"
                " what you need of one before the next"
            )
            raise RuntimeError(message)
        return document

    def _scenario(self) -> str:
        """Read the hash of the scenario: runs may differ only in what they write."""
        file = self.path / "meta.json"
        return str(json.loads(file.read_text("utf-8"))["scenario"]) if file.exists() else ""

    def table(self, name: str, ending: str) -> Path:
        """Find the file of a table of the run.

        Raises:
            FileNotFoundError: The run did not write it.
            RuntimeError: There is another run.
        """
        self.summary()
        file = self.path / f"{name}{ending}"
        if not file.exists():
            cure = _ASKED.get(name, "another program may have taken it away")
            message = f"{self.path} has no table {name}: {cure}"
            raise FileNotFoundError(message)
        return file


_INCLUDES_MAX = 8
"""Files that may include each other in a row, as in the program."""


def chosen(scenario: Scenario, out: str | os.PathLike[str] | None) -> Folder:
    """Choose the folder of a run: `out`, then the scenario's `output.dir`, then one for a while."""
    named = out if out is not None else _named(scenario)
    if named is not None:
        return Folder(Path(named))
    return Folder(Path(tempfile.mkdtemp(prefix="tidegate-")), fleeting=True)


def _named(scenario: Scenario) -> str | None:
    """Find `output.dir` in a scenario; what is wrong with it the program says."""
    start = scenario.start
    if isinstance(start, Mapping):
        found = _inside(start, ("output", "dir"), None)
    else:
        found = _inside(_tables(Path(start)), ("output", "dir"), Path(start).parent)
    for key, value in scenario.sets.items():
        if key == "output.dir":
            found = value
        elif key == "output":
            found = _table(value).get("dir", found)
    return found if isinstance(found, str) and found else None


def _inside(
    table: Mapping[str, object], path: tuple[str, ...], base: Path | None, depth: int = 0
) -> object:
    """Find a value in tables, or in the files that these include."""
    value = table.get(path[0])
    if len(path) > 1:
        value = _inside(_table(value), path[1:], base, depth)
    include = table.get("include")
    if value is None and isinstance(include, str) and base is not None and depth < _INCLUDES_MAX:
        file = base / include
        return _inside(_tables(file), path, file.parent, depth + 1)
    return value


def _tables(file: Path) -> Mapping[str, object]:
    """Read a scenario file; what cannot be read the program refuses."""
    # A pipe can be read once, and the program is to read it.
    if not file.is_file():
        return {}
    try:
        text = file.read_text("utf-8")
        return _table(json.loads(text) if file.suffix == ".json" else tomllib.loads(text))
    except (OSError, ValueError):
        return {}


def _table(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, Mapping) else {}
