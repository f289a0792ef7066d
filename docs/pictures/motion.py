"""Draw the picture in motion of every transport's page: one small incast, packet by packet.

Run it with tidegate installed: `python docs/pictures/motion.py docs/pictures/motion`, with names of
transports behind the folder to draw those alone. The same version of tidegate draws the same files,
to the byte. A picture moves without a script, stands where the reader wants no motion, and with
`#still` behind its address.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from dataclasses import dataclass, field, replace
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import Any

import tidegate as tg

TRANSPORTS = {
    "expresspass": "ExpressPass",
    "expresspass+aeolus": "ExpressPass with Aeolus",
    "expresspass+gaps": "ExpressPass in the gaps",
    "expresspass+ssp": "ExpressPass with SSP",
    "dctcp": "DCTCP",
    "homa": "Homa",
    "homa+aeolus": "Homa with Aeolus",
    "homa+gaps": "Homa in the gaps",
    "ndp": "NDP",
    "ndp+aeolus": "NDP with Aeolus",
    "ndp+gaps": "NDP in the gaps",
    "phost": "pHost",
    "sird": "SIRD",
    "dcpim": "dcPIM",
    "fastpass": "Fastpass",
    "ideal-rate": "ideal rates",
    "none": "no control",
}
SENDERS, SIZE_KB, RATE_GBPS = 3, 48, 10
SETS = {
    "workload.senders": SENDERS,
    "workload.size": f"{SIZE_KB}KB",
    "topology.host_rate": f"{RATE_GBPS}Gbps",
}
US = 1_000_000
# What a cut frame keeps, near enough for where it is drawn.
HEADER = 84

# Seconds of the picture per microsecond of the run, and how long it stands at the end.
SLOWER, REST = 0.13, 1.5

# The scene and the chart below it, in SVG units.
WIDTH, HEIGHT = 720, 340
HOSTS = {"h0": (650.0, 134.0)} | {
    f"h{i}": (56.0, 79.0 + 55.0 * (i - 1)) for i in range(1, SENDERS + 1)
}
# The switch: packets wait in rows up to its right edge, and what goes back passes below them.
BOX_LEFT, BOX_RIGHT, BOX_TOP, BOX_BOTTOM = 214.0, 470.0, 100.0, 166.0
FRONT, COLUMN, ROWS = 458.0, 6.0, (110.0, 120.0, 130.0)
MIDDLE, BACK = 342.0, 152.0
BEYOND = (MIDDLE, 66.0)
BESIDE = 5.0
LEFT, RIGHT, TOP, BOTTOM = 66.0, 700.0, 242.0, 300.0
QUEUE_MAX = 1_000 * SENDERS * SIZE_KB
FRAME = 1_538
# Names of one kind of packet that the legend has.
NAMED = 3

STYLE = """
text { font: 13px system-ui, sans-serif; fill: #1f2937 }
.title { font-weight: 600; font-size: 14px }
.small { font-size: 12px }
.link { stroke: #9ca3af; stroke-width: 1.5 }
.box { fill: none; stroke: #6b7280; stroke-width: 1.5 }
.axis { stroke: #9ca3af; fill: none }
.queue { fill: #0b63b5; fill-opacity: .3; stroke: #0b63b5 }
.now { stroke: #c22f3a; stroke-width: 2 }
.plain, .scheduled { fill: #0b63b5 } .unscheduled { fill: #c76a00 }
.credit { fill: #0f8a5c } .control { fill: #7c828a } .gone { fill: #c22f3a }
@media (prefers-color-scheme: dark) {
  text { fill: #e5e7eb }
  .plain, .scheduled { fill: #63adf2 } .unscheduled { fill: #f2a057 }
  .credit { fill: #4fc493 } .control { fill: #a6adb5 }
  .gone { fill: #fb7d78 } .now { stroke: #fb7d78 }
  .queue { fill: #63adf2; stroke: #63adf2 }
}
.m { animation: linear infinite }
@media (prefers-reduced-motion: reduce) { .m { animation: none !important } }
#still:target .m { animation: none !important }
"""

Point = tuple[float, float]


@dataclass
class Flight:
    """A packet: its class, what it is called, and where it is when, in picoseconds."""

    kind: str
    name: str
    points: list[tuple[int, Point]] = field(default_factory=list[tuple[int, Point]])
    beyond: bool = False

    def until(self, end: int) -> Flight:
        """Keep what happens before the end of the picture."""
        kept = [(time, point) for time, point in self.points if time < end]
        last = self.at(end)
        return replace(self, points=[*kept, (end, last)] if last else kept)

    def at(self, time: int) -> Point | None:
        """Say where it is at a time; None where it is not under way."""
        for (before, a), (after, b) in zip(self.points, self.points[1:], strict=False):
            if before <= time <= after:
                share = (time - before) / max(1, after - before)
                return a[0] + share * (b[0] - a[0]), a[1] + share * (b[1] - a[1])
        return None


@dataclass
class Scene:
    """All packets of a run, what waited in front of the receiver, and when all was there."""

    flights: list[Flight]
    waiting: list[tuple[int, int]]
    end: int
    cuts: bool


def place(name: str, *, forth: bool) -> Point:
    """Place an end of a cable: packets to the receiver above those back."""
    if name in HOSTS:
        x, y = HOSTS[name]
        return x, y - BESIDE if forth else y + BESIDE
    if name == "tor0":
        return (FRONT, ROWS[1]) if forth else (MIDDLE, BACK)
    return BEYOND


def scene(result: tg.Result) -> Scene:
    """Collect where all packets of a run are when."""
    told = [result.why(message).document for message in range(SENDERS)]
    packets: list[dict[str, Any]] = [packet for one in told for packet in one["packets"]]
    packets.sort(key=lambda packet: packet["sent_ps"])
    # Who waits in front of the receiver from when to when, and with how many bytes.
    stays: list[tuple[int, int, int]] = []
    for packet in packets:
        for before, after in zip(packet["hops"], packet["hops"][1:], strict=False):
            if after[0] == "tor0" and after[1] == "h0":
                cut = (packet["fate"] or "").startswith("trimmed")
                stays.append((before[3], after[2], HEADER if cut else packet["size"]))
    parts = [part for packet in packets for part in flight(packet, stays)]
    flights = [replace(part, points=by_cable(part.points)) for part in parts]
    steps: dict[int, int] = defaultdict(int)
    for since, until, size in stays:
        if until > since:
            steps[since] += size
            steps[until] -= size
    held, waiting = 0, [(0, 0)]
    for time in sorted(steps):
        held += steps[time]
        waiting.append((time, held))
    end = max(one["end_ps"] for one in told)
    seen = [one.until(end) for one in flights if one.points[0][0] < end]
    cuts = any((packet["fate"] or "").startswith("trimmed") for packet in packets)
    return Scene(seen, waiting, end, cuts)


def flight(packet: dict[str, Any], stays: list[tuple[int, int, int]]) -> list[Flight]:
    """Follow a packet over its hops; what is dropped or cut is another one from there on."""
    found = Flight(packet["class"], packet["what"].split()[0])
    hops = packet["hops"]
    for i, (start, end, since, until) in enumerate(hops):
        forth = end == "h0" or (end == "tor0" and start != "h0")
        found.beyond |= not {start, end} <= {*HOSTS, "tor0"}
        if (start, end) == ("tor0", "h0") and i:
            # In line: as far behind the front as bytes leave before it.
            arrived = found.points[-1][0]
            ahead = sum(size for _, out, size in stays if arrived < out < since)
            behind = COLUMN * ahead / FRAME / len(ROWS)
            row = ROWS[round(ahead / FRAME) % len(ROWS)]
            found.points[-1] = (arrived, (FRONT - behind, row))
            found.points.append((since, (FRONT, row)))
        else:
            found.points.append((since, place(start, forth=forth)))
        found.points.append((until, place(end, forth=forth)))
    fate = packet["fate"] or ""
    if fate.startswith("dropped"):
        time, (x, _) = found.points.pop()
        edge = (x - 60, ROWS[1])
        found.points.append((time, edge))
        fall = [(time, edge), (time + 3 * US, (x - 40, BOX_BOTTOM + 34))]
        return [found, Flight("gone", found.name, fall)]
    if fate.startswith("trimmed"):
        at = next(i for i, (time, _) in enumerate(found.points) if time == hops[0][3])
        rest = Flight("gone", found.name, found.points[at:])
        return [replace(found, points=found.points[: at + 1]), rest]
    return [found]


def by_cable(points: list[tuple[int, Point]]) -> list[tuple[int, Point]]:
    """Lead packets into the switch and out of it where its cables end."""
    middle = (BOX_TOP + BOX_BOTTOM) / 2
    led = points[:1]
    for (before, a), (after, b) in pairwise(points):
        for edge in (BOX_LEFT, BOX_RIGHT):
            if (a[0] - edge) * (b[0] - edge) < 0:
                time = before + round((after - before) * (edge - a[0]) / (b[0] - a[0]))
                led.append((time, (edge, middle - BESIDE if b[0] > a[0] else middle + BESIDE)))
        led.append((after, b))
    return led


def across(time: float, end: int) -> float:
    """Place a time on the axis below."""
    return LEFT + (RIGHT - LEFT) * time / end


def frames(number: int, flight: Flight, whole: float) -> str:
    """Write the rules that move a packet."""

    def share(time: int) -> str:
        return f"{100 * time / whole:.2f}".rstrip("0").rstrip(".") + "%"

    def put(point: Point) -> str:
        return f"transform:translate({point[0]:.0f}px,{point[1]:.0f}px)"

    inner: list[tuple[str, Point]] = []
    for time, point in flight.points:
        if not inner or inner[-1][0] != share(time):
            inner.append((share(time), point))
        else:
            inner[-1] = (share(time), point)
    first, last = inner[0], inner[-1]
    begin = f"{float(first[0][:-1]) + 0.01:.2f}%"
    end = f"{float(last[0][:-1]) + 0.01:.2f}%"
    moves = "".join(f"{at}{{{put(point)}}}" for at, point in inner[1:-1])
    return (
        f"@keyframes p{number}{{0%,{first[0]}{{opacity:0;{put(first[1])}}}{begin}{{opacity:1}}"
        f"{moves}{last[0]}{{opacity:1;{put(last[1])}}}{end},to{{opacity:0}}}}"
    )


def dots(scene: Scene, whole: float, still: int) -> tuple[list[str], list[str]]:
    """Draw every packet where it is in the still picture, and how it moves."""
    rules: list[str] = []
    drawn: list[str] = []
    for number, one in enumerate(scene.flights):
        place = one.at(still)
        x, y = place or one.points[0][1]
        hidden = "" if place else ' opacity="0"'
        radius = 4 if one.kind in {"plain", "scheduled", "unscheduled"} else 2.6
        rules.append(frames(number, one, whole))
        drawn.append(
            f'<circle class="m {one.kind}" r="{radius}" style="animation-name:p{number}"'
            f' transform="translate({x:.0f} {y:.0f})"{hidden}/>'
        )
    return rules, drawn


def chart(scene: Scene, whole: float, still: int) -> tuple[list[str], list[str]]:
    """Draw what waits over time, and the moment that the scene shows."""
    end = scene.end

    def high(held: int) -> float:
        return BOTTOM - (BOTTOM - TOP) * min(1.0, held / QUEUE_MAX)

    path = f"M{LEFT} {BOTTOM}"
    for time, held in scene.waiting:
        path += f"H{across(min(time, end), end):.1f}V{high(held):.1f}"
    most = max(held for _, held in scene.waiting)
    step = 20 if end <= 150 * US else 50
    ticks = range(0, end // US - step // 3, step)
    labels = [
        f'<text class="small" x="{across(tick * US, end):.1f}" y="{BOTTOM + 16}" '
        f'text-anchor="middle">{tick}{" us" if tick else ""}</text>'
        for tick in ticks
    ]
    last = end / US
    drawn = [
        (
            f'<text class="small" x="{LEFT}" y="{TOP - 8}">waiting in front of h0, '
            f"at most {most / 1_000:.3g} KB of {QUEUE_MAX // 1_000} KB</text>"
        ),
        f'<path class="queue" d="{path}H{RIGHT}V{BOTTOM}Z"/>',
        f'<path class="axis" d="M{LEFT} {TOP}V{BOTTOM}H{RIGHT}"/>',
        (
            f'<text class="small" x="{LEFT - 6}" y="{TOP + 8}" text-anchor="end">'
            f"{QUEUE_MAX // 1_000} KB</text>"
        ),
        f'<text class="small" x="{LEFT - 6}" y="{BOTTOM}" text-anchor="end">0</text>',
        *labels,
        (
            f'<text class="small" x="{RIGHT}" y="{BOTTOM + 32}" text-anchor="end">'
            f"all is there after {last:.0f} us</text>"
        ),
        (
            f'<path class="now m" d="M0 {TOP - 4}V{BOTTOM + 4}" style="animation-name:now" '
            f'transform="translate({across(still, end):.1f} 0)"/>'
        ),
    ]
    stop = f"{100 * end / whole:.2f}%"
    rule = (
        f"@keyframes now{{0%{{transform:translate({LEFT}px,0)}}"
        f"{stop},to{{transform:translate({RIGHT}px,0)}}}}"
    )
    return [rule], drawn


def legend(scene: Scene) -> list[str]:
    """Say which colour is which kind of packet, by the names on the transport's page."""
    names: dict[str, list[str]] = {}
    for one in scene.flights:
        known = names.setdefault(one.kind, [])
        if one.name not in known:
            known.append(one.name)
    words = {"unscheduled": " unasked", "gone": " cut" if scene.cuts else " dropped"}
    x, drawn = 20.0, list[str]()
    for kind in ("plain", "scheduled", "unscheduled", "gone", "credit", "control"):
        if kind in names:
            text = ", ".join(names[kind][:NAMED]) + words.get(kind, "")
            if len(names[kind]) > NAMED:
                text += " and others"
            drawn.append(
                f'<circle class="{kind}" cx="{x + 4}" cy="35" r="4"/>'
                f'<text class="small" x="{x + 13}" y="39">{text}</text>'
            )
            x += 32 + 7.2 * len(text)
    return drawn


def stage(scene: Scene) -> list[str]:
    """Draw hosts, the switch and cables."""
    drawn: list[str] = []
    middle = (BOX_TOP + BOX_BOTTOM) / 2
    for name, (x, y) in HOSTS.items():
        left = x < MIDDLE
        edge, side, anchor = (BOX_LEFT, -18, "end") if left else (BOX_RIGHT, 18, "start")
        drawn += [
            f'<path class="link" d="M{x + 12 if left else x - 12} {y}L{edge} {middle}"/>',
            f'<rect class="box" x="{x - 12}" y="{y - 12}" width="24" height="24"/>',
            f'<text x="{x + side}" y="{y + 4}" text-anchor="{anchor}">{name}</text>',
        ]
    if any(one.beyond for one in scene.flights):
        x, y = BEYOND
        drawn += [
            f'<path class="link" d="M{x} {BOX_TOP}V{y}"/>',
            f'<text class="small" x="{x + 10}" y="{y + 4}">the way to the arbiter</text>',
        ]
    drawn += [
        (
            f'<rect class="box" x="{BOX_LEFT}" y="{BOX_TOP}" width="{BOX_RIGHT - BOX_LEFT}" '
            f'height="{BOX_BOTTOM - BOX_TOP}"/>'
        ),
        f'<text class="small" x="{BOX_LEFT}" y="{BOX_BOTTOM + 16}">switch</text>',
    ]
    return drawn


def draw(name: str, result: tg.Result) -> str:
    """Put a transport's picture together."""
    found = scene(result)
    whole = found.end + REST / SLOWER * US
    still = found.end // 4
    move, packets = dots(found, whole, still)
    now, below = chart(found, whole, still)
    title = (
        f"{SENDERS} hosts send {SIZE_KB} KB each to one at {RATE_GBPS} Gb/s, "
        f"under {TRANSPORTS[name]}"
    )
    seconds = whole / US * SLOWER
    rules = "\n".join([*now, *move])
    body = "\n".join(
        [
            f'<text class="title" x="20" y="18">{escape(title)}</text>',
            *legend(found),
            *stage(found),
            *below,
            *packets,
        ]
    )
    alt = f"{title}: every packet on its way, and what waits in front of the receiver"
    style = f"{STYLE}.m {{ animation-duration: {seconds:.1f}s }}\n{rules}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" id="still" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'role="img" aria-label="{escape(alt)}">\n<style>{style}</style>\n{body}\n</svg>\n'
    )


def main() -> None:
    """Run the incast under every transport and write its picture."""
    out = Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[2:] or TRANSPORTS:
        result = tg.run("incast", set={**SETS, "transport.kind": name}, seed=1)
        file = out / f"{name.replace('+', '-')}.svg"
        file.write_text(draw(name, result), "utf-8")


if __name__ == "__main__":
    main()
