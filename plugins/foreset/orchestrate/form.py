"""The trigger form: what a person, or a loader, may say of one run. Every field has the default of a nightly run."""

from __future__ import annotations

import datetime

from airflow.sdk import Param

from foreset.errors import UsageError
from foreset.ir.edits import EditRequest
from foreset.plan.frozen import VERIFY_SAMPLE, Request

MODES = {
    "auto": "auto: the cheapest way for each view",
    "incremental": "incremental: recompute only if history is missing",
    "strict": "strict: fail instead of recomputing",
    "recompute": "recompute: compute every view that can have changed again",
}


def form() -> dict[str, Param]:
    """The fields, in the order in which they are shown."""
    return {
        "mode": Param(
            "auto",
            type="string",
            title="Mode",
            enum=list(MODES),
            values_display=MODES,
            description="How to choose the strategies. The published rows are the same in each mode.",
        ),
        "verify": Param(
            str(VERIFY_SAMPLE),
            type="string",
            title="Verify",
            pattern="^([0-9]{1,6}|full|off)$",
            examples=["200", "2000", "full", "off"],
            description="How many rows to recompute from the sources before anything is published. "
            "Or: full, all rows; off, none.",
        ),
        "note": Param(
            None,  # the form takes an empty text for one that is missing
            type=["null", "string"],
            title="Note",
            maxLength=500,
            description="The reason for this run; the manifest keeps it.",
        ),
        "dry_run": Param(
            False,
            type="boolean",
            title="Dry run",
            description="Compute, verify and check quality, but publish nothing.",
        ),
        "edit": Param(
            None,
            type=["null", "string"],
            title="Correction",
            section="Correct a view",
            maxLength=2000,
            examples=["reachable delete X = 6", 'suspect insert X = "Ann", Y = "Bob"', "undo 3"],
            description="Remove rows from a view, or insert rows, whatever its rules say: VIEW delete REGION, "
            "VIEW insert REGION, or undo NUMBER. Later refreshes keep it; write the reason into the note.",
        ),
        "force": Param(
            False,
            type="boolean",
            title="Take over",
            section="In trouble",
            description="Take over from a refresh of this group that still seems to run. "
            "That refresh cannot publish any more.",
        ),
    }


def request_of(refresh_id: str, params: dict[str, object]) -> Request:
    """What was said in the form, as a refresh reads it."""
    text = {name: str(params.get(name) or "") for name in ("mode", "verify", "note")}
    mode, verify, note = text.values()
    edit = edit_of(str(params.get("edit") or ""), note)
    dry_run, force = params.get("dry_run") is True, params.get("force") is True
    return Request(refresh_id, mode, verify, note, dry_run=dry_run, force=force, edit=edit)


def edit_of(said: str, why: str) -> EditRequest | None:
    """A correction as the form takes it: `VIEW delete REGION`, `VIEW insert REGION` or `undo NUMBER`."""
    words = said.split(maxsplit=2)
    when = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    if not words:
        return None
    if len(words) == 2 and words[0] == "undo" and words[1].isdecimal():
        return EditRequest(undo=int(words[1]), who="Airflow", why=why, at=when)
    if len(words) == 3 and words[1] in ("delete", "insert"):
        view, kind, region = words
        return EditRequest(view, kind, region, who="Airflow", why=why, at=when)
    raise UsageError(
        f"`{said}` is not a correction", "write `VIEW delete REGION`, `VIEW insert REGION` or `undo NUMBER`"
    )
