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


# The kernel's own libraries warn of each other.
@pytest.mark.filterwarnings("default")
def test_the_notebook_runs_from_top_to_bottom(tmp_path: Path) -> None:
    notebook: Any = nbformat.read(EXAMPLES / "first-round-trip.ipynb", as_version=4)
    code: list[Any] = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert not any(cell.outputs or cell.execution_count for cell in code), "commit it cleared"
    run = NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}})
    run.execute()
    outputs: list[Any] = [output for cell in code for output in cell.outputs]
    pictures = [output for output in outputs if "image/png" in output.get("data", {})]
    assert len(pictures) == 5
    said = "".join(output.get("text", "") for output in outputs)
    # What the text claims: SSP drops scheduled packets alone, Aeolus unscheduled ones.
    rows = {line.split()[0]: line for line in said.splitlines() if " ms " in line}
    assert rows["expresspass"].endswith("none")
    assert rows["expresspass+aeolus"].endswith(" unscheduled")
    assert rows["expresspass+ssp"].endswith(" scheduled")
    median = {name: float(line.split()[1]) for name, line in rows.items()}
    assert median["expresspass+ssp"] < median["expresspass+aeolus"] < median["expresspass"]
