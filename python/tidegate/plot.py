"""Pictures of runs with matplotlib: `pip install tidegate[plot]`."""

# pyright: reportUnknownMemberType=false
# matplotlib types its keyword arguments in part.
from __future__ import annotations

from typing import TYPE_CHECKING, cast

import matplotlib.pyplot as plt

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from tidegate import Result

_PS_PER_US = 1e6


def fct(*results: Result, ax: Axes | None = None) -> Axes:
    """Draw how completion times of finished messages are distributed, a line per run."""
    ax = ax or plt.subplots()[1]
    for result in results:
        times = sorted(
            cast("int", took) / _PS_PER_US
            for took, end in zip(result.flows["fct_ps"], result.flows["end_ps"], strict=True)
            if took is not None and end is not None
        )
        shares = [(i + 1) / len(times) for i in range(len(times))]
        ax.step(times, shares, where="post", label=result.summary["transport"])
    ax.set(xlabel="completion time (us)", ylabel="share of messages", xscale="log", ylim=(0, 1))
    ax.legend()
    return ax


def slowdown(*results: Result, ax: Axes | None = None) -> Axes:
    """Draw the 99th percentile of slowdown by message size, a line per run."""
    ax = ax or plt.subplots()[1]
    for result in results:
        bins = [b for b in result.summary["sizes"][1:] if b["slowdown"] is not None]
        ax.plot(
            [b["name"] for b in bins],
            [b["slowdown"]["p99"]["value"] for b in bins],
            marker="o",
            label=result.summary["transport"],
        )
    ax.set(xlabel="message size", ylabel="slowdown, p99", yscale="log")
    ax.legend()
    return ax
