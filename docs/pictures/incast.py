"""Draw the README's picture: one incast under each transport.

Run it with tidegate installed: `python docs/pictures/incast.py docs/pictures/incast.svg`.
The same version of tidegate draws the same file, to the byte.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from pathlib import Path

import tidegate as tg

TRANSPORTS = {"expresspass": "ExpressPass", "dctcp": "DCTCP"}
SEED = 1

# The time axis, in microseconds.
FIRST, LAST = 10, 20_000
TIMES = {10: "10 us", 100: "100 us", 1_000: "1 ms", 10_000: "10 ms"}

# One panel, in SVG units.
WIDTH, HEIGHT = 400, 210
LEFT, TOP = 62, 56
GAP = 84
PAGE_WIDTH = LEFT + 2 * WIDTH + GAP + 20
PAGE_HEIGHT = TOP + HEIGHT + 52

STYLE = """
text { font: 13px system-ui, sans-serif; fill: #1f2937 }
.title { font-weight: 600; font-size: 14px }
.axis { stroke: #9ca3af; stroke-width: 1; fill: none }
.grid { stroke: #9ca3af; stroke-width: .5; stroke-dasharray: 2 4 }
.line { fill: none; stroke-width: 2; stroke-linejoin: round }
.c0 { stroke: #0f766e } .c1 { stroke: #c2410c }
.t0 { fill: #0f766e; font-weight: 600 } .t1 { fill: #c2410c; font-weight: 600 }
@media (prefers-color-scheme: dark) {
  text { fill: #e5e7eb }
  .c0 { stroke: #2dd4bf } .c1 { stroke: #fb923c }
  .t0 { fill: #2dd4bf } .t1 { fill: #fb923c }
}
"""

Point = tuple[float, float]


@dataclass(frozen=True)
class Panel:
    """One chart: where it is, what it is about, how far its axes go."""

    left: float
    title: str
    y_max: float
    y_unit: str

    def across(self, time: float) -> float:
        """Place a time on the logarithmic axis."""
        share = math.log(max(time, FIRST) / FIRST) / math.log(LAST / FIRST)
        return self.left + WIDTH * min(share, 1)

    def place(self, point: Point) -> str:
        """Turn a point into SVG coordinates."""
        x = self.across(point[0])
        y = TOP + HEIGHT * (1 - min(point[1] / self.y_max, 1))
        return f"{x:.1f},{y:.1f}"

    def frame(self) -> list[str]:
        """Draw title, axes, ticks and grid."""
        bottom, right = TOP + HEIGHT, self.left + WIDTH
        parts = [
            f'<text class="title" x="{self.left}" y="{TOP - 12}">{self.title}</text>',
            f'<path class="axis" d="M{self.left} {TOP}V{bottom}H{right}"/>',
            f'<text x="{right}" y="{bottom + 38}" text-anchor="end">time, log scale</text>',
        ]
        for time, label in TIMES.items():
            x = self.across(time)
            parts.append(
                f'<path class="grid" d="M{x:.1f} {TOP}v{HEIGHT}"/>'
                f'<text x="{x:.1f}" y="{bottom + 18}" text-anchor="middle">{label}</text>'
            )
        for tick in ticks(self.y_max):
            y = TOP + HEIGHT * (1 - tick / self.y_max)
            parts.append(
                f'<path class="grid" d="M{self.left} {y:.1f}h{WIDTH}"/>'
                f'<text x="{self.left - 6}" y="{y + 4:.1f}" text-anchor="end">'
                f"{tick:g}{self.y_unit}</text>"
            )
        return parts

    def line(self, number: int, points: list[Point]) -> str:
        """Draw one transport's curve."""
        path = " ".join(self.place(point) for point in points)
        return f'<polyline class="line c{number}" points="{path}"/>'


def ticks(largest: float) -> list[float]:
    """Choose round numbers from 0 to `largest`.

    >>> ticks(100)
    [0, 20, 40, 60, 80, 100]
    >>> ticks(430)
    [0, 100, 200, 300, 400]
    """
    step = 1.0
    while largest / step > 5:  # noqa: PLR2004 - a handful of ticks is enough
        step *= 2 if f"{step:e}"[0] in "15" else 2.5
    return [int(step * n) if step >= 1 else step * n for n in range(int(largest / step) + 1)]


def completions(result: tg.Result) -> list[Point]:
    """Give the share of messages that have finished, in percent, against time in microseconds."""
    times = sorted(t / 1e6 for t in result.flows["fct_ps"] if isinstance(t, int))
    count = len(result.flows["fct_ps"])
    points: list[Point] = [(0, 0)]
    for number, time in enumerate(times, 1):
        points += [(time, 100 * (number - 1) / count), (time, 100 * number / count)]
    return points


def queue(result: tg.Result) -> list[Point]:
    """Give the fullest port's queue, in kilobytes, against time in microseconds."""
    series = result.series
    link = fullest(series)
    rows = zip(series["at_ps"], series["link"], series["queue"], strict=True)
    samples = [
        (at / 1e6, waiting / 1e3)
        for at, where, waiting in rows
        if where == link and isinstance(at, int) and isinstance(waiting, int)
    ]
    # A level stretch needs its ends alone.
    inner = zip(samples, samples[1:], samples[2:], strict=False)
    bends = [here for before, here, after in inner if not before[1] == here[1] == after[1]]
    return [*samples[:1], *bends, *samples[-1:]]


def fullest(series: tg.Table) -> object:
    """Find the link before which most bytes waited at once."""
    waiting = zip(series["queue"], series["link"], strict=True)
    return max((bytes_, link) for bytes_, link in waiting if isinstance(bytes_, int))[1]


def draw(results: dict[str, tg.Result]) -> str:
    """Put both panels together."""
    finished = {name: completions(result) for name, result in results.items()}
    queues = {name: queue(result) for name, result in results.items()}
    tallest = 1.1 * max(y for points in queues.values() for _, y in points)
    panels = [
        (Panel(LEFT, "Messages finished", 100, " %"), finished),
        (Panel(LEFT + WIDTH + GAP, "Longest queue", tallest, " KB"), queues),
    ]
    parts: list[str] = []
    for panel, curves in panels:
        parts += panel.frame()
        parts += [panel.line(number, curve) for number, curve in enumerate(curves.values())]
    x = LEFT
    for number, name in enumerate(results):
        label = TRANSPORTS[name]
        parts.append(f'<text class="t{number}" x="{x}" y="20">&#9644; {label}</text>')
        x += 150
    alt = "Completion times and queue of one incast under " + " and ".join(TRANSPORTS.values())
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {PAGE_WIDTH} {PAGE_HEIGHT}" '
        f'role="img" aria-label="{alt}">\n<style>{STYLE}</style>\n{body}\n</svg>\n'
    )


def main() -> None:
    """Run the incast under every transport and write the picture."""
    results = {
        name: tg.run("incast", set={"transport.kind": name}, seed=SEED) for name in TRANSPORTS
    }
    Path(sys.argv[1]).write_text(draw(results), "utf-8")


if __name__ == "__main__":
    main()
