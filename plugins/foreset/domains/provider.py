"""What answers a domain, and what it may use for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

from foreset.domains.connections import Connection, from_environment
from foreset.domains.http import HttpPolicy, policy_from_environment
from foreset.errors import ForesetError, SourceError
from foreset.ir.domains import Domain, DomainFunction
from foreset.ir.terms import Row

IN_A_ROW = 3  # calls that the network fails one after the other: then nobody is there, and the rest is not asked


class DomainFailed(SourceError):
    """A domain did not answer, not in time, or not what its declaration says."""

    worth_retrying = True  # it may be up again in a minute


@dataclass(frozen=True, slots=True)
class Access:
    """What the deployment lets providers use."""

    root: str = "."  # relative paths of tables and files start here, and may not leave it
    connection: Callable[[str], Connection] = from_environment
    http: HttpPolicy = field(default_factory=policy_from_environment)
    spark: Callable[[], Any] | None = None


Answer = Iterable[object]  # rows as sequences, mappings by column, or bare values of one column
Given: TypeAlias = Mapping[Row, Answer | DomainFailed]


class Provider(Protocol):
    """Answers one batch: for each row of arguments all its rows, or why there is no answer to this one alone.

    Whatever it raises is a failure of all of the batch.
    """

    def answer(self, domain: Domain, function: DomainFunction, arguments: Sequence[Row], access: Access) -> Given:
        """The answers by arguments; arguments that are missing have no rows."""
        ...


def failure(called: str, error: Exception) -> ForesetError:
    """What a provider raised, as a failure of the domain that names the function."""
    if isinstance(error, ForesetError):
        return error
    told = f"{called} failed: {type(error).__name__}: {str(error)[:200]}"
    return DomainFailed(told, "`on_error: keep` keeps the last answer")


def one_by_one(
    domain: Domain, function: DomainFunction, arguments: Iterable[Row], ask: Callable[[Row], Answer]
) -> Given:
    """The answers of a provider that is asked for each row of arguments alone.

    Where answers may be kept, one that fails does not stop the others, unless the network fails for several in a row.
    """
    given: dict[Row, Answer | DomainFailed] = {}
    lost: list[DomainFailed] = []  # what the network failed last, without a success since
    for args in arguments:
        if len(lost) == IN_A_ROW:
            given[args] = lost[-1]
            continue
        try:
            given[args] = list(ask(args))
            lost.clear()
        except Exception as error:
            failed = failure(f"{domain.name}:{function.name}", error)
            if function.on_error == "stop" or not isinstance(failed, DomainFailed):
                raise
            given[args] = failed
            lost = [*lost, failed] if isinstance(error, OSError) else []
    return given
