"""Facts about expectations: what the manifest keeps and reports show. Values are text, bounded, and never markup."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence

from foreset.ir.expectations import DENY, Expectation, Severity
from foreset.ir.program import Column
from foreset.ir.terms import Value
from foreset.quality.batches import EXAMPLES, Finding
from foreset.records.checks import ExpectationOutcome, QualityRecord

LONGEST = 200  # characters of a value in an example
NOTHING = "nothing to check"
Outcomes = Mapping[str, Sequence[ExpectationOutcome]]  # by view


def identity(expectation: Expectation, columns: Sequence[Column]) -> str:
    """What an expectation says, as a hash: the same words on the same columns are the same expectation."""
    kinds = [[column.name, str(column.type)] for column in columns]
    said = [expectation.type, sorted(expectation.arguments.items()), expectation.on, expectation.severity, kinds]
    return hashlib.sha256(json.dumps(said, default=repr).encode()).hexdigest()[:16]


def told(expectation: Expectation, columns: Sequence[Column], finding: Finding, rows: int) -> ExpectationOutcome:
    """One expectation and its outcome."""
    shown = expectation.columns or tuple(columns)
    return ExpectationOutcome(
        expectation=expectation.type,
        text=expectation.text,
        severity=str(expectation.severity),
        on=str(expectation.on),
        success=finding.success,
        rows=rows,
        unexpected=finding.unexpected,
        examples=tuple(tuple(cell(value) for value in row) for row in finding.examples[:EXAMPLES]),
        columns=tuple(column.name for column in shown),
        origin=expectation.origin,
        note=expectation.note,
        observed=finding.observed,
        error=finding.error,
        id=identity(expectation, columns),
    )


def summed(views: Outcomes, seconds: float, docs: str | None) -> QualityRecord:
    """All of it, with the verdict."""
    entries = [entry for found in views.values() for entry in found]
    failed, warned = (_failures(entries, severity) for severity in (Severity.CRITICAL, Severity.WARNING))
    looked = any(entry.rows or not entry.success for entry in entries)
    verdict = "failed" if failed else "warned" if warned else "passed" if looked else NOTHING
    return QualityRecord(
        status=verdict,
        seconds=seconds,
        checked=len(entries),
        failed=len(failed),
        warned=len(warned),
        known=sum(entry.known or 0 for _, entry in lingering(views)),
        views={view: tuple(found) for view, found in views.items()},
        docs=docs,
    )


def failures(views: Outcomes, severity: Severity) -> list[tuple[str, ExpectationOutcome]]:
    """Each failed expectation of that severity with its view."""
    return [(view, entry) for view, found in views.items() for entry in _failures(found, severity)]


def lingering(views: Outcomes) -> list[tuple[str, ExpectationOutcome]]:
    """Each expectation that nothing new breaks, and that rows which came before still do; with its view."""
    return [(view, one) for view, found in views.items() for one in found if one.success and one.known]


def still(view: str, entry: ExpectationOutcome) -> str:
    """The same in words."""
    rows = "1 row that came before still breaks" if entry.known == 1 else (
        f"{entry.known or 0:,} rows that came before still break"
    )  # fmt: skip
    return f"{view}: {rows} the expectation that {entry.text}"


def line(view: str, entry: ExpectationOutcome, examples: int = 3) -> str:
    """A failed expectation in words, with some of its rows."""
    text = f"{view}: expected that {entry.text}"
    if entry.error:
        return f"{text}; it could not be checked: {entry.error}"
    if entry.observed:
        return f"{text}; found {entry.observed}"
    unexpected, denies = entry.unexpected or 0, entry.expectation == DENY
    of = "" if denies else f" of {entry.rows or 0:,}"
    shown = ", ".join(f"({', '.join(map(str, row))})" for row in entry.examples[:examples])
    more = ", ..." if unexpected > examples and shown else ""
    verb = "does" if unexpected == 1 else "do"
    what = "row matches" if unexpected == 1 else "rows match"
    said = what if denies else f"{'rows' if entry.rows != 1 else 'row'} {verb} not fit"
    return f"{text}; {unexpected:,}{of} {said}" + (f": {shown}{more}" if shown else "")


def _failures(entries: Iterable[ExpectationOutcome], severity: Severity) -> list[ExpectationOutcome]:
    return [entry for entry in entries if not entry.success and entry.severity == severity]


def cell(value: Value) -> str:
    """A value as people read it, cut where it is long."""
    if value is None:
        return "NULL"
    if isinstance(value, bytes):
        text = f"0x{value[:LONGEST].hex()}"
    elif isinstance(value, tuple):
        text = f"[{', '.join(cell(item) for item in value[:EXAMPLES])}{', ...' if len(value) > EXAMPLES else ''}]"
    else:
        text = str(value)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."
