"""What callers hand over, as the types that a scenario file has."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Mapping
from numbers import Real
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Sequence


def plain(value: object, where: str = "") -> Any:  # noqa: ANN401 - any of the types of a file
    """Copy a value as the bool, int, float, str, list or dict that it stands for.

    Args:
        value: The value; numbers may be of other libraries.
        where: Its dotted path, for messages.

    Raises:
        TypeError: A scenario file has nothing like it.

    >>> plain({"a": (1, [True])})
    {'a': [1, [True]]}
    """
    match value:
        case str():
            return str.__str__(value)
        case list() | tuple():
            items = enumerate(cast("Sequence[object]", value))
            return [plain(item, f"{where}[{i}]") for i, item in items]
        case Mapping():
            return table(cast("Mapping[object, object]", value), where)
        case _:
            number = _number(value)
    if number is None or (isinstance(number, float) and not math.isfinite(number)):
        place = f"{where}: " if where else ""
        message = f"{place}{value!r} has no place in a scenario: write a number, a string or a list"
        raise TypeError(message)
    return number


def table(pairs: Mapping[object, object], where: str = "") -> dict[str, Any]:
    """Copy a table, whose keys have to be strings.

    >>> table({"workload": {3: 0.5}})
    Traceback (most recent call last):
        ...
    TypeError: workload has the key 3: keys are strings, like '3'
    """
    copied: dict[str, Any] = {}
    for key, value in pairs.items():
        if not isinstance(key, str):
            message = f"{where or 'a scenario'} has the key {key!r}: keys are strings, like '{key}'"
            raise TypeError(message)
        name = str.__str__(key)
        copied[name] = plain(value, f"{where}.{name}" if where else name)
    return copied


def _number(value: object) -> float | None:
    """Read a number or a truth value of whatever library, without importing it.

    >>> from fractions import Fraction
    >>> _number(True), _number(Fraction(1, 2)), _number(None)
    (True, 0.5, None)
    """
    if isinstance(value, bool) or _is_truth(value):
        return bool(value)
    try:
        return operator.index(cast("Any", value))
    except TypeError:
        return float(value) if isinstance(value, Real) else None


def _is_truth(value: object) -> bool:
    """Tell a truth value of numpy by its type of data."""
    return getattr(getattr(value, "dtype", None), "kind", None) == "b" and not len(
        getattr(value, "shape", ())
    )


def whole(value: object, what: str, least: int, most: int) -> int:
    """Take a whole number of a range; a truth value or a text is none.

    Raises:
        TypeError: It is no whole number.
        ValueError: It is out of range.

    >>> whole(0, "seeds", 1, 9)
    Traceback (most recent call last):
        ...
    ValueError: seeds=0 is out of range: write a whole number from 1 to 9, like seeds=1
    """
    how = f"write a whole number from {least:,} to {most:,}, like {what}={least}"
    number = None if isinstance(value, str) else _number(value)
    if not isinstance(number, int) or isinstance(number, bool):
        message = f"{what}={value!r} is no whole number: {how}"
        raise TypeError(message)
    if not least <= number <= most:
        message = f"{what}={number} is out of range: {how}"
        raise ValueError(message)
    return number


def listed(values: object, what: str) -> list[Any]:
    """Copy several values; a text by itself is not a list of its letters.

    >>> listed("dctcp", "transports")
    Traceback (most recent call last):
        ...
    TypeError: transports='dctcp' is no list: write transports=['dctcp']
    """
    if isinstance(values, str | Mapping) or not isinstance(values, Iterable):
        message = f"{what}={values!r} is no list: write {what}=[{values!r}]"
        raise TypeError(message)
    several = cast("Iterable[object]", values)
    return [plain(value, f"{what}[{i}]") for i, value in enumerate(several)]


def frozen(value: object) -> object:
    """Turn a plain value into one that has a hash; equal values give equal ones.

    >>> frozen({"a": [1, 2]}) == frozen({"a": [1.0, 2.0]})
    True
    """
    match value:
        case dict():
            pairs = cast("dict[str, object]", value).items()
            return frozenset((key, frozen(item)) for key, item in pairs)
        case list():
            return tuple(map(frozen, cast("list[object]", value)))
        case _:
            return value
