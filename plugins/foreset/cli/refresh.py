"""`foreset refresh`: from what was committed last to what is true now."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from foreset.cli.completing import group_names
from foreset.cli.options import SPECS, WAREHOUSE, AsJson, Specs, Warehouse

if TYPE_CHECKING:
    from foreset.records.checks import QualityRecord
    from foreset.refresh.whole import RefreshResult, ViewResult


class Mode(StrEnum):
    """How free the choice of strategies is."""

    AUTO = "auto"
    INCREMENTAL = "incremental"
    STRICT = "strict"
    RECOMPUTE = "recompute"


Group = Annotated[str, typer.Argument(metavar="GROUP", autocompletion=group_names, help="The group to refresh.")]
Modes = Annotated[
    Mode, typer.Option("--mode", help="incremental recomputes only if it must; strict fails instead.")
]
Verify = Annotated[str, typer.Option("--verify", metavar="N|full|off", help="How many rows to check by recomputation.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Compute and verify, but publish nothing.")]
Id = Annotated[str, typer.Option("--refresh-id", help="Continue the refresh with this id, or print its result.")]
Note = Annotated[str, typer.Option("--note", help="A reason; the manifest keeps it.")]
Force = Annotated[bool, typer.Option("--force", help="Take over from a refresh that still seems to run.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")]


def refresh(
    group: Group,
    *,
    mode: Modes = Mode.AUTO,
    verify: Verify = "200",
    dry_run: DryRun = False,
    refresh_id: Id = "",
    note: Note = "",
    force: Force = False,
    quiet: Quiet = False,
    json: AsJson = False,
    specs: Specs = SPECS,
    warehouse: Warehouse = WAREHOUSE,
) -> None:
    """Refresh all views of a group, and publish them at once.

    The inserted and deleted rows are exact; a sample is verified before anything is published.
    """
    from foreset.cli.opening import opened
    from foreset.cli.output import say, say_json
    from foreset.cli.progress import shown

    wh = opened(warehouse, specs)
    with shown(quiet=quiet or json) as listen:
        result = wh.refresh(
            group, mode.value, verify, refresh_id=refresh_id, note=note, dry_run=dry_run, force=force, listen=listen
        )
    if json:
        say_json(result.as_dict())
    else:
        say(summary(result))


def summary(result: RefreshResult) -> str:
    """The outcome for people."""
    warned = [f"  warning: {warning}" for warning in result.warnings]
    if result.status == "unchanged":
        news = "no domain has new answers" if result.asked else "no source has changed"
        return "\n".join([f"{result.group}: {news} since seq {result.seq} ({result.seconds:.1f} s)", *warned])
    width = max((len(name) for name in result.views), default=0)
    lines = [
        f"  {name:<{width}}  +{view.inserted:,} -{view.deleted:,}  {done_by(view)}: {view.reason}"
        for name, view in result.views.items()
    ]
    done = "nothing published (dry run)" if result.status == "dry-run" else f"seq {result.seq} committed"
    return "\n".join(
        [
            f"{result.group}: {done} in {result.seconds:.1f} s",
            *lines,
            f"  {checked(result)}",
            *expected(result.checked),
            *warned,
        ]
    )


def done_by(view: ViewResult) -> str:
    """The strategy, and where it ran: `dred in Spark`."""
    where = {"spark": " in Spark", "in process": " in process"}
    return view.strategy + where.get(view.engine, "")


def checked(result: RefreshResult) -> str:
    """The verification in a sentence or two."""
    from foreset.reports import words
    from foreset.reports.facts import verification

    changed = sum(view.inserted + view.deleted for view in result.views.values())
    return " ".join(words.verified(verification(result.verified), changed))


def expected(quality: QualityRecord | None) -> list[str]:
    """The expectations in one line, and a line for each that warns."""
    from foreset.ir.expectations import Severity
    from foreset.quality.outcome import failures, line, lingering, still
    from foreset.render import visible

    if quality is None or not quality.checked:
        return []
    count = quality.checked
    every = f"{count} expectation{'' if count == 1 else 's'}"
    old = [f"    {visible(still(view, entry))}" for view, entry in lingering(quality.views)]
    if not quality.warned:
        held = f"{every} hold{'s' if count == 1 else ''}"
        return [f"  quality: no new row breaks the {every}" if old else f"  quality: {held}", *old]
    found = failures(quality.views, Severity.WARNING)
    warn = f"{quality.warned} of {every} warn{'s' if quality.warned == 1 else ''}"
    return [f"  quality: {warn}", *(f"    {visible(line(view, entry))}" for view, entry in found), *old]
