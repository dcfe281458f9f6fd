"""Numbers, times and the words of the house, for people who know the warehouse but not its machinery."""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from foreset.plan.place import told
from foreset.plan.stages import EachSource, EachStratum, Once, named
from foreset.reports.model import Expectation, Quality, Run, SourceLine, State, Step, Verification, ViewLine

if TYPE_CHECKING:
    from foreset.reports.views import Named

STRATEGIES = {
    "skip": "nothing that it reads had changed",
    "insert": "added the rows that follow from new source rows; no source row had gone",
    "counting": "counted the derivations of each row, and removed the rows whose count became zero",
    "dred": "removed every row that lost a derivation, put back those that have another one, and added new rows",
    "dredf": "removed the rows that lost their last derivation, and added new rows",
    "dredc": "as dred, with the number of derivations of each row at hand",
    "spread": "computed the part near the change before and after it, and took the difference",
    "stdel": "removed the rows whose recorded derivations are gone, and added new rows",
    "ask": "asked the domain with every argument that the rules need, and compared the answers with the last ones",
    "constrain": "derived its constraints again, and compared them with the old ones",
    "recompute": "computed the whole view again, and compared it with the old one",
    "rollback": "brought back an earlier state",
}
WAYS = {
    "Unchanged": "no change",
    "Feed": "by its change feed",
    "SnapshotDiff": "by comparing its two versions",
    "Reload": "read as a whole",
    "": "not read yet",
}
KINDS = {
    "changed": ("Changed rows", "rows that this refresh added or removed"),
    "unchanged": ("Unchanged rows", "rows that it left as they were"),
    "absent": ("Absent rows", "combinations of values that occur, but not as a row: no rule may derive them"),
    "derived": ("Derived rows", "rows that the rules derive from source rows that changed: they must be in the view"),
    "all": ("Rows", "every row of the view"),
}
TELLING = 0.05  # a larger error rate helps nobody
SCOPES = {"changes": "rows that came", "all": "all rows"}


def number(value: float | None) -> str:
    """A count with separators."""
    return "–" if value is None else f"{value:,.0f}"


def short(value: int) -> str:
    """A round count at the side of a chart: `20,000`, `5 M`."""
    return number(value) if value < 1_000_000 else f"{value / 1_000_000:g} M"


def round_time(seconds: float) -> str:
    """A round time at the side of a chart: `0.5 s`, `10 s`, `2 min`, `1 h`."""
    for unit, size in (("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{seconds / size:g} {unit}"
    return f"{seconds:g} s"


def counted(count: float, noun: str, plural: str = "") -> str:
    """`1 row`, `2 rows`."""
    return f"{number(count)} {noun if count == 1 else plural or noun + 's'}"


def signed(count: int, sign: str) -> str:
    """`+12` or `−3`; a plain 0 for nothing."""
    return f"{sign}{number(count)}" if count else "0"


def both(plus: int, minus: int) -> str:
    """`+12 −3 rows`, `+1 row`; `0 rows` for nothing."""
    signs = " ".join([*([f"+{number(plus)}"] if plus else []), *([f"−{number(minus)}"] if minus else [])])
    return f"{signs or 0} {'row' if plus + minus == 1 else 'rows'}"


def percent(rate: float) -> str:
    """Two digits that matter, rounded up, since it stands after `less than`: `1.5 %`, `0.012 %`, `63 %`."""
    if rate <= 0:
        return "0 %"
    unit = 10.0 ** min(0, math.floor(math.log10(rate * 100)) - 1)
    return f"{math.ceil(rate * 100 / unit - 1e-9) * unit:.{3 if rate >= 1 else 2}g} %"


def duration(seconds: float | None) -> str:
    """`0.4 s`, `12 s`, `3 min 20 s`, `2 h 5 min`."""
    if seconds is None:
        return "–"
    if seconds < 10:
        return f"{seconds:.1f} s"
    if round(seconds) < 60:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, left = divmod(minutes, 60)
    return f"{hours} h {left} min" if left else f"{hours} h"


def moment(at: datetime.datetime | None) -> str:
    """`18 Nov 2026, 02:01 UTC`."""
    return f"{at.day} {at:%b %Y, %H:%M} UTC" if at else "an unknown time"


def listed(names: Sequence[str], most: int = 3) -> str:
    """`a`, `a and b`, `a, b and 2 more`."""
    if len(names) > most:
        return f"{', '.join(names[: most - 1])} and {len(names) - most + 1} more"
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)


def clipped(text: str, most: int = 220) -> str:
    """The first line of a message, not too long for a sentence."""
    line = text.strip().split("\n")[0].strip().rstrip(".:")
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"


def strategy(view: ViewLine) -> str:
    """What was done to a view, without the name of the strategy."""
    if view.strategy == "recompute" and view.reason.startswith("first load"):
        return "computed the whole view"
    return STRATEGIES.get(view.strategy, "")


def engine(view: ViewLine) -> str:
    """Where a view was computed, and why, as the beginning of a sentence."""
    where = told(view.engine, view.engine_reason)
    return where[:1].upper() + where[1:]


def untouched(run: Run) -> str:
    """Why a refresh did nothing to a view."""
    return "nothing that it reads had changed" if run.state is State.UNCHANGED else "not reached by this refresh"


def way(source: SourceLine) -> str:
    """How the changes of a source were found."""
    return WAYS.get(source.way, source.way)


def known_rows(found: Quality) -> str:
    """The rows that came before and still break an expectation; empty where there are none."""
    lingering = found.lingering
    if not lingering:
        return ""
    count = sum(one.known or 0 for one in lingering)
    first = lingering[0]
    one, many = f"the expectation that {first.text} ({first.view})", f"{len(lingering)} expectations"
    what = one if len(lingering) == 1 else many
    return f"{counted(count, 'known row')} still {'breaks' if count == 1 else 'break'} {what}"


def breaking(one: Expectation) -> str:
    """How an expectation that does not hold is broken."""
    if one.error:
        return f"It could not be checked: {clipped(one.error)}."
    if one.observed:
        return f"Found {one.observed}."
    if not one.unexpected:
        return ""
    rows, verb = counted(one.unexpected, "row"), "matches" if one.unexpected == 1 else "match"
    if one.name == "deny":
        return f"{rows} {verb} the denied condition."
    of = f" of {number(one.rows)}" if one.rows else ""
    return f"{rows}{of} {'breaks' if one.unexpected == 1 else 'break'} it."


def expected(test: Named) -> str:
    """What a unit test expects of a view."""
    said = [
        f"{counted(test.inserted, 'row')} added" if test.inserted else "",
        f"{counted(test.deleted, 'row')} removed" if test.deleted else "",
        f"{counted(test.whole, 'row')} afterwards" if test.whole is not None else "",
    ]
    nothing = test.inserted is not None or test.deleted is not None
    return listed([one for one in said if one]) or ("no change" if nothing else "nothing of it")


def step(one: Step) -> str:
    """What a stage does."""
    match named(one.name):
        case EachStratum(title_one=title):
            return title.format(one.detail or f"step {one.name.partition('-')[2]}")
        case Once(title=title) | EachSource(title=title):
            return title
        case _:
            return one.name


def phase(name: str) -> str:
    """Where a failure happened, to stand after `while`; `name` as for marks."""
    stage, one = named(name), name.partition("-")[2]
    if one and isinstance(stage, (EachSource, EachStratum)):
        return stage.doing_one.format(one)
    return stage.doing if stage else name or "an unknown phase"


def kinds(mode: str) -> dict[str, str]:
    """The kinds of rows that a verification in this mode recomputes, each with its name."""
    return {kind: name for kind, (name, _) in KINDS.items() if (kind == "all") is (mode == "full")}


def verified(found: Verification | None, changed: int) -> list[str]:
    """What recomputation says, in plain sentences; `changed` is how many rows came and went in all."""
    if found is None:
        return ["No row was recomputed yet."]
    if found.verdict == "not checked" or found.mode == "off":
        return ["Verification was off for this refresh: no row was recomputed."]
    if found.verdict == "failed":
        return [f"{counted(found.rows, 'row')} {_were(found.rows)} recomputed from the sources, and some differ:"]
    if not found.rows:
        return ["There was nothing to recompute: this refresh maintained no view."]
    if found.mode == "full":
        return [f"Every row was recomputed from the sources and compared: {counted(found.rows, 'row')}, none differed."]
    if found.total("changed") is not None:
        return _of_totals(found)
    lead = f"{counted(found.rows, 'row')} {_were(found.rows)} recomputed from the sources, and none differed."
    return [lead, *_bounds(found, changed)]


def all_changed(found: Verification, changed: int) -> bool:
    """Whether every row that came or went was recomputed: then nothing is left to chance."""
    return 0 < changed <= found.of_kind("changed")


def _of_totals(found: Verification) -> list[str]:
    """How many of how many; how sure that makes one is said only where some were left out."""
    checked = {kind: found.of_kind(kind) for kind in ("changed", "unchanged")}
    there = {kind: max(found.total(kind) or 0, count) for kind, count in checked.items()}
    parts = []
    if there["changed"]:
        parts.append(_part(checked["changed"], there["changed"], "changed row"))
    if there["unchanged"]:
        noun = "unchanged row" if there["changed"] else "row"
        parts.append(_part(checked["unchanged"], there["unchanged"], noun))
    if not parts:
        parts.append(counted(found.rows, "row"))
    last = there["unchanged"] or there["changed"] or found.rows
    were = _were(last if len(parts) == 1 else 2)
    lead = f"{' and '.join(parts)} {were} recomputed from the sources, and none differed."
    sure = [
        f"at most {percent(found.bounds[kind])} of the {kind} rows"
        for kind in checked
        if checked[kind] < there[kind] and found.bounds.get(kind, 1.0) <= TELLING
    ]
    lead = lead[0].upper() + lead[1:]
    return [lead, f"With {percent(found.confidence)} certainty, {' and '.join(sure)} can be wrong."] if sure else [lead]


def _part(checked: int, there: int, noun: str) -> str:
    """`all 12 changed rows`, `100 of 20,000 unchanged rows`."""
    if checked >= there:
        return f"the one {noun}" if there == 1 else f"all {counted(there, noun)}"
    return f"{number(checked)} of {counted(there, noun)}"


def _bounds(found: Verification, changed: int) -> list[str]:
    """Of records that do not say how many rows there were."""
    sentences = []
    if every := all_changed(found, changed):
        only = "The one changed row was" if changed == 1 else f"All {number(changed)} changed rows were"
        sentences.append(f"{only} among them, so every change of this refresh is checked.")
    kinds = [kind for kind in ("changed", "unchanged") if kind in found.bounds and not (every and kind == "changed")]
    rates = [f"at most {percent(found.bounds[kind])} of the {kind} rows" for kind in kinds
             if found.bounds[kind] <= TELLING]  # fmt: skip
    if rates:
        sentences.append(f"With {percent(found.confidence)} certainty, {' and '.join(rates)} can be wrong.")
    return sentences


def _were(count: int) -> str:
    return "was" if count == 1 else "were"
