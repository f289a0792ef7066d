"""Pictures of runs with matplotlib: `pip install 'tidegate[plot]'`.

Every function takes runs, draws into `ax` or into a picture of its own, and returns the axes:
`fct(a, b).figure.savefig("fct.svg")`. `result.plot` and `compared.plot` call them.
"""

# pyright: reportUnknownMemberType=false
# matplotlib types its keyword arguments in part.
from __future__ import annotations

import math
from bisect import bisect_right
from itertools import cycle, groupby, pairwise
from operator import itemgetter
from typing import TYPE_CHECKING, Any, cast

from tidegate._keywords import suggesting
from tidegate._plain import whole
from tidegate._scenario import KEYS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

    from tidegate import Comparison, Result

    Points = Sequence[tuple[float, float]]
    _Samples = tuple[str, Points]

_PS_PER_S = 1e12
_SIZE_GROUPS = 20
"""Groups of equally many messages along the axis of sizes, as HPCC's scripts draw it."""
_GROUP_MIN = 25
"""Messages of a group at least: fewer have no tail to speak of."""

_BINS_MAX = 1_000_000

# Okabe and Ito's colours that people with any colour vision tell apart, without the yellow.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
# Lines over time often cover each other.
_DASHES = ("-", "--", "-.", ":")


class MissingMatplotlibError(ImportError):
    """A picture was asked for where matplotlib is not installed."""

    def __init__(self) -> None:
        """Name the fix."""
        super().__init__("pictures need matplotlib: pip install 'tidegate[plot]'")


@suggesting
def axes(ax: Axes | None = None) -> Axes:
    """Make a picture that looks like the others here, or let the axes of another one do so."""
    try:
        import matplotlib.pyplot as plt  # noqa: PLC0415 - an extra
    except ModuleNotFoundError as missing:
        if missing.name is None or missing.name.partition(".")[0] != "matplotlib":
            raise
        raise MissingMatplotlibError from missing
    if ax is None:
        ax = plt.subplots(figsize=(6.4, 3.8), layout="constrained")[1]
    ax.set_prop_cycle(color=_COLOURS)
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(visible=True, linewidth=0.5, alpha=0.5)
    ax.set_axisbelow(True)
    return ax


def _legend(ax: Axes) -> None:
    if ax.get_legend_handles_labels()[1]:
        ax.legend(frameon=False)


def _engineering(unit: str) -> Any:  # noqa: ANN401 - matplotlib is not there when this is read
    from matplotlib.ticker import EngFormatter  # noqa: PLC0415 - an extra

    formatter = EngFormatter(unit, sep="\N{NO-BREAK SPACE}", usetex=False)
    if unit in ("B", "b/s"):
        # As everywhere in tidegate: KB and Kb/s.
        formatter.ENG_PREFIXES = {**formatter.ENG_PREFIXES, 3: "K"}
    return formatter


def _labels(results: Sequence[Result]) -> list[str]:
    """Name runs by what tells them apart: transport, then seed, then folder."""
    names = [str(result.summary["transport"]) for result in results]
    if len(set(names)) < len(names):
        seeds = [result.summary["seed"] for result in results]
        if len(set(seeds)) > 1:
            names = [f"{name}, seed {seed}" for name, seed in zip(names, seeds, strict=True)]
    if len(set(names)) < len(names):
        paths = [result.path.name for result in results]
        names = [f"{name}, {path}" for name, path in zip(names, paths, strict=True)]
    return names


def _counted(result: Result, column: str) -> list[tuple[int, float, bool]]:
    """Read (size, value, finished) of the messages that started within the window of the run."""
    first, last = result.summary["window_ps"]
    flows = result.flows
    names = ("size", column, "finished", "start_ps")
    rows = zip(*(cast("list[float | None]", flows[name]) for name in names), strict=True)
    return [
        (int(size or 0), value, bool(finished))
        for size, value, finished, start in rows
        if value is not None
        and start is not None
        and first <= start
        and (last is None or start < last)
    ]


def _cumulative(values: Iterable[tuple[float, bool]]) -> Points:
    """Turn values into the share of all that are at most so large; what is unfinished is not."""
    ordered = sorted(values)
    points = [(value, finished) for value, finished in ordered if finished]
    steps = [(value, (i + 1) / len(ordered)) for i, (value, _) in enumerate(points)]
    return [(points[0][0], 0.0), *steps] if points else []


def _step(ax: Axes, points: Points, label: str) -> None:
    if points:
        ax.step(*zip(*points, strict=True), where="post", label=label)
    else:
        ax.step([], [], label=f"{label}: nothing")


@suggesting
def fct(*results: Result, ax: Axes | None = None) -> Axes:
    """Draw how completion times are distributed, a line per run.

    Messages that did not finish keep a line below 1.
    """
    ax = axes(ax)
    for result, label in zip(results, _labels(results), strict=True):
        rows = _counted(result, "fct_ps")
        _step(ax, _cumulative((took / _PS_PER_S, done) for _, took, done in rows), label)
    ax.set(xlabel="completion time, log scale", ylabel="share of messages")
    ax.set(xscale="log", ylim=(0, 1.02))
    _logarithmic(ax.xaxis, "s")
    _legend(ax)
    return ax


def _logarithmic(axis: Axis, unit: str) -> None:
    """Label powers of ten with prefixes, and 2 and 5 between where there are few of those."""
    from matplotlib.ticker import FuncFormatter  # noqa: PLC0415 - an extra

    plain = _engineering(unit)

    def between(x: float, _: int) -> str:
        low, high = axis.get_view_interval()
        leading = round(x / 10 ** math.floor(math.log10(x) + 1e-9))
        few = high < low * 100
        return str(plain(x)) if few and leading in (2, 5) else ""

    axis.set_major_formatter(plain)
    axis.set_minor_formatter(FuncFormatter(between))


@suggesting
def slowdown(*results: Result, ax: Axes | None = None) -> Axes:
    """Draw the slowdown: how many times longer messages took than in an idle network.

    Where sizes differ, it is drawn over the size of messages, 20 groups of equally many: the 99th
    percentile as a line, the median dashed. Where all have one size, its distribution is drawn.
    """
    ax = axes(ax)
    rows = [_counted(result, "slowdown") for result in results]
    labels = _labels(results)
    if len({size for run in rows for size, _, _ in run}) < 2:  # noqa: PLR2004 - one size
        for run, label in zip(rows, labels, strict=True):
            _step(ax, _cumulative((slow, done) for _, slow, done in run), label)
        ax.set(xlabel="slowdown, log scale", ylabel="share of messages")
        ax.set(xscale="log", ylim=(0, 1.02))
        _logarithmic(ax.xaxis, "")
    else:
        for run, label in zip(rows, labels, strict=True):
            groups = _by_size([(size, slow) for size, slow, _ in run])
            sizes = [size for size, _ in groups]
            tail = [_quantile(values, 0.99) for _, values in groups]
            (line,) = ax.plot(sizes, tail, marker="o", markersize=3, label=f"{label}, p99")
            middle = [_quantile(values, 0.5) for _, values in groups]
            ax.plot(sizes, middle, "--", color=line.get_color(), label=f"{label}, p50")
        ax.set(xlabel="message size, log scale", ylabel="slowdown, log scale")
        ax.set(xscale="log", yscale="log")
        _logarithmic(ax.xaxis, "B")
        _logarithmic(ax.yaxis, "")
    _legend(ax)
    return ax


def _by_size(rows: list[tuple[int, float]]) -> list[tuple[int, list[float]]]:
    """Divide messages into groups of about equally many, each with its largest size.

    Messages of one size stay together.

    >>> _by_size([(10, 1.0), (30, 4.0), (10, 2.0)])
    [(30, [1.0, 2.0, 4.0])]
    >>> [(size, len(slow)) for size, slow in _by_size([(i // 40, 1.0) for i in range(100)])]
    [(0, 40), (2, 60)]
    """
    full = max(_GROUP_MIN, len(rows) / _SIZE_GROUPS)
    groups: list[tuple[int, list[float]]] = []
    for size, same in groupby(sorted(rows), key=itemgetter(0)):
        values = [value for _, value in same]
        if groups and len(groups[-1][1]) < full:
            values = groups.pop()[1] + values
        groups.append((size, values))
    if len(groups) > 1 and len(groups[-1][1]) < _GROUP_MIN:
        size, values = groups.pop()
        groups[-1] = (size, groups[-1][1] + values)
    return groups


def _quantile(values: Sequence[float], share: float) -> float:
    """Return the smallest value that at least `share` of all do not exceed.

    >>> _quantile([3, 1, 2], 0.5), _quantile([3, 1, 2], 0.99)
    (2, 3)
    """
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


@suggesting
def queue(*results: Result, link: str | None = None, ax: Axes | None = None) -> Axes:
    """Draw the bytes that wait before a link over time, a line per run.

    Args:
        results: The runs.
        link: The link, like "tor0 -> h0"; without it the one with the longest queue of each run.
        ax: Where to draw.

    Raises:
        ValueError: A run was not sampled, or has no such link.
        MissingMatplotlibError: matplotlib is not installed.
    """
    ax = axes(ax)
    samples = [_samples(result, link, "queue") for result in results]
    labels = _with_links(results, samples)
    for label, (_, rows), dashes in zip(labels, samples, cycle(_DASHES), strict=False):
        ax.step(*zip(*rows, strict=True), dashes, where="post", label=label)
    ax.set(xlabel="time", ylabel=_at("queue", samples), ylim=(0, None))
    ax.xaxis.set_major_formatter(_engineering("s"))
    ax.yaxis.set_major_formatter(_engineering("B"))
    _legend(ax)
    return ax


@suggesting
def rate(
    *results: Result,
    link: str | None = None,
    bins: int = 100,
    until: float | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the rate of data on a link over time, frames' overhead included, a line per run.

    Args:
        results: The runs.
        link: The link, like "tor0 -> h0"; without it the one that carried most of each run.
        bins: Stretches of time that the rate is a mean of.
        until: The end of the last one, in seconds; without it the end of the longest run.
        ax: Where to draw.

    Raises:
        ValueError: A run was not sampled or has no such link, or there is nothing to draw.
        MissingMatplotlibError: matplotlib is not installed.
    """
    bins = whole(bins, "bins", 1, _BINS_MAX)
    if until is not None and not until > 0:
        message = f"until={until!r} leaves nothing to draw: write seconds, like until=0.001"
        raise ValueError(message)
    ax = axes(ax)
    samples = [_samples(result, link, *_DATA) for result in results]
    last = until or max((rows[-1][0] for _, rows in samples), default=0.0)
    edges = [last * i / bins for i in range(bins + 1)]
    labels = _with_links(results, samples)
    for i, (result, (name, rows)) in enumerate(zip(results, samples, strict=True)):
        times = [at for at, _ in rows]
        # Between its samples a link sent nothing: a sample that says nothing new is left out.
        sent = [rows[bisect_right(times, edge) - 1][1] for edge in edges]
        line = cast("int", result.ports["rate_bps"][_links(result)[name]])
        bits = [(after - before) * 8 for before, after in pairwise(sent)]
        rates = [carried * bins / last for carried in _carried(bits, line * last / bins)]
        dashes = _DASHES[i % len(_DASHES)]
        ax.step(edges, [*rates, rates[-1]], dashes, where="post", label=labels[i])
    ax.set(xlabel="time", ylabel=_at("data", samples), ylim=(0, None), xlim=(0, last))
    ax.xaxis.set_major_formatter(_engineering("s"))
    ax.yaxis.set_major_formatter(_engineering("b/s"))
    _legend(ax)
    return ax


def _carried(decided: Iterable[float], most: float) -> list[float]:
    """Turn what a port decided to send per bin into what its line carried.

    A FIFO decides on a frame when it comes in, and its line carries `most` per bin.

    >>> _carried([0, 30, 0, 4, 0], 10)
    [0, 10, 10, 10, 4]
    """
    carried: list[float] = []
    waiting: float = 0
    for more in decided:
        waiting += more
        carried.append(min(waiting, most))
        waiting -= carried[-1]
    return carried


def _links(result: Result) -> dict[str, int]:
    """Number links by name."""
    ends = zip(result.ports["from"], result.ports["to"], strict=True)
    return {f"{source} -> {target}": number for number, (source, target) in enumerate(ends)}


def _with_links(results: Sequence[Result], samples: Sequence[_Samples]) -> list[str]:
    """Name runs, with their links where those differ."""
    labels = _labels(results)
    if len({name for name, _ in samples}) == 1:
        return labels
    return [f"{label}, {name}" for label, (name, _) in zip(labels, samples, strict=True)]


def _at(what: str, samples: Sequence[_Samples]) -> str:
    """Name the link on the axis where there is but one."""
    names = {name for name, _ in samples}
    return f"{what} at {names.pop()}" if len(names) == 1 else what


_DATA = ("sent_scheduled", "sent_unscheduled", "sent_plain")


def _samples(result: Result, link: str | None, *names: str) -> _Samples:
    """Read (time in seconds, sum of columns) at a link, from 0 on, and the link's name."""
    if not (result.path / "series.csv").is_file():
        message = f"{result!r} was not sampled: set output.every, like every='1us'"
        raise ValueError(message)
    series, links = result.series, _links(result)
    values = [sum(row) for row in zip(*(cast("list[int]", series[n]) for n in names), strict=True)]
    numbers = cast("list[int]", series["link"])
    if link is None:
        number = numbers[max(range(len(values)), key=values.__getitem__)]
        link = next(name for name, of in links.items() if of == number)
    elif link not in links:
        message = f"there is no link {link!r}; ports['from'] and ports['to'] name them"
        raise ValueError(message)
    times = cast("list[int]", series["at_ps"])
    rows = [
        (at / _PS_PER_S, float(value))
        for at, of, value in zip(times, numbers, values, strict=True)
        if of == links[link]
    ]
    return link, [(0.0, 0.0), *rows]


@suggesting
class RunPlots:
    """Pictures of one run; others may stand beside it: `a.plot.fct(b)`."""

    def __init__(self, result: Result) -> None:
        """Remember the run."""
        self._result = result

    def fct(self, *others: Result, ax: Axes | None = None) -> Axes:
        """Draw how completion times are distributed."""
        return fct(self._result, *others, ax=ax)

    def slowdown(self, *others: Result, ax: Axes | None = None) -> Axes:
        """Draw the slowdown by size of messages, or its distribution where all have one size."""
        return slowdown(self._result, *others, ax=ax)

    def queue(self, *others: Result, link: str | None = None, ax: Axes | None = None) -> Axes:
        """Draw the bytes that wait before a link over time."""
        return queue(self._result, *others, link=link, ax=ax)

    def rate(
        self,
        *others: Result,
        link: str | None = None,
        bins: int = 100,
        until: float | None = None,
        ax: Axes | None = None,
    ) -> Axes:
        """Draw the rate of data on a link over time."""
        return rate(self._result, *others, link=link, bins=bins, until=until, ax=ax)


@suggesting
class ComparisonPlots:
    """Pictures of a comparison: a line per transport, and the range over seeds as a band.

    Lines are means over seeds, as in the table that the comparison prints.
    """

    def __init__(self, comparison: Comparison) -> None:
        """Remember the comparison."""
        self._comparison = comparison

    def fct(self, *, over: str | None = None, ax: Axes | None = None) -> Axes:
        """Draw the 99th percentile of completion times over a setting.

        Raises:
            ValueError: `over` does not vary.
        """
        ax = self._over(over, "fct_p99_ps", ax, scale=1 / _PS_PER_S)
        ax.set(ylabel=f"completion time, p99{self._mean()}, log scale", yscale="log")
        _logarithmic(ax.yaxis, "s")
        return ax

    def slowdown(self, *, over: str | None = None, ax: Axes | None = None) -> Axes:
        """Draw the 99th percentile of the slowdown over a setting.

        Raises:
            ValueError: `over` does not vary.
        """
        ax = self._over(over, "slowdown_p99", ax)
        ax.set(ylabel=f"slowdown, p99{self._mean()}, log scale", yscale="log")
        _logarithmic(ax.yaxis, "")
        return ax

    def queue(self, *, over: str | None = None, ax: Axes | None = None) -> Axes:
        """Draw the longest queue of any port over a setting.

        Raises:
            ValueError: `over` does not vary.
        """
        ax = self._over(over, "queue_max", ax)
        ax.set(ylabel=f"longest queue{self._mean()}", ylim=(0, None))
        ax.yaxis.set_major_formatter(_engineering("B"))
        return ax

    def _mean(self) -> str:
        """Say what a point is, where there are several seeds."""
        seeds = {run["seed"] for run in self._comparison.summaries}
        return f", mean of {len(seeds)} seeds" if len(seeds) > 1 else ""

    def _over(self, over: str | None, figure: str, ax: Axes | None, scale: float = 1) -> Axes:
        """Draw a column of `rows` over a setting, or per transport where nothing else varies."""
        ax = axes(ax)
        rows = self._comparison.rows()
        varied = [key for key, _ in self._comparison.summaries[0]["settings"]]
        settings = [key for key in varied if key != "transport.kind"]
        key = KEYS.get(over, over) if over else (settings or ["transport"])[0]
        if key not in rows[0]:
            message = f"{key} does not vary here; what does: {', '.join(settings) or 'nothing'}"
            raise ValueError(message)
        rest = [name for name in ("transport", *settings) if name != key]
        places = [_number(row[key]) for row in rows]
        number = None not in places
        if not number:
            names = list(dict.fromkeys(str(row[key]) for row in rows))
            places = [float(names.index(str(row[key]))) for row in rows]
            ax.set_xticks(range(len(names)), names)
        lines: dict[str, dict[float, list[float]]] = {}
        for row, place in zip(rows, places, strict=True):
            points = lines.setdefault(", ".join(str(row[name]) for name in rest), {})
            if row[figure] is not None:
                points.setdefault(cast("float", place), []).append(row[figure] * scale)
        for label, points in lines.items():
            _band(ax, label, points, joined=key != "transport")
        ax.set(xlabel=key.rpartition(".")[2])
        _legend(ax)
        return ax


def _band(ax: Axes, label: str, points: dict[float, list[float]], *, joined: bool) -> None:
    """Draw means, and from the least to the greatest of the seeds."""
    places = sorted(points)
    middle = [math.fsum(points[place]) / len(points[place]) for place in places]
    low, high = ([end(points[place]) for place in places] for end in (min, max))
    if joined:
        (line,) = ax.plot(places, middle, marker="o", markersize=3, label=label)
        ax.fill_between(places, low, high, color=line.get_color(), alpha=0.2, linewidth=0)
    else:
        below, above = (
            [abs(a - b) for a, b in zip(middle, ends, strict=True)] for ends in (low, high)
        )
        ax.errorbar(places, middle, (below, above), fmt="o", capsize=4, label=label or None)


def _number(value: object) -> float | None:
    if isinstance(value, bool):
        return None
    try:
        return float(cast("str", value))
    except (TypeError, ValueError):
        return None
