"""`./tg`: what a fresh clone says when something is missing."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOOLS = ("sh", "dirname", "cut", "find", "head", "mkdir", "rm", "cat", "env", "uname", "sed")


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """Make a folder of programs that holds the system's own and no compiler."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for tool in TOOLS:
        found = shutil.which(tool)
        assert found is not None, tool
        (folder / tool).symlink_to(found)
    return folder


def tg(programs: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PATH": str(programs)}
    environment.pop("CARGO_TARGET_DIR", None)
    return subprocess.run(
        [str(programs / "sh"), str(ROOT / "tg"), *arguments],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def program(folder: Path, name: str, text: str) -> None:
    script = folder / name
    script.write_text(f"#!{folder / 'sh'}\n{text}\n")
    script.chmod(0o755)


def test_without_rust_it_says_where_rust_comes_from(bare: Path) -> None:
    done = tg(bare, "run", "incast")
    assert done.returncode == 2
    assert "Rust 1.95 or newer" in done.stderr
    assert "https://rustup.rs" in done.stderr


def test_everything_that_is_missing_is_said_at_once(bare: Path) -> None:
    done = tg(bare, "test")
    assert done.returncode == 2
    for missing in ("Rust 1.95", "C compiler", "Python 3.11"):
        assert missing in done.stderr
    assert "apt-get install build-essential" in done.stderr


def test_an_old_rust_is_named_with_its_version(bare: Path) -> None:
    program(bare, "cc", "exit 0")
    program(bare, "cargo", "exit 99")
    program(bare, "rustc", "echo 'rustc 1.94.2 (0 2026-01-01)'")
    done = tg(bare, "run", "incast")
    assert done.returncode == 2
    assert "found 1.94.2" in done.stderr
    assert "rustup update stable" in done.stderr


def test_a_newer_rust_is_taken(bare: Path) -> None:
    program(bare, "cc", "exit 0")
    program(bare, "cargo", "exit 99")
    program(bare, "rustc", "echo 'rustc 2.0.0 (0 2030-01-01)'")
    # The stand-in for cargo fails, which is as far as this can go without a compiler.
    assert tg(bare, "--version").returncode in (0, 99)


def test_a_release_takes_its_one_wheel_and_refuses_two(tmp_path: Path) -> None:
    text = (ROOT / "tg").read_text("utf-8")
    start = text.index("only_wheel() {")
    function = text[start : text.index("\n}\n", start) + 3]
    wheels, files = tmp_path / "wheels", tmp_path / "files"
    wheels.mkdir()
    files.mkdir()
    script = f'{function}only_wheel "$1" "$2"'

    def taken() -> int:
        arguments = ["sh", "-c", script, "sh", str(wheels), str(files)]
        return subprocess.run(arguments, check=False, capture_output=True).returncode

    assert taken() != 0, "there is none"
    one = "tidegate-1-cp311-abi3-manylinux2014_x86_64.whl"
    (wheels / one).touch()
    assert taken() == 0
    assert [file.name for file in files.iterdir()] == [one]
    (wheels / one.replace("-1-", "-2-")).touch()
    assert taken() != 0, "there are two"


def test_a_step_leaves_the_variables_of_its_caller(tmp_path: Path) -> None:
    text = (ROOT / "tg").read_text("utf-8")
    start = text.index("step() {")
    function = text[start : text.index("\n}\n", start) + 3]
    script = f'passed=0; {function}\nname=mine; step first true >"$1"; printf %s "$name"'
    arguments = ["sh", "-c", script, "sh", str(tmp_path / "said")]
    done = subprocess.run(arguments, check=True, capture_output=True, text=True)
    assert done.stdout == "mine"


def test_an_unknown_depth_of_testing_is_refused(bare: Path) -> None:
    done = tg(bare, "test", "everything")
    assert done.returncode == 2
    assert "./tg test quick" in done.stderr


def test_what_runs_meanwhile_counts_where_it_is_waited_for(tmp_path: Path) -> None:
    text = (ROOT / "tg").read_text("utf-8")
    start = text.index("pids=''")
    functions = text[start : text.index("\nskip() {", start)]
    script = f"""set -eu; work=$1; {functions}
begin_later good sh -c 'echo said'
begin_later bad sh -c 'echo sad; exit 3'
finish_later good && echo "good $?"
finish_later bad || echo "bad $?\""""
    arguments = ["sh", "-c", script, "sh", str(tmp_path)]
    done = subprocess.run(arguments, check=True, capture_output=True, text=True)
    assert done.stdout.split() == ["said", "good", "0", "sad", "bad", "3"]
