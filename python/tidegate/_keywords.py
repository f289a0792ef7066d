"""Keywords that nothing takes: which one was perhaps meant."""

from __future__ import annotations

from functools import wraps
from types import FunctionType
from typing import TYPE_CHECKING, Any, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Callable

# The same type comes back, so that type checkers see every signature as it is written.
_Called = TypeVar("_Called", bound="Callable[..., Any]")


def suggesting(called: _Called) -> _Called:
    """Let a function, or a class and its public methods, say which keyword was perhaps meant.

    >>> from tidegate import Result, scenario
    >>> scenario("incast", transprt="dctcp")
    Traceback (most recent call last):
        ...
    TypeError: scenario() has no keyword 'transprt'; did you mean 'transport'?
    >>> Result("out").why(mesage=1)
    Traceback (most recent call last):
        ...
    TypeError: Result.why() has no keyword 'mesage'; did you mean 'message'?
    """
    if isinstance(called, FunctionType):
        return cast("_Called", _checked(called, 0))
    for name, method in [*vars(called).items()]:
        if isinstance(method, FunctionType) and (name == "__init__" or not name.startswith("_")):
            # `self` is no keyword.
            setattr(called, name, _checked(method, 1))
    return called


def _checked(function: FunctionType, first: int) -> Callable[..., Any]:
    """Look at the keywords before a function does, whose arguments from `first` on may be some."""
    code = function.__code__
    known = code.co_varnames[first : code.co_argcount + code.co_kwonlyargcount]

    @wraps(function)
    def checked(*args: Any, **words: Any) -> Any:  # noqa: ANN401 - what the function takes
        wrong = next((word for word in words if word not in known), None)
        if wrong is None:
            return function(*args, **words)
        name = function.__qualname__.removesuffix(".__init__")
        message = f"{name}() has no keyword {wrong!r}; {_cure(wrong, known)}"
        raise TypeError(message)

    return checked


def _cure(wrong: str, known: tuple[str, ...]) -> str:
    """Name the keyword that is like a wrong one, or all that there are.

    >>> _cure("mesage", ("message", "flow")), _cure("xyzzy", ("message", "flow"))
    ("did you mean 'message'?", 'there are message, flow')
    >>> _cure("xyzzy", ("ax",)), _cure("xyzzy", ())
    ('there is ax', 'it takes none')
    """
    from difflib import get_close_matches  # noqa: PLC0415 - seldom needed

    near = get_close_matches(wrong, known, 1)
    if near:
        return f"did you mean {near[0]!r}?"
    if not known:
        return "it takes none"
    return f"there {'is' if len(known) == 1 else 'are'} {', '.join(known)}"
