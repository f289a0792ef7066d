from collections.abc import Sequence

VERSION: str

def main(argv: Sequence[str]) -> int: ...
