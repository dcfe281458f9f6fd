"""What answers a domain, and what it may use for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from foreset.domains.connections import Connection, from_environment
from foreset.domains.http import HttpPolicy, policy_from_environment
from foreset.errors import SourceError
from foreset.ir.domains import Domain, DomainFunction
from foreset.ir.terms import Row


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


class Provider(Protocol):
    """Answers one batch: for each row of arguments all its rows. Whatever it raises is a failure of the domain."""

    def answer(
        self, domain: Domain, function: DomainFunction, arguments: Sequence[Row], access: Access
    ) -> Mapping[Row, Answer]:
        """The answers by arguments; arguments that are missing have no rows."""
        ...
