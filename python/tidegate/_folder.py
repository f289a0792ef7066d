"""The folder of a run: which run it holds, and how long it stays."""

from __future__ import annotations

import json
import shutil
import weakref
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

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
