"""Keywords that nothing takes: which one was perhaps meant."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

_Takes = ParamSpec("_Takes")
_Gives = TypeVar("_Gives")


def suggesting(function: Callable[_Takes, _Gives]) -> Callable[_Takes, _Gives]:
    """Let a function that takes keywords say which one was perhaps meant.

    >>> from tidegate import scenario
    >>> scenario("incast", transprt="dctcp")
    Traceback (most recent call last):
        ...
    TypeError: scenario() has no keyword 'transprt'; did you mean 'transport'?
    """
    code = function.__code__  # type: ignore[attr-defined]
    known = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]

    @wraps(function)
    def checked(*args: _Takes.args, **words: _Takes.kwargs) -> _Gives:
        wrong = next((word for word in words if word not in known), None)
        if wrong is None:
            return function(*args, **words)
        from difflib import get_close_matches  # noqa: PLC0415 - seldom needed

        near = get_close_matches(wrong, known, 1)
        cure = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known)}"
        name = function.__name__  # type: ignore[attr-defined]
        message = f"{name}() has no keyword {wrong!r}; {cure}"
        raise TypeError(message)

    return checked
