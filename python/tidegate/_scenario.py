"""Describe a run as a value: what it starts from, and what is different."""

from __future__ import annotations

import json
import math
import os
import tomllib
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property
from html import escape
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, SupportsIndex, cast

from tidegate import _core, _html
from tidegate._keywords import suggesting
from tidegate._plain import frozen, table, whole

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tidegate import Comparison, Result

Start = str | os.PathLike[str] | Mapping[str, object]
"""A path, the name of a built-in scenario, or the tables of a scenario."""

KEYS: Mapping[str, str] = MappingProxyType(
    {
        "transport": "transport.kind",
        "profile": "transport.profile",
        "fanout": "workload.senders",
        "size": "workload.size",
        "sizes": "workload.sizes",
        "load": "workload.load",
        "messages": "workload.messages",
        "link": "topology.host_rate",
        "delay": "topology.host_delay",
        "seed": "run.seed",
        "until": "run.until",
        "every": "output.every",
    }
)
"""The keywords of `scenario`, and the key of a scenario file for each."""


_SEED_MAX = 2**63 - 1
"""Whole numbers of TOML go so far."""

THREADS_MAX = 1024
"""Threads of a run, and runs side by side, at most."""


@suggesting
class RunError(Exception):
    """A run that was refused or that broke; the text says where and what to write instead.

    Attributes:
        code: The exit code the program would have ended with: 2 for a scenario that cannot be run,
            3 for a broken invariant, stuck flows or messages that did not finish, 4 for a file that
            could not be written, 130 where it was ended early.
        result: With codes 3 and 130 what there is all the same: the `Result` of `run`, or the
            `Comparison` of `compare`. A folder that `out` did not name lives as long as this.
    """

    def __init__(self, code: int, message: str, result: Result | Comparison | None = None) -> None:
        """Keep the exit code and the result with the message."""
        super().__init__(message)
        self.code = code
        self.result = result

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle it whole, so that it survives the way back from another process."""
        return type(self), (self.code, str(self), self.result)


@suggesting
@dataclass(frozen=True)
class Check:
    """What follows from a scenario before it runs; printed, the lines of `tidegate check`.

    Attributes:
        name: Its name.
        title: The scenario in a few words.
        transport: The transport.
        derived: Base round trip, bandwidth-delay product, bounds and the like, with units.
        warnings: What is allowed and probably not meant.
        toml: The scenario with every default, as a file.
    """

    name: str
    title: str
    transport: str
    derived: dict[str, str]
    warnings: list[str]
    toml: str

    def __str__(self) -> str:
        """Set the figures below each other."""
        width = max(map(len, self.derived), default=0)
        lines = [f"{self.name}  {self.title}"]
        lines += [f"  {name:{width}}  {value}" for name, value in self.derived.items()]
        lines += [f"warning: {warning}" for warning in self.warnings]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """Show the figures, and the file behind a fold."""
        rows = [*self.derived.items(), *(("warning", warning) for warning in self.warnings)]
        figures = _html.table(("what follows", "value"), rows, f"{self.name}: {self.title}")
        toml = escape(self.toml)
        return f"{figures}<details><summary>Every default</summary><pre>{toml}</pre></details>"


@suggesting
class Scenario:
    """A scenario to start from, and what is different.

    It keeps copies of what it is made of and hands out copies, so that it never changes.
    """

    def __init__(self, start: Start, sets: Mapping[str, object] | None = None) -> None:
        """Copy the start and the values; numbers of other libraries become plain ones.

        Raises:
            TypeError: A value has no place in a scenario file.
        """
        self._start = _copied(start)
        self._sets = table(mapping(sets))

    @property
    def start(self) -> Start:
        """A path, a name such as "incast", or a copy of the tables of a scenario."""
        return deepcopy(self._start)

    @property
    def sets(self) -> dict[str, object]:
        """A copy of the values that replace those of the start, by dotted path."""
        return deepcopy(self._sets)

    def __eq__(self, other: object) -> bool:
        """Compare start and values."""
        if not isinstance(other, Scenario):
            return NotImplemented
        return (self._start, self._sets) == (other._start, other._sets)

    def __hash__(self) -> int:
        """Hash what is compared."""
        return hash((frozen(self._start), frozen(self._sets)))

    def __reduce__(self) -> tuple[type[Scenario], tuple[Start, dict[str, object]]]:
        """Pickle what it is made of."""
        return type(self), (self._start, self._sets)

    def __repr__(self) -> str:
        """Show it as the call that makes it."""
        short = {key: name for name, key in KEYS.items()}
        words = [repr(self._start)]
        words += [f"{short[k]}={v!r}" for k, v in self._sets.items() if k in short]
        rest = {key: value for key, value in self._sets.items() if key not in short}
        words += [f"set={rest!r}"] if rest else []
        return f"scenario({', '.join(words)})"

    def check(self) -> Check:
        """Check it without running it.

        Returns:
            What follows from it.

        Raises:
            RunError: It cannot be run; the text names every mistake with its place and its fix.
        """
        name, text = source(self._start)
        code, said = _core.check(name, text, assignments(self._sets))
        if code:
            raise RunError(code, said)
        document: dict[str, Any] = json.loads(said)
        return Check(
            name=document["scenario"],
            title=document["title"],
            transport=document["transport"],
            derived=document["derived"],
            warnings=document["warnings"],
            toml=document["resolved"],
        )

    @property
    def resolved(self) -> dict[str, Any]:
        """A copy of every value of the run, defaults included: the tables of `resolved.toml`.

        Raises:
            RunError: It cannot be run.
        """
        return deepcopy(self._resolved)

    @cached_property
    def _resolved(self) -> dict[str, Any]:
        return tomllib.loads(self.check().toml)


def _copied(start: object) -> str | dict[str, Any]:
    """Copy the tables of a start, or write down its path."""
    if isinstance(start, Mapping):
        return table(cast("Mapping[object, object]", start))
    if isinstance(start, str | os.PathLike):
        return str.__str__(os.fspath(cast("str | os.PathLike[str]", start)))
    message = f"{start!r} is no scenario: write a name like 'incast', a path, or a dictionary"
    raise TypeError(message)


def mapping(
    sets: object, what: str = "set", like: str = "{'workload.load': 0.6}"
) -> Mapping[Any, Any]:
    """Take a dictionary that a caller may have left out.

    Raises:
        TypeError: It is something else.
    """
    if sets is None:
        return {}
    if isinstance(sets, Mapping):
        return cast("Mapping[Any, Any]", sets)
    message = f"{what}={sets!r} is no dictionary: write it like {what}={like}"
    raise TypeError(message)


@suggesting
def scenario(
    start: Start | Scenario,
    *,
    transport: str | None = None,
    profile: str | None = None,
    fanout: SupportsIndex | None = None,
    size: str | None = None,
    sizes: str | None = None,
    load: float | None = None,
    messages: SupportsIndex | None = None,
    link: str | None = None,
    delay: str | None = None,
    seed: SupportsIndex | None = None,
    until: str | None = None,
    every: str | None = None,
    set: Mapping[str, object] | None = None,  # noqa: A002 - the same word as on the command line
) -> Scenario:
    """Describe a run: a scenario to start from, and what is different.

    `tidegate.KEYS` has the key of a scenario file for which each keyword stands.

    Args:
        start: A path; a name such as "incast"; the tables of a scenario as a dictionary; or another
            `Scenario`, which this one then refines.
        transport: The transport, as in `tidegate list transports`.
        profile: A named set of the transport's parameters.
        fanout: Messages that go to one receiver at once, for an incast.
        size: Size of each message, with its unit: "64KB".
        sizes: The distribution that sizes are drawn from, as in `tidegate list workloads`.
        load: Offered load as a share of the hosts' links, for random messages; of the receiver's
            link, for incasts, which then recur.
        messages: Number of random messages.
        link: Rate of the hosts' links, with its unit: "100Gbps".
        delay: Delay of the hosts' links, with its unit: "1us".
        seed: Seed of every random stream.
        until: The end of the run at the latest, with its unit: "5ms".
        every: Time between two samples of every queue, with its unit: "1us".
        set: Any other key of the reference, by dotted path; quantities are strings with units.

    Returns:
        A value for `run` and `compare`. It is checked when it runs, or by its `check()`.

    Raises:
        TypeError: A value has no place in a scenario file.
        ValueError: The seed is out of range.

    >>> scenario("incast", transport="dctcp", fanout=8, set={"switch.buffer": "1MB"})
    scenario('incast', transport='dctcp', fanout=8, set={'switch.buffer': '1MB'})
    >>> scenario({"workload": {"kind": "permutation"}}, link="40Gbps").resolved["workload"][0][
    ...     "kind"
    ... ]
    'permutation'
    """
    given: dict[str, object] = {
        "transport": transport,
        "profile": profile,
        "fanout": fanout,
        "size": size,
        "sizes": sizes,
        "load": load,
        "messages": messages,
        "link": link,
        "delay": delay,
        "seed": None if seed is None else seeded(seed),
        "until": until,
        "every": every,
    }
    sets = {KEYS[name]: value for name, value in given.items() if value is not None}
    return refined(start, sets, set)


def seeded(seed: SupportsIndex) -> int:
    """Take a seed of a run."""
    return whole(seed, "seed", 0, _SEED_MAX)


def refined(start: Start | Scenario, *more: object) -> Scenario:
    """Set more values, of which the last hold."""
    sets: dict[Any, object] = {}
    for values in more:
        sets |= mapping(values)
    if isinstance(start, Scenario):
        return Scenario(start.start, start.sets | sets)
    return Scenario(start, sets)


def source(start: Start) -> tuple[str, str | None]:
    """Name a start, and write it down where it is a dictionary."""
    if isinstance(start, Mapping):
        return "scenario", document(start)
    return os.fspath(start), None


def anchored(tables: Mapping[str, object]) -> dict[str, object]:
    """Name files by whole paths, so that tables lead to them from any folder.

    >>> anchored({"name": "a", "run": {"seed": 1}, "workload": [{"sizes": "web-search"}]})
    {'name': 'a', 'run': {'seed': 1}, 'workload': [{'sizes': 'web-search'}]}
    """

    def one(key: str, value: object) -> object:
        match value:
            case Mapping():
                return anchored(cast("Mapping[str, object]", value))
            case list() | tuple():
                return [one("", item) for item in cast("Sequence[object]", value)]
            case str() if key in {"include", "path"} or (key == "sizes" and _is_file(value)):
                return str(Path(value).absolute())
            case _:
                return value

    return {key: one(key, value) for key, value in tables.items()}


def _is_file(sizes: str) -> bool:
    """Tell a file with sizes from a distribution of the program's own, which comes first."""
    if not Path(sizes).is_file():
        return False
    probe = {"workload": {"kind": "random", "sizes": sizes, "messages": 1}}
    code, said = _core.check("sizes", document(probe), [])
    if code:
        return True
    return tomllib.loads(json.loads(said)["resolved"])["workload"][0]["sizes"] != sizes


def assignments(sets: Mapping[str, object]) -> list[str]:
    """Write values as the words of `--set`.

    >>> assignments({"workload.load": 0.6, "topology.host_rate": "100Gbps"})
    ['workload.load=0.6', 'topology.host_rate="100Gbps"']
    """
    return [f"{key}={toml(value)}" for key, value in sets.items()]


def document(tables: Mapping[str, object]) -> str:
    """Write the tables of a scenario as a file.

    >>> print(document({"name": "a", "run": {"seed": 1}, "workload": [{"kind": "x"}]}))
    name = "a"
    <BLANKLINE>
    [run]
    seed = 1
    <BLANKLINE>
    [[workload]]
    kind = "x"
    """
    return "\n".join(_lines(tables, ())).lstrip("\n")


def _lines(table: Mapping[str, object], path: tuple[str, ...]) -> list[str]:
    plain: list[str] = []
    inner: list[str] = []
    for key, value in table.items():
        name = ".".join(map(_key, (*path, key)))
        if isinstance(value, Mapping):
            tables = cast("Mapping[str, object]", value)
            inner += ["", f"[{name}]", *_lines(tables, (*path, key))]
        elif _tables(value):
            for item in cast("Sequence[Mapping[str, object]]", value):
                inner += ["", f"[[{name}]]", *_lines(item, (*path, key))]
        else:
            plain.append(f"{_key(key)} = {toml(value)}")
    return plain + inner


def _tables(value: object) -> bool:
    items = cast("Sequence[object]", value) if isinstance(value, list | tuple) else ()
    return bool(items) and all(isinstance(item, Mapping) for item in items)


def _key(key: str) -> str:
    bare = key.replace("_", "a").replace("-", "a")
    return key if bare.isascii() and bare.isalnum() else json.dumps(key)


def toml(value: object) -> str:
    """Write a value as TOML does.

    >>> toml([1, "a", {"b": 2.5}])
    '[1, "a", {b = 2.5}]'
    """
    match value:
        case bool():
            return "true" if value else "false"
        case int():
            return repr(value)
        case float() if math.isfinite(value):
            return repr(value)
        case str():
            # TOML's basic strings escape as JSON does.
            return json.dumps(value, ensure_ascii=False)
        case list() | tuple():
            items = cast("Sequence[object]", value)
            return "[" + ", ".join(toml(item) for item in items) + "]"
        case Mapping():
            pairs = cast("Mapping[str, object]", value).items()
            return "{" + ", ".join(f"{_key(k)} = {toml(v)}" for k, v in pairs) + "}"
        case _:
            message = f"{value!r} has no place in a scenario: write a number, a string or a list"
            raise TypeError(message)
