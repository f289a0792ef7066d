"""Simulate, compare and run proactive datacenter transports.

The program does the work and writes files; this package calls it and reads them.
"""

from tidegate import _core
from tidegate._compare import Advice, Comparison, Verdict, compare
from tidegate._run import Progress, Result, Table, Why, run
from tidegate._scenario import KEYS, Check, RunError, Scenario, Start, scenario

__version__ = _core.VERSION

__all__ = [
    "KEYS",
    "Advice",
    "Check",
    "Comparison",
    "Progress",
    "Result",
    "RunError",
    "Scenario",
    "Start",
    "Table",
    "Verdict",
    "Why",
    "__version__",
    "compare",
    "run",
    "scenario",
]
