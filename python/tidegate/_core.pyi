from collections.abc import Callable, Sequence
from pathlib import Path

VERSION: str

def main(argv: Sequence[str], python: str) -> int: ...
def check(scenario: str, text: str | None, sets: Sequence[str]) -> tuple[int, str]: ...
def run(
    scenario: str,
    text: str | None,
    sets: Sequence[str],
    out: Path,
    *,
    command: str,
    started: str,
    host: str,
    threads: int | None = None,
    progress: Callable[[int, int, int, int, int], object] | None = None,
) -> tuple[int, str]: ...
def arrow_stream(path: Path) -> object: ...
def table(summaries: str) -> str: ...
def advice(summaries: str) -> str | None: ...
