from collections.abc import Callable, Sequence
from pathlib import Path

VERSION: str

def main(argv: Sequence[str]) -> int: ...
def run(
    scenario: str,
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
