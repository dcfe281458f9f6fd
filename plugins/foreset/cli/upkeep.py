"""Commands that look after a warehouse: verify, rollback, gc, doctor."""

from __future__ import annotations

from typing import Annotated

import typer

from foreset.cli.completing import group_names
from foreset.cli.options import SPECS, WAREHOUSE, AsJson, Specs, Warehouse

Group = Annotated[str, typer.Argument(metavar="GROUP", autocompletion=group_names, help="The group.")]
Target = Annotated[int | None, typer.Argument(metavar="SEQ", help="The refresh whose contents come back.")]
Holding = Annotated[bool, typer.Option("--hold", help="Let no refresh start afterwards, until --release.")]
Why = Annotated[str, typer.Option("--why", help="Why refreshes are on hold; everybody who meets the hold sees it.")]
Release = Annotated[bool, typer.Option("--release", help="Allow refreshes again after a rollback with --hold.")]
Keep = Annotated[int, typer.Option("--keep", metavar="N", help="Keep the last N refreshes readable.")]
Sample = Annotated[int, typer.Option("--sample", metavar="N", help="How many rows to recompute.")]
Fix = Annotated[bool, typer.Option("--fix", help="First fetch the Delta jars, if they are missing.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would be deleted, but delete nothing.")]


def rollback(
    group: Group,
    seq: Target = None,
    *,
    hold: Holding = False,
    why: Why = "",
    release: Release = False,
    json: AsJson = False,
    specs: Specs = SPECS,
    warehouse: Warehouse = WAREHOUSE,
) -> None:
    """Publish the contents of an earlier refresh as a new one.

    Nothing is lost: the next refresh continues from there.
    """
    from foreset.cli.opening import opened
    from foreset.cli.output import say, say_json
    from foreset.errors import UsageError
    from foreset.store import holds

    if release != (seq is None) or (release and hold) or (why and not hold):
        hint = "write GROUP SEQ, GROUP SEQ --hold --why TEXT, or GROUP --release"
        raise UsageError("a rollback needs the number of an earlier refresh, or --release", hint)
    wh = opened(warehouse, specs)
    if seq is None:
        there = wh.release(group)
        told = "refreshes are allowed again" if there else "it was not on hold"
        say_json({"group": group, "released": there}) if json else say(f"{group}: {told}")
        return
    done = wh.rollback(group, seq, hold=hold, why=why)
    if json:
        say_json({"group": group, "seq": done, "contents_of": seq, "hold": hold})
        return
    then = f"refreshes stop until `{holds.release_command(group)}`" if hold else "the next refresh continues from there"
    say(f"{group}: seq {done} has the contents of seq {seq}; {then}")


def gc(
    group: Group,
    *,
    keep: Keep = 10,
    dry_run: DryRun = False,
    json: AsJson = False,
    specs: Specs = SPECS,
    warehouse: Warehouse = WAREHOUSE,
) -> None:
    """Delete files that no kept refresh needs."""
    from foreset.cli.opening import opened
    from foreset.cli.output import say, say_json

    found = opened(warehouse, specs).gc(group, keep, dry_run=dry_run)
    if json:
        say_json(found)
    else:
        verb = "would delete" if dry_run else "deleted"
        say(f"{group}: {verb} {found.size / 1e6:,.1f} MB; seqs from {found.floor} stay readable")


def verify(
    group: Group,
    *,
    sample: Sample = 200,
    json: AsJson = False,
    specs: Specs = SPECS,
    warehouse: Warehouse = WAREHOUSE,
) -> None:
    """Recompute published rows from the sources, and compare.

    It reads the versions of the sources that the last refresh read.
    """
    from foreset.cli.exits import Exit
    from foreset.cli.opening import opened
    from foreset.cli.output import say, say_json
    from foreset.records import codec
    from foreset.reports import words
    from foreset.reports.facts import verification

    verdict = opened(warehouse, specs).verify(group, sample)
    if json:
        say_json(codec.to_plain(verdict.record()))
    else:
        sentences = words.verified(verification(verdict.record()), 0)
        found = [f"  {mismatch}" for mismatch in verdict.mismatches]
        say([f"{group}: {' '.join(sentences)} ({verdict.seconds:.1f} s)", *found])
    if not verdict.ok:
        raise typer.Exit(Exit.NOT_VERIFIED)


def doctor(*, fix: Fix = False, json: AsJson = False, warehouse: Warehouse = WAREHOUSE) -> None:
    """Check machine and warehouse; say how to fix each problem."""
    from foreset.cli.exits import Exit
    from foreset.cli.output import complain, say, say_json
    from foreset.doctor import Status, examine, mend

    if fix and (fault := mend()):
        complain(fault)
    findings = examine(warehouse)
    if json:
        say_json(findings)
    else:
        marks = {Status.OK: "ok  ", Status.WARN: "warn", Status.FAIL: "FAIL"}
        for found in findings:
            todo = [f"      fix: {found.fix}"] if found.fix else []
            say([f"{marks[found.status]}  {found.name}: {found.fact}", *todo])
    if any(found.status is Status.FAIL for found in findings):
        raise typer.Exit(Exit.ENVIRONMENT)
