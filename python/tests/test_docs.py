"""The transcripts in the documents: every command is run, every line compared.

A block that begins with ```console holds commands after "$ ", what they print, and "? N" after a
command that ends with exit code N. `TIDEGATE_UPDATE=1` writes what comes out into the page.
"""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
BLOCK = re.compile(r"(?<=^```console\n).*?(?=^```$)", re.DOTALL | re.MULTILINE)
# The command of this environment, not another one on PATH.
PROGRAM = [sys.executable, "-m", "tidegate"]


def transcript(commands: list[str], folder: Path) -> str:
    """Run commands of one block and write the block anew."""
    lines: list[str] = []
    for command in commands:
        words = shlex.split(command)
        assert words[0] == "tidegate", command
        done = subprocess.run(
            [*PROGRAM, *words[1:]],
            cwd=folder,
            env={**os.environ, "NO_COLOR": "1", "COLUMNS": "110"},
            capture_output=True,
            text=True,
            check=False,
        )
        lines.append(f"$ {command}")
        lines += [line.rstrip() for line in (done.stdout + done.stderr).splitlines()]
        if done.returncode:
            lines.append(f"? {done.returncode}")
    return "".join(f"{line}\n" for line in lines)


def test_the_reference_is_what_the_program_says() -> None:
    page = DOCS / "reference.md"
    done = subprocess.run(
        [*PROGRAM, "schema", "--markdown"], capture_output=True, text=True, check=True
    )
    if os.environ.get("TIDEGATE_UPDATE"):
        page.write_text(done.stdout, "utf-8")
    assert done.stdout == page.read_text("utf-8"), "write it anew with ./tg docs"


@pytest.mark.parametrize("page", ["tutorial.md", "why.md"])
def test_every_transcript_is_what_comes_out(page: str, tmp_path: Path) -> None:
    path = DOCS / page
    text = path.read_text("utf-8")

    def rerun(block: re.Match[str]) -> str:
        commands = [line[2:] for line in block[0].splitlines() if line.startswith("$ ")]
        return transcript(commands, tmp_path)

    fresh = BLOCK.sub(rerun, text)
    if os.environ.get("TIDEGATE_UPDATE"):
        path.write_text(fresh, "utf-8")
        return
    assert fresh == text, "write it anew with ./tg docs, and say in the commit what moved"
