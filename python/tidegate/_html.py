"""How values show themselves in a notebook: tables, and a bar while a run is under way."""

from __future__ import annotations

import sys
import time
from functools import cache
from html import escape
from typing import TYPE_CHECKING, Any, Protocol

from tidegate import _core

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

ROWS_MAX = 20
"""Rows of a table that are shown."""

BAR_AFTER = 0.5
"""Seconds after which a run shows how far it is."""

_UNITS = {
    "time": (1000, ("ps", "ns", "us", "ms", "s")),
    "size": (1000, ("B", "KB", "MB", "GB", "TB")),
    "rate": (1000, ("b/s", "Kb/s", "Mb/s", "Gb/s", "Tb/s")),
}

_KINDS = {"ps": "time", "B": "size", "bit/s": "rate"}


@cache
def kinds(table: str) -> dict[str, str]:
    """Say what the numbers of each column of a run's table are; empty where they count something.

    >>> flows = kinds("flows")
    >>> flows["fct_ps"], flows["size"], flows["conn"], kinds("ports-window")["rate_bps"]
    ('time', 'size', '', 'rate')
    """
    units = _core.units(table.removesuffix("-window"))
    return {name: _KINDS.get(unit, "") for name, unit in units}


def cell(value: object, kind: str) -> str:
    """Write a cell of a table: a number of a kind with its unit, and nothing where there is none.

    >>> cell(64_000, "size"), cell(7, ""), cell(None, "time"), cell("rpc", "")
    ('64 KB', '7', '', 'rpc')
    """
    if value is None:
        return ""
    if kind and isinstance(value, int | float):
        return human(value, kind)
    return str(value)


def human(value: float | None, kind: str) -> str:
    """Write a number of picoseconds, bytes or bits per second with the unit that fits.

    >>> human(703_215_000, "time")
    '703 us'
    >>> human(64_000, "size")
    '64 KB'
    >>> human(None, "size")
    '-'
    """
    if value is None:
        return "-"
    step, units = _UNITS[kind]
    number, last = float(value), len(units) - 1
    unit = 0
    while number >= step * 0.9995 and unit < last:
        number, unit = number / step, unit + 1
    return f"{number:.0f} {units[unit]}" if not unit else f"{number:.3g} {units[unit]}"


def ratio(value: float) -> str:
    """Write a plain number with three digits, or all that it has before the point.

    >>> ratio(1304.6), ratio(45.21), ratio(999.6)
    ('1,305', '45.2', '1,000')
    """
    return f"{value:.3g}" if abs(value) < 999.5 else f"{value:,.0f}"  # noqa: PLR2004


def figure(spread: dict[str, Any] | None, quantile: str, kind: str = "") -> str:
    """Write a quantile of a summary; what did not finish makes it a lower bound."""
    if spread is None:
        return "-"
    found = spread[quantile]
    text = human(found["value"], kind) if kind else ratio(found["value"])
    return f"≥ {text}" if found["at_least"] else text


def table(head: Sequence[str], rows: Iterable[Sequence[object]], caption: str = "") -> str:
    """Make a table of texts."""

    def line(cells: Sequence[object], tag: str) -> str:
        inner = "".join(f"<{tag}>{escape(str(cell))}</{tag}>" for cell in cells)
        return f"<tr>{inner}</tr>"

    body = "".join(line(row, "td") for row in rows)
    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    return f"<table>{title}<thead>{line(head, 'th')}</thead><tbody>{body}</tbody></table>"


def folded(
    head: Sequence[str], rows: Sequence[Sequence[object]], caption: str = "", what: str = "rows"
) -> str:
    """Make a table of the first rows, and fold the others behind how many they are."""
    first, rest = rows[:ROWS_MAX], rows[ROWS_MAX:]
    shown = table(head, first, caption)
    if not rest:
        return shown
    others = table(head, rest)
    return f"{shown}<details><summary>{len(rest):,} more {what}</summary>{others}</details>"


def page(html: str, words: str) -> str:
    """Fold a page of its own, without any request, behind these words."""
    return (
        f"<details><summary>{escape(words)}</summary>"
        f'<iframe srcdoc="{escape(html)}" style="width:100%;height:720px;border:0"></iframe>'
        "</details>"
    )


class Handle(Protocol):
    """What a notebook gives for something that changes."""

    def update(self, shown: object) -> None:
        """Show this instead."""


class _Shown:
    """A text that a notebook takes as HTML."""

    def __init__(self, html: str) -> None:
        self.html = html

    def _repr_html_(self) -> str:
        return self.html

    def __repr__(self) -> str:
        """Say nothing where there is no HTML."""
        return ""


def bar() -> Callable[[Sequence[int]], None] | None:
    """Make a bar that shows how far a run is; None outside a notebook."""
    drawn = _drawn()
    if drawn is None:
        return None

    def show(at: Sequence[int]) -> None:
        now, until, done, total, hops = at
        share = max(done / total if total else 0.0, min(1.0, now / until if until else 0.0))
        text = f"{human(now, 'time')} simulated, {done:,} of {total:,} messages, {hops:,} hops"
        drawn(share, text)

    return show


def bar_of_runs(total: int) -> Callable[[int], None] | None:
    """Make a bar that shows how many of several runs are done; None outside a notebook."""
    drawn = _drawn()
    if drawn is None:
        return None
    return lambda done: drawn(min(1.0, done / total), f"{done:,} of {total:,} runs")


def _drawn() -> Callable[[float, str], None] | None:
    """What draws a bar of this share, with a text beside it."""
    shell = sys.modules.get("IPython")
    kernel = shell.get_ipython() if shell is not None else None
    if kernel is None or not hasattr(kernel, "kernel"):
        return None
    display: Callable[..., Handle | None] = sys.modules["IPython"].display.display
    handle: Handle | None = None
    # A short run is over before anybody could look at a bar.
    due = time.monotonic() + BAR_AFTER

    def show(share: float, text: str) -> None:
        nonlocal handle
        if time.monotonic() < due:
            return
        shown = _Shown(f"<progress max=1 value={share:.3f}></progress> {text}")
        if handle is None:
            handle = display(shown, display_id=True)
        else:
            handle.update(shown)

    return show
