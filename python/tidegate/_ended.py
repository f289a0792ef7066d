"""What there is to say of runs that did not end well."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

BROKEN = 3
"""The exit code of a broken invariant, of stuck flows and of messages that did not finish."""

_FLOWS_SHOWN = 4
_RUNS_SHOWN = 8


def of_run(message: str, summary: dict[str, Any], report: Path) -> str:
    """Say why a run is broken, and where more stands."""
    # Of unfinished messages the summary knows whether more time would help.
    first = [] if summary["status"] == "unfinished" else [message]
    lines = list(dict.fromkeys([*first, *_reasons(summary)])) or [message]
    return "\n".join([*lines, f"the report is {report}; the error's `result` has the tables"])


def of_runs(broken: Sequence[tuple[dict[str, Any], Path]], runs: int, report: Path) -> str:
    """Name the runs of a comparison that are broken, and say why."""
    lines = [f"{len(broken)} of {runs} runs broke or left messages unfinished"]
    for summary, folder in broken[:_RUNS_SHOWN]:
        lines.append(f"{_called(summary)}, in {folder}:")
        lines += [f"  {line}" for line in _reasons(summary)]
    if len(broken) > _RUNS_SHOWN:
        lines.append(f"{len(broken) - _RUNS_SHOWN} more are in the report")
    return "\n".join([*lines, f"the report is {report}; the error's `result` has all runs"])


def _called(summary: dict[str, Any]) -> str:
    varied = [f"{key} {value}" for key, value in summary["settings"] if key != "transport.kind"]
    return ", ".join([summary["transport"], *varied, f"seed {summary['seed']}"])


def _reasons(summary: dict[str, Any]) -> list[str]:
    """Give the warnings of a run, and what its stuck flows wait for."""
    stuck = [
        f"h{flow['host']}, connection {flow['conn']}: {flow['state']}, waits for"
        f" {flow['waits_for']}"
        for flow in summary["stuck"]
    ]
    more = len(stuck) - _FLOWS_SHOWN
    rest = [f"{more} more flows are in summary.json"] if more > 0 else []
    broken = [summary["conservation"]] if summary["conservation"] else []
    return [*broken, *summary["warnings"], *stuck[:_FLOWS_SHOWN], *rest]
