"""Simulate, compare and run proactive datacenter transports.

The program does the work and writes files; this package calls it and reads them.
"""

from tidegate._core import VERSION as __version__
from tidegate._run import Result, RunError, run

__all__ = ["Result", "RunError", "__version__", "run"]
