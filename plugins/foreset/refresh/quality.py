"""Quality: what the specs and suites expect of the staged result, checked before anything is published.

The cost follows the change: an expectation about rows looks at the rows that come. That is
enough only because it held before, so one that is new, or was written differently, is checked
on the whole state once. One about the whole of a view that did not change keeps its outcome.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TYPE_CHECKING

from foreset.errors import EnvironmentFault, QualityFailed
from foreset.ir.expectations import DENY, KNOWN, Expectation, Scope, Severity
from foreset.ir.program import View
from foreset.ir.terms import Row
from foreset.ir.versions import Version
from foreset.plan.marks import QUALITY
from foreset.quality.batches import EXAMPLES, SPARK_ONLY, Batch, Finding, fits_in_process
from foreset.quality.outcome import failures, identity, line, summed, told
from foreset.records import codec
from foreset.records.checks import ExpectationOutcome, QualityRecord
from foreset.refresh.context import Context, Stopwatch
from foreset.refresh.denying import reach_of, violations
from foreset.refresh.known_violations import Tally
from foreset.refresh.located import located, pin_of, staged_of
from foreset.relations import arrow
from foreset.relations.frames import frame
from foreset.store import files

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

RECORD, DOCS = "quality.json", "data_docs"
IN_PROCESS_ROWS = 100_000
_TOLD = 5  # failures in a message


def quality(context: Context) -> QualityRecord:
    """Check all expectations; raises `QualityFailed`, which publishes nothing, where a critical one does not hold."""
    done = context.mark(QUALITY)
    if done is not None:
        return done
    watch = Stopwatch()
    record = _checked(context, watch)
    files.write_text(context.path(RECORD), codec.to_text(record))
    if record.status == "failed":
        raise _failed(record)
    return context.finish(QUALITY, record)


def _failed(record: QualityRecord) -> QualityFailed:
    found = failures(record.views, Severity.CRITICAL)
    lines = [line(view, entry) for view, entry in found[:_TOLD]]
    if len(found) > _TOLD:
        lines.append(f"and {len(found) - _TOLD} more")
    many = "1 expectation does" if len(found) == 1 else f"{len(found)} expectations do"
    return QualityFailed(
        f"{many} not hold, so nothing was published:\n  " + "\n  ".join(lines),
        "correct the rows in the source and refresh again; or, if such rows may be published, give the expectation "
        "`severity: warning` in the spec",
    )


class Rows(Enum):
    """Which rows of a view are looked at."""

    CAME = Version.PLUS
    WENT = Version.MINUS
    STATE = Version.NEW


@dataclass(slots=True)
class _Sheet:
    """The expectations of one view with their outcomes as they come."""

    view: View
    earlier: Mapping[str, ExpectationOutcome]  # what the refresh before said, by identity
    found: dict[int, ExpectationOutcome] = field(default_factory=dict)
    batches: list[tuple[tuple[int, ...], Batch]] = field(default_factory=list)
    tally: Tally = field(default_factory=Tally)
    counted: list[tuple[str, tuple[int, ...], Batch]] = field(default_factory=list)  # for the tally alone

    def note(self, numbers: Iterable[int], findings: Iterable[Finding], rows: int) -> None:
        """Outcomes of some of the expectations."""
        for number, finding in zip(numbers, findings, strict=True):
            expectation = self.view.expectations[number]
            self.found[number] = told(expectation, self.view.columns, finding, rows)

    def before(self, number: int) -> ExpectationOutcome | None:
        """What the refresh before said of an expectation."""
        return self.earlier.get(identity(self.view.expectations[number], self.view.columns))

    def keep(self, number: int, entry: ExpectationOutcome) -> None:
        """The outcome of before, since nothing has changed; its place in the spec and its words may have."""
        expectation = self.view.expectations[number]
        said = replace(entry, text=expectation.text, note=expectation.note, origin=expectation.origin)
        self.found[number] = said

    @property
    def outcome(self) -> list[ExpectationOutcome]:
        """In the order of the spec."""
        return [self._with_known(number) for number in sorted(self.found)]

    def _with_known(self, number: int) -> ExpectationOutcome:
        entry = self.found[number]
        return entry if entry.known is not None else replace(entry, known=self.tally.known(number, entry))


def _checked(context: Context, watch: Stopwatch) -> QualityRecord:
    earlier = context.previous.quality if context.previous else None
    before = earlier.views if earlier else {}
    sheets = [
        _Sheet(view, {entry.id: entry for entry in before.get(view.name, ()) if not entry.error})
        for view in context.program.views
        if view.expectations
    ]
    for sheet in sheets:
        _plan(context, sheet)
    docs = _run(context, sheets) if sheets else None
    return summed({sheet.view.name: sheet.outcome for sheet in sheets}, watch.seconds, docs)


def _run(context: Context, sheets: Sequence[_Sheet]) -> str | None:
    """Let Great Expectations look at what is planned; where nothing is, it is not even imported."""
    if not any(sheet.batches or sheet.counted for sheet in sheets):
        return None
    from foreset.quality.checker import Checker

    try:
        checker = Checker()
    except ImportError as error:
        raise EnvironmentFault(
            f"Great Expectations cannot be imported: {error}", "`foreset doctor` says more", worth_retrying=False
        ) from error
    for sheet in sheets:
        for numbers, batch in sheet.batches:
            noted = sheet.found.get(numbers[0])
            sheet.note(numbers, checker.check(batch), batch.count if noted is None else noted.rows or 0)
        for what, numbers, batch in sheet.counted:
            sheet.tally.note(what, numbers, checker.check(batch))
    if not any(sheet.batches for sheet in sheets):
        return None
    for name, text in checker.pages(context.layout.group).items():
        files.write_text(context.path(DOCS, name), text)
    return DOCS


# ---------------------------------------------------------------- what has to be looked at
def _plan(context: Context, sheet: _Sheet) -> None:
    staged = staged_of(context, sheet.view.name)
    old = pin_of(context, sheet.view.name) is not None
    quiet = not staged.changed and old
    look: dict[Rows, list[int]] = {Rows.CAME: [], Rows.STATE: []}
    count: dict[str, list[int]] = {"went": [], "whole": []}
    for number, expectation in enumerate(sheet.view.expectations):
        earlier = sheet.before(number)
        if expectation.type == DENY:
            _deny(context, sheet, number, expectation)
        elif expectation.on is Scope.ALL and quiet and earlier is not None:
            sheet.keep(number, earlier)
        elif expectation.on is Scope.ALL or (earlier is None and old):
            look[Rows.STATE].append(number)
            sheet.tally.start(number, expectation)
        else:
            look[Rows.CAME].append(number)
            what = sheet.tally.plan(number, expectation, earlier, went=staged.minus.rows if old else None)
            count.get(what, []).append(number)
    for rows, numbers in look.items():
        asked = _noted_if_empty(context, sheet, rows, numbers)
        sheet.batches += _batches(context, sheet, rows, asked)
    for what, rows in (("went", Rows.WENT), ("whole", Rows.STATE)):
        counted = _batches(context, sheet, rows, count[what])
        sheet.counted += [(what, numbers, replace(batch, on_pages=False)) for numbers, batch in counted]


def _noted_if_empty(context: Context, sheet: _Sheet, rows: Rows, numbers: Sequence[int]) -> list[int]:
    """Of no rows none is wrong, and of no values there is no sum and no extreme; the numbers still to be looked at."""
    if _count(context, sheet.view, rows):
        return list(numbers)
    types = {number: sheet.view.expectations[number].type for number in numbers}
    empty = [number for number, name in types.items() if KNOWN[name].row_local or name in SPARK_ONLY]
    sheet.note(empty, [Finding(success=True)] * len(empty), 0)
    return [number for number in numbers if number not in empty]


def _batches(
    context: Context, sheet: _Sheet, rows: Rows, numbers: Sequence[int]
) -> Iterator[tuple[tuple[int, ...], Batch]]:
    """Batches for some expectations: in process where that is cheap and says the same, else in Spark."""
    view, columns = sheet.view, sheet.view.columns
    count = _count(context, view, rows)
    scope = Scope.ALL if rows is Rows.STATE else Scope.CHANGES
    here = [n for n in numbers if count <= IN_PROCESS_ROWS and fits_in_process(columns, [view.expectations[n]])]
    there = [number for number in numbers if number not in here]
    if here:
        wanted = tuple(view.expectations[number] for number in here)
        yield tuple(here), Batch(view.name, scope, columns, wanted, count, rows=_rows(context, view, rows))
    if there:
        wanted = tuple(view.expectations[number] for number in there)
        yield tuple(there), Batch(view.name, scope, columns, wanted, count, frame=_frame(context, view, rows))


def _deny(context: Context, sheet: _Sheet, number: int, expectation: Expectation) -> None:
    assert expectation.rule is not None
    reach, earlier = reach_of(context, expectation.rule), sheet.before(number)
    known = earlier.known if earlier else None
    steady = reach.known and earlier is not None
    if steady and not reach.changed:
        if expectation.on is Scope.ALL and earlier is not None:
            sheet.keep(number, earlier)
        else:
            sheet.note([number], [Finding(success=True)], 0)
            sheet.tally.whole[number] = known
        return
    whole = expectation.on is Scope.ALL or not steady
    found = violations(context, expectation.rule, expectation.columns, EXAMPLES, whole=whole)
    if not whole and known != 0:  # where nothing matched before, whatever matches now is new
        sheet.tally.whole[number] = violations(context, expectation.rule, expectation.columns, 1, whole=True).count
    elif expectation.on is not Scope.ALL:
        sheet.tally.whole[number] = found.count
    sheet.note([number], [Finding(not found.count, found.count, found.rows[:EXAMPLES])], reach.changed)
    if found.count:  # Great Expectations tells of it on its pages too
        frame = found.frame if found.count > len(found.rows) else None
        batch = Batch(
            sheet.view.name, expectation.on, expectation.columns, (expectation,), found.count, found.rows, frame
        )
        sheet.batches.append(((number,), batch))


# ---------------------------------------------------------------- the staged rows
def _count(context: Context, view: View, rows: Rows) -> int:
    return located(context, view.name, rows.value).rows or 0


def _rows(context: Context, view: View, rows: Rows) -> Sequence[Row]:
    return arrow.rows(located(context, view.name, rows.value), context.opened)


def _frame(context: Context, view: View, rows: Rows) -> DataFrame:
    return frame(context.spark, located(context, view.name, rows.value))
