"""Calls of one refresh: each argument once, its answer pinned and recorded before anybody uses it.

Batches are files of `<run>/domains/<domain>.<function>/`, written once: a retry, or a rival task, finds and
takes what is there. What the last refresh recorded serves `max_age`, and `on_error: keep` when a domain fails.
An argument for which there is no answer yet is held back: nothing is derived from it, neither by `in` nor by `not in`.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from foreset.constraints.errors import Unanswered
from foreset.constraints.form import Member
from foreset.domains.answers import digest, from_json, to_json, typed
from foreset.domains.provider import Access, Answer, DomainFailed, Given, Provider, failure
from foreset.domains.registry import provider_of
from foreset.errors import ForesetError
from foreset.ir.domains import Domain, DomainFunction
from foreset.ir.terms import Row
from foreset.ir.text import print_value
from foreset.records import versioned
from foreset.store.files import list_files, read_once, write_once

HELD = "held"
_AGAIN = {"fresh": "cached"}  # how an answer stands in the refresh after


@dataclass(frozen=True, slots=True)
class Recorded:
    """One answer: when it was given, and whether it is of this refresh or an older one."""

    rows: tuple[Row, ...]
    at: float
    status: str  # fresh, cached (young enough), kept (the domain failed), held (it failed, and never answered)


Answers = dict[Row, Recorded]


@dataclass(slots=True)
class Calls:
    """The calls of one refresh; `warnings` says what was kept or held back because a domain failed."""

    folder: str  # of this run
    last: str | None  # of the last committed run
    access: Access
    providers: Mapping[str, Provider] = field(default_factory=dict)
    now: Callable[[], float] = time.time
    correcting: bool = False  # the run is an edit: what the last one was told is the truth, however old it is
    warnings: list[str] = field(default_factory=list)
    _known: dict[tuple[str, str], Answers] = field(default_factory=dict)

    def answers(
        self, domain: Domain, function: DomainFunction, arguments: Iterable[Row]
    ) -> Mapping[Row, tuple[Row, ...]]:
        """The rows for each of `arguments`; NULL as an argument has none, nor has one that is held back."""
        return {row: found.rows for row, found in self._found(domain, function, arguments).items()}

    def _found(self, domain: Domain, function: DomainFunction, arguments: Iterable[Row]) -> Answers:
        key = (domain.name, function.name)
        if key not in self._known:
            self._known[key] = self._carried(domain, function) | recorded(self.folder, domain, function)
        known = self._known[key]
        asked = list(dict.fromkeys(row for row in arguments if None not in row))
        missing = [row for row in asked if row not in known]
        if missing:
            known |= self._record(domain, function, self._ask(domain, function, missing))
        return {row: known[row] for row in asked}

    def _carried(self, domain: Domain, function: DomainFunction) -> Answers:
        """All that the last run was told, where this one is an edit: also what only its undoing asks for again."""
        older = recorded(self.last, domain, function) if self.last and self.correcting else {}
        held = [row for row, known in older.items() if known.status == HELD]
        if held:
            self.warnings.append(_warning(f"{domain.name}:{function.name}", 0, {}, [], held))
        again = {row: replace(known, status=_AGAIN.get(known.status, known.status)) for row, known in older.items()}
        return self._record(domain, function, again) if again else {}

    def _ask(self, domain: Domain, function: DomainFunction, missing: Sequence[Row]) -> Answers:
        older = recorded(self.last, domain, function) if self.last else {}
        answered = {row: known for row, known in older.items() if known.status != HELD}
        young = self.now() - function.max_age
        lasting = [row for row in missing if function.max_age > 0 and row in answered and answered[row].at >= young]
        found = {row: replace(answered[row], status="cached") for row in lasting}
        rest = [row for row in missing if row not in found]
        fresh, failed = self._called(domain, function, rest) if rest else ({}, {})
        if failed and (function.on_error == "stop" or not (fresh or answered)):
            raise next(iter(failed.values()))  # of a function that has never answered there is nothing to keep
        kept = {row: replace(answered[row], status="kept") for row in failed if row in answered}
        found |= fresh | kept | {row: Recorded((), self.now(), HELD) for row in failed if row not in kept}
        held = [row for row, known in found.items() if known.status == HELD]
        if kept or held:
            self.warnings.append(_warning(f"{domain.name}:{function.name}", len(missing), failed, list(kept), held))
        return found

    def _called(
        self, domain: Domain, function: DomainFunction, rest: Sequence[Row]
    ) -> tuple[Answers, dict[Row, ForesetError]]:
        """What the provider answers now, and for which arguments it fails; all of them where it fails as a whole."""
        try:
            given = self._call(domain, function, rest)
        except ForesetError as whole:
            return {}, dict.fromkeys(rest, whole)
        fresh, failed, at = Answers(), dict[Row, ForesetError](), self.now()
        for row in rest:
            answer = given.get(row, ())
            try:
                if isinstance(answer, ForesetError):
                    raise answer
                fresh[row] = Recorded(typed(function, answer), at, "fresh")
            except ForesetError as one:
                failed[row] = one
        return fresh, failed

    def _call(self, domain: Domain, function: DomainFunction, rest: Sequence[Row]) -> Given:
        """Ask the provider, in a thread of its own, so that a hanging one does not hang the refresh."""
        provider = provider_of(domain.provider, self.providers)
        called = f"{domain.name}:{function.name}"
        outcome: list[Any] = []

        def run() -> None:
            try:
                given = provider.answer(domain, function, rest, self.access)
                outcome.append({row: _listed(called, given.get(row, ())) for row in rest})
            except Exception as error:  # noqa: BLE001 - it is raised again by the one who waits
                outcome.append(failure(called, error))

        thread = threading.Thread(target=run, name=called, daemon=True)
        thread.start()
        thread.join(function.seconds)
        if not outcome:
            raise DomainFailed(f"{called} took more than {function.seconds:g} s", "raise `seconds:`, or ask for less")
        if isinstance(outcome[0], BaseException):
            raise outcome[0]
        given: Given = outcome[0]
        return given

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
        if write_once(path, versioned.to_text({"function": _declared(domain, function), "answers": told}, indent=None)):
            return found
        return found | _read(path, domain, function)

    def for_constraints(self, domains: Mapping[str, Domain]) -> Callable[[Member, Row], list[Row]]:
        """What `constraints.calls.resolve` asks: one call, the places that its pattern names."""

        def answer(call: Member, args: Row) -> list[Row]:
            domain = domains[call.domain]
            function = domain.function(call.function)
            assert function is not None, "analysis has seen that it is there"
            found = self._found(domain, function, [args])[args]
            if found.status == HELD:
                raise Unanswered
            return function.picked(found.rows, call.places)

        return answer


def recorded(folder: str, domain: Domain, function: DomainFunction) -> Answers:
    """Every answer that a run has recorded; the first of two files counts."""
    where = _folder(folder, domain, function)
    found: Answers = {}
    for path in sorted((file.path for file in list_files(where) if file.path.endswith(".json")), reverse=True):
        found |= _read(f"{where}/{path}", domain, function)
    return found


def held_back(folder: str, domain: Domain, function: DomainFunction) -> frozenset[Row]:
    """The arguments for which a run found no answer, now or earlier."""
    return frozenset(row for row, found in recorded(folder, domain, function).items() if found.status == HELD)


def _read(path: str, domain: Domain, function: DomainFunction) -> Answers:
    """A batch; nothing where the function meant something else when it was asked."""
    told = json.loads(read_once(path) or "[]")
    if isinstance(told, dict):  # else an earlier release wrote it, and only the answers
        told = versioned.checked(told, f"an answer of domain `{domain.name}`")
        told = told["answers"] if told["function"] == _declared(domain, function) else []
    found: Answers = {}
    for item in told:
        rows = tuple(from_json(row, function.results) for row in item["rows"])
        found[from_json(item["args"], function.args)] = Recorded(rows, item["at"], item["status"])
    return found


def _declared(domain: Domain, function: DomainFunction) -> list[object]:
    """What a function is asked, who answers and what: with another of these, older answers say nothing."""
    columns = [[[column.name, str(column.type)] for column in its] for its in (function.args, function.results)]
    return [domain.provider, domain.connection, dict(domain.options_of(function)), *columns]


def _listed(called: str, answer: Answer | DomainFailed) -> list[object] | ForesetError:
    """An answer, or why there is none: one that is made while it is read may still fail."""
    if isinstance(answer, DomainFailed):
        return answer
    try:
        return list(answer)
    except Exception as error:  # noqa: BLE001 - a failure of this argument
        return failure(called, error)


def _warning(
    called: str, asked: int, failed: Mapping[Row, ForesetError], kept: Sequence[Row], held: Sequence[Row]
) -> str:
    """What failed, and what is done instead, with an example of each."""
    said = []
    if kept:
        said.append(f"the last answer is kept for {len(kept)}, such as {_shown(min(kept, key=repr))}")
    if held:
        example = _shown(min(held, key=repr))
        said.append(f"there is no answer yet for {len(held)}, such as {example}: until then no row follows from it")
    why = next((one.message.removeprefix(f"{called} failed: ") for one in failed.values()), "")
    about = f"{called} failed for {len(failed)} of {asked} arguments ({why})" if failed else called
    return f"{about}; {'; '.join(said)}"


def _shown(args: Row) -> str:
    return f"({', '.join(map(print_value, args))})"


def _folder(folder: str, domain: Domain, function: DomainFunction) -> str:
    return f"{folder}/domains/{domain.name}.{function.name}"
