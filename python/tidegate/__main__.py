"""The command `tidegate`, and `python -m tidegate`."""

import signal
import sys

from tidegate import _core


def main() -> int:
    """Run the program with the arguments of this process and return its exit code."""
    # Python's own handler would wait for the program to come back; the program has a better one.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _core.main(sys.argv[1:], sys.executable)


if __name__ == "__main__":
    sys.exit(main())
