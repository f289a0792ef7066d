"""Simulate, compare and run proactive datacenter transports.

The program does the work and writes files; this package calls it and reads them.
"""

from tidegate import _core
from tidegate._run import Result, RunError, Scenario, Table, run, scenario

__version__ = _core.VERSION

__all__ = ["Result", "RunError", "Scenario", "Table", "__version__", "run", "scenario"]
