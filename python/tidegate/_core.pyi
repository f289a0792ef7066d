from collections.abc import Sequence
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
) -> tuple[int, str]: ...
