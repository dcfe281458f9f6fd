"""What can go wrong, for callers: every failure leaves the last committed state readable.

`exit_code` is what the command line ends with. `worth_retrying` is the one place that says what a scheduler
may try again: what only a person can put right is told at once.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import ParamSpec, TypeVar

from foreset.diagnostics import Diagnostic, did_you_mean

P = ParamSpec("P")
R = TypeVar("R")


class ForesetError(Exception):
    """The root of everything that Foreset raises on purpose; the text is written for people."""

    exit_code = 1
    worth_retrying = False  # whether the same may well succeed when it is tried again, with nothing put right

    def __init__(self, message: str, hint: str = "", *, worth_retrying: bool | None = None) -> None:
        super().__init__(f"{message}\n  = hint: {hint}" if hint else message)
        self.message = message
        self.hint = hint
        if worth_retrying is not None:
            self.worth_retrying = worth_retrying


def kind_of(error: BaseException) -> str:
    """The name of an error for reports: that of its public class, where it is of one."""
    public = (one for one in type(error).__mro__ if one.__module__ == __name__ and one is not ForesetError)
    return next((one.__name__ for one in public), type(error).__name__)


class SpecError(ForesetError):
    """A spec is refused; `diagnostics` says where and why."""

    exit_code = 2

    def __init__(self, diagnostics: Sequence[Diagnostic]) -> None:
        places = (f"{d.file}:{d.line}:{d.column}: {d.severity}[{d.code}]: {d.message}" for d in diagnostics)
        super().__init__("\n".join(places))
        self.diagnostics = tuple(diagnostics)


class UsageError(ForesetError):
    """What was asked for makes no sense here: an unknown group, view or seq."""

    exit_code = 2


class VerificationFailed(ForesetError):
    """The staged result differs from a recomputation of a sample; nothing was published."""

    exit_code = 3


class QualityFailed(ForesetError):
    """A critical expectation does not hold; nothing was published."""

    exit_code = 3


class Fenced(ForesetError):
    """Another refresh took over or committed first; this one must not publish."""

    exit_code = 4


class Held(ForesetError):
    """The group is on hold since a rollback; no refresh begins until it is released."""

    exit_code = 6


class EnvironmentFault(ForesetError):
    """Java, Spark, jars, ports, memory or the warehouse's disk: the machine is not ready."""

    exit_code = 5
    worth_retrying = True


class SourceError(ForesetError):
    """A source cannot be read as the spec says: missing, changed in shape, corrupt, forbidden."""


class EvaluationError(ForesetError):
    """A rule failed on the data: division by zero, overflow, a bad cast, a recursion without end."""


def keywords_named(more: Sequence[str] = (), name: str = "") -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Makes a function name a keyword that it does not have, with the nearest that it has; `more` are those of `**`."""

    def decorated(function: Callable[P, R]) -> Callable[P, R]:
        found = inspect.signature(function).parameters.values()
        known = [*(one.name for one in found if one.kind is not one.VAR_KEYWORD and one.name != "self"), *more]

        @functools.wraps(function)
        def called(*args: P.args, **kwargs: P.kwargs) -> R:
            for keyword in kwargs:
                if keyword not in known:
                    listed = f"it has {', '.join(f'`{one}`' for one in known)}"
                    told = did_you_mean(keyword, known, listed)
                    raise UsageError(f"{name or function.__name__}() has no `{keyword}`", told)
            return function(*args, **kwargs)

        return called

    return decorated
