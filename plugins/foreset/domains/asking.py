"""Calls of one refresh: each argument once, its answer pinned and recorded before anybody uses it.

Batches are files of `<run>/domains/<domain>.<function>/`, written once: a retry, or a rival task, finds and
takes what is there. What the last refresh recorded serves `max_age`, and `on_error: keep` when a domain fails.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from foreset.constraints.form import Member
from foreset.domains.answers import digest, from_json, to_json, typed
from foreset.domains.provider import Access, Answer, DomainFailed, Provider
from foreset.domains.registry import provider_of
from foreset.errors import ForesetError
from foreset.ir.domains import Domain, DomainFunction
from foreset.ir.terms import Row
from foreset.store.files import list_files, read_once, write_once


@dataclass(frozen=True, slots=True)
class Recorded:
    """One answer: when it was given, and whether it is of this refresh or an older one."""

    rows: tuple[Row, ...]
    at: float
    status: str  # fresh, cached (young enough), kept (the domain failed)


Answers = dict[Row, Recorded]


@dataclass(slots=True)
class Calls:
    """The calls of one refresh; `warnings` says what was kept because a domain failed."""

    folder: str  # of this run
    last: str | None  # of the last committed run
    access: Access
    providers: Mapping[str, Provider] = field(default_factory=dict)
    now: Callable[[], float] = time.time
    warnings: list[str] = field(default_factory=list)
    _known: dict[tuple[str, str], Answers] = field(default_factory=dict)

    def answers(
        self, domain: Domain, function: DomainFunction, arguments: Iterable[Row]
    ) -> Mapping[Row, tuple[Row, ...]]:
        """The rows for each of `arguments`; NULL as an argument has none."""
        key = (domain.name, function.name)
        if key not in self._known:
            self._known[key] = recorded(self.folder, domain, function)
        known = self._known[key]
        asked = list(dict.fromkeys(row for row in arguments if None not in row))
        missing = [row for row in asked if row not in known]
        if missing:
            known |= self._record(domain, function, self._ask(domain, function, missing))
        return {row: known[row].rows for row in asked}

    def _ask(self, domain: Domain, function: DomainFunction, missing: Sequence[Row]) -> Answers:
        older = recorded(self.last, domain, function) if self.last else {}
        young = self.now() - function.max_age
        found = {
            row: Recorded(older[row].rows, older[row].at, "cached")
            for row in missing
            if function.max_age > 0 and row in older and older[row].at >= young
        }
        rest = [row for row in missing if row not in found]
        try:
            given = self._call(domain, function, rest) if rest else {}
            at = self.now()
            return found | {row: Recorded(typed(function, given.get(row, ())), at, "fresh") for row in rest}
        except ForesetError as failure:
            without = [row for row in rest if row not in older]
            if function.on_error == "stop" or without:
                raise
            self.warnings.append(
                f"{domain.name}:{function.name} failed ({failure.message}); "
                f"{len(rest)} answers of the last refresh are kept"
            )
            return found | {row: Recorded(older[row].rows, older[row].at, "kept") for row in rest}

    def _call(self, domain: Domain, function: DomainFunction, rest: Sequence[Row]) -> Mapping[Row, Answer]:
        """Ask the provider, in a thread of its own, so that a hanging one does not hang the refresh."""
        provider = provider_of(domain.provider, self.providers)
        outcome: list[Any] = []

        def run() -> None:
            try:
                given = provider.answer(domain, function, rest, self.access)
                outcome.append({row: list(given.get(row, ())) for row in rest})
            except BaseException as error:  # noqa: BLE001 - it is raised again by the one who waits
                outcome.append(error)

        thread = threading.Thread(target=run, name=f"{domain.name}:{function.name}", daemon=True)
        thread.start()
        thread.join(function.seconds)
        called = f"{domain.name}:{function.name}"
        if not outcome:
            raise DomainFailed(f"{called} took more than {function.seconds:g} s", "raise `seconds:`, or ask for less")
        if isinstance(outcome[0], ForesetError):
            raise outcome[0]
        if isinstance(outcome[0], BaseException):
            kind = type(outcome[0]).__name__
            raise DomainFailed(
                f"{called} failed: {kind}: {str(outcome[0])[:200]}", "`on_error: keep` keeps the last answer"
            )
        answers: Mapping[Row, Answer] = outcome[0]
        return answers

    def _record(self, domain: Domain, function: DomainFunction, found: Answers) -> Answers:
        """Write the batch, unless somebody has; what is written counts."""
        name = digest(sorted(found, key=repr))[:32]
        path = f"{_folder(self.folder, domain, function)}/{name}.json"
        told = [
            {
                "args": to_json(row),
                "rows": [to_json(r) for r in a.rows],
                "at": a.at,
                "status": a.status,
                "digest": digest(a.rows),
            }
            for row, a in found.items()
        ]
        if write_once(path, json.dumps(told)):
            return found
        return found | _read(path, function)

    def for_constraints(self, domains: Mapping[str, Domain]) -> Callable[[Member, Row], list[Row]]:
        """What `constraints.calls.resolve` asks: one call, the places that its pattern names."""

        def answer(call: Member, args: Row) -> list[Row]:
            domain = domains[call.domain]
            function = domain.function(call.function)
            assert function is not None, "analysis has seen that it is there"
            return function.picked(self.answers(domain, function, [args])[args], call.places)

        return answer


def recorded(folder: str, domain: Domain, function: DomainFunction) -> Answers:
    """Every answer that a run has recorded; the first of two files counts."""
    where = _folder(folder, domain, function)
    found: Answers = {}
    for path in sorted((file.path for file in list_files(where) if file.path.endswith(".json")), reverse=True):
        found |= _read(f"{where}/{path}", function)
    return found


def _read(path: str, function: DomainFunction) -> Answers:
    found: Answers = {}
    for item in json.loads(read_once(path) or "[]"):
        rows = tuple(from_json(row, function.results) for row in item["rows"])
        found[from_json(item["args"], function.args)] = Recorded(rows, item["at"], item["status"])
    return found


def _folder(folder: str, domain: Domain, function: DomainFunction) -> str:
    return f"{folder}/domains/{domain.name}.{function.name}"


def differential(before: Answers, after: Answers) -> tuple[frozenset[Row], frozenset[Row]]:
    """What came and what went, as rows of arguments and results: the function as a relation."""
    old = {(*args, *row) for args, answer in before.items() for row in answer.rows}
    new = {(*args, *row) for args, answer in after.items() for row in answer.rows}
    return frozenset(new - old), frozenset(old - new)
