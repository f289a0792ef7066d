"""Simulate, compare and run proactive datacenter transports.

The program does the work and writes files; this package calls it and reads them.
"""

from tidegate import _core
from tidegate._compare import Comparison, compare
from tidegate._run import Progress, Result, RunError, Scenario, Table, run, scenario

__version__ = _core.VERSION

__all__ = [
    "Comparison",
    "Progress",
    "Result",
    "RunError",
    "Scenario",
    "Table",
    "__version__",
    "compare",
    "run",
    "scenario",
]
