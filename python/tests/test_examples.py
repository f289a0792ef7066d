"""The examples, as a user runs them."""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# Notebooks have no types.
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def example(name: str, folder: Path, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLES / name), *words],
        cwd=folder,
        env={**os.environ, "MPLBACKEND": "Agg"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_example_is_tried_here() -> None:
    tried = {"transports_over_load.py", "why_so_slow.py", "tables_with_polars.py"}
    assert {path.name for path in EXAMPLES.glob("*.py")} == tried
    assert [path.name for path in EXAMPLES.glob("*.ipynb")] == ["first-round-trip.ipynb"]


def test_transports_are_drawn_over_load(tmp_path: Path) -> None:
    said = example("transports_over_load.py", tmp_path, "load.png")
    assert "expresspass+aeolus" in said
    assert (tmp_path / "load.png").read_bytes().startswith(b"\x89PNG")
    assert list((tmp_path / "out").glob("compare-*.html"))


def test_the_slowest_message_is_taken_apart(tmp_path: Path) -> None:
    said = example("why_so_slow.py", tmp_path)
    # Without credits nothing can wait for them, and with them an incast mostly does.
    assert "waiting for credit" in said.split("expresspass+aeolus: ")[0]
    assert "waiting for credit" not in said.split("dctcp: ")[1].split("\n\n")[0]
    assert "the way of the last byte" in said


def test_tables_are_read_with_polars(tmp_path: Path) -> None:
    said = example("tables_with_polars.py", tmp_path)
    for column in ("size from", "others", "utilisation"):
        assert column in said


def said(output: dict[str, Any]) -> str:
    """What an output has as text; of a picture, that it is one."""
    return "a picture\n" if "image/png" in output.get("data", {}) else output.get("text", "")


def shown(notebook: dict[str, Any]) -> list[str]:
    """What each code cell shows, pictures as words."""
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    return ["".join(map(said, cell["outputs"])) for cell in code]


# The kernel's own libraries warn of each other.
@pytest.mark.filterwarnings("default")
def test_the_notebook_shows_what_comes_out_from_top_to_bottom(tmp_path: Path) -> None:
    path = EXAMPLES / "first-round-trip.ipynb"
    recorded: Any = nbformat.read(path, as_version=4)
    notebook: Any = nbformat.read(path, as_version=4)
    run = NotebookClient(
        notebook,
        timeout=300,
        # A busy machine is slow to hand pictures over, and without patience they are left out.
        iopub_timeout=60,
        resources={"metadata": {"path": str(tmp_path)}},
        record_timing=False,
    )
    run.execute()
    assert all(shown(notebook)), "every code cell has something to show"
    text = "".join(shown(notebook))
    assert text.count("a picture") == 5
    # What the text claims: SSP drops scheduled packets alone, Aeolus unscheduled ones.
    rows = {line.split()[0]: line for line in text.splitlines() if " ms " in line}
    assert rows["expresspass"].endswith("none")
    assert rows["expresspass+aeolus"].endswith(" unscheduled")
    assert rows["expresspass+ssp"].endswith(" scheduled")
    median = {name: float(line.split()[1]) for name, line in rows.items()}
    assert median["expresspass+ssp"] < median["expresspass+aeolus"] < median["expresspass"]
    if os.environ.get("TIDEGATE_UPDATE"):
        # Which Python it was is no part of the lecture.
        notebook.metadata = recorded.metadata
        nbformat.write(notebook, path)
        return
    # Pictures differ with the fonts of a machine.
    assert shown(recorded) == shown(notebook), "write it anew with ./tg docs"
    assert path.stat().st_size < 1_500_000
