"""`foreset test`: the unit tests of specs, in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from foreset.cli.completing import group_names
from foreset.cli.options import SPECS, WAREHOUSE, AsJson, Specs, Warehouse

if TYPE_CHECKING:
    from foreset.testing.run import Outcome
    from foreset.understand import Understood

Names = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="GROUP", autocompletion=group_names, help="Groups or spec files; default: all.", show_default=False
    ),
]
Pattern = Annotated[
    str, typer.Option("-k", metavar="PATTERN", help="Only tests whose `group: name` contains this.", show_default=False)
]


def unit_tests(
    names: Names = None,
    *,
    pattern: Pattern = "",
    json: AsJson = False,
    specs: Specs = SPECS,
    warehouse: Warehouse = WAREHOUSE,  # noqa: ARG001 - accepted everywhere; this command reads no table
) -> None:
    """Run the unit tests of specs, by every strategy.

    It needs no Spark and no tables: the rows are in the tests. A test passes if full evaluation gives what it
    expects, and each strategy gives the same insertions and deletions.
    """
    import time

    from foreset.cli.exits import Exit
    from foreset.cli.groups import groups
    from foreset.cli.output import say, say_json
    from foreset.errors import SpecError, UsageError
    from foreset.testing.report import summary
    from foreset.testing.run import run_tests

    started = time.perf_counter()
    found = groups(specs, names or ())
    if refused := [fault for group in found for fault in group.errors]:
        raise SpecError(refused)
    outcomes: list[Outcome] = []
    data: list[dict[str, object]] = []
    for group in found:
        sound = group.sound
        assert sound is not None
        for outcome in run_tests(sound.written, sound.program, sound.layering, pattern):
            outcomes.append(outcome)
            data.append(_as_data(group, outcome))
            if not json:
                say(_text(group, outcome))
    if json:
        say_json(data)
    elif outcomes:
        say(["", summary(outcomes, time.perf_counter() - started)])
    if not outcomes and pattern:
        raise UsageError(f"no test matches {pattern!r}", "the pattern must be a part of `group: name of the test`")
    if not outcomes and not json:
        say("there are no tests: write some under `tests:` of a spec")
    if not all(outcome.passed for outcome in outcomes):
        raise typer.Exit(Exit.NOT_VERIFIED)


def _text(group: Understood, outcome: Outcome) -> list[str]:
    from foreset.cli.output import styled
    from foreset.render import visible
    from foreset.testing.report import failure, place

    name = visible(f"{group.name}: {outcome.test.name}")
    if outcome.passed:
        return [f"{styled('pass', 'green')}  {name}"]
    return [f"{styled('FAIL', 'red')}  {name}", f"      {place(outcome, group.file)}",
            *(f"      {visible(line)}" for line in failure(outcome))]  # fmt: skip


def _as_data(group: Understood, outcome: Outcome) -> dict[str, object]:
    return {
        "group": group.name,
        "test": outcome.test.name,
        "file": group.file,
        "line": outcome.test.span.line if outcome.test.span else None,
        "passed": outcome.passed,
        "error": outcome.error or None,
        "differences": outcome.differences,
        "faults": outcome.faults or {},
        "seconds": round(outcome.seconds, 4),
    }
