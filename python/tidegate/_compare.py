"""Compare transports, settings and seeds by the program's own `compare`."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidegate._run import RunError, Scenario, toml

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

_THRESHOLD = 1


@dataclass(frozen=True)
class Comparison:
    """Runs side by side.

    Attributes:
        summaries: The document `summary.json` of each run, by settings and then by seed.
        report: The page that shows them together.
        code: 0, or 1 where a threshold was not met.
    """

    summaries: list[dict[str, Any]]
    report: Path
    code: int

    def rows(self) -> list[dict[str, Any]]:
        """Return one flat row per run: settings, seed, and the figures that are compared most."""
        return [
            {
                "transport": run["transport"],
                "seed": run["seed"],
                **{key: value for key, value in run["settings"] if key != "transport.kind"},
                "fct_p50_ps": _figure(run, "fct_ps", "p50"),
                "fct_p99_ps": _figure(run, "fct_ps", "p99"),
                "slowdown_p99": _figure(run, "slowdown", "p99"),
                "queue_max": run["queue_max"] and run["queue_max"]["bytes"],
                "drops": run["drops"]["data"],
                "unfinished": run["messages"]["unfinished"],
            }
            for run in self.summaries
        ]


def _figure(run: dict[str, Any], what: str, quantile: str) -> float | None:
    spread = run["sizes"][0][what]
    return None if spread is None else spread[quantile]["value"]


def compare(
    scenario: str | os.PathLike[str] | Scenario,
    *,
    transports: Sequence[str] = (),
    seeds: int = 1,
    set: Mapping[str, object] | None = None,  # noqa: A002 - the same word as on the command line
    vary: Mapping[str, Sequence[object]] | None = None,
    out: str | os.PathLike[str] = "out",
    jobs: int | None = None,
) -> Comparison:
    """Run every combination on all cores; what `out` holds already is not run again.

    Args:
        scenario: A path, a name such as "incast", or what `scenario` describes.
        transports: The transports; without any, the scenario's own.
        seeds: Seeds of every combination; from 5 on the report has bootstrap intervals.
        set: Values for all runs, by dotted path.
        vary: Values to try, by dotted path.
        out: The folder for the runs and the report.
        jobs: Runs side by side, instead of one per core.

    Returns:
        The summaries of all runs.

    Raises:
        RunError: A run is impossible or broke.
    """
    if not isinstance(scenario, Scenario):
        scenario = Scenario(scenario)
    words = ["compare", str(scenario.start), "--json", "--seeds", str(seeds), "--out", str(out)]
    several = {**({"transport.kind": transports} if transports else {}), **(vary or {})}
    for key, value in {**scenario.sets, **(set or {}), **several}.items():
        words += ["--set", f"{key}={toml(list(value) if key in several else value)}"]  # pyright: ignore[reportUnknownArgumentType, reportArgumentType]
    if jobs is not None:
        words += ["--jobs", str(jobs)]
    # A process of its own: Ctrl-C ends it after its current windows, and its folder stays whole.
    before = _pages(Path(out))
    command = [sys.executable, "-m", "tidegate", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode > _THRESHOLD:
        raise RunError(done.returncode, done.stderr)
    after = _pages(Path(out))
    report = max(after, key=lambda page: (after[page], page not in before))
    return Comparison(json.loads(done.stdout), report, done.returncode)


def _pages(out: Path) -> dict[Path, int]:
    return {page: page.stat().st_mtime_ns for page in out.glob("compare-*.html")}
