"""A group on hold: after a rollback, refreshes stop until somebody lets them go on.

Without it the next refresh would take in again what was rolled back.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass

from foreset.errors import Held
from foreset.records import codec
from foreset.store import files
from foreset.store.layout import Layout, join

NAME = "hold.json"


@dataclass(frozen=True, slots=True)
class Hold:
    """Since when, at whose contents, and why."""

    at: str  # ISO, UTC
    contents_of: int  # the seq that was brought back
    why: str = ""


def hold(layout: Layout, contents_of: int, why: str = "") -> Hold:
    """Let no refresh of the group begin from now on."""
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
    found = Hold(now, contents_of, why)
    files.write_text(_path(layout), codec.to_text(found))
    return found


def held(layout: Layout) -> Hold | None:
    """The hold in force."""
    text = files.read_text(_path(layout))
    return None if text is None else codec.from_text(Hold, text, f"the hold of group {layout.group}")


def release(layout: Layout) -> bool:
    """Let refreshes go on; whether they were held."""
    there = held(layout) is not None
    files.delete(layout.private, [NAME])
    return there


def refuse_if_held(layout: Layout) -> None:
    """Raise `Held` while the group is on hold."""
    found = held(layout)
    if found is not None:
        why = f" ({found.why})" if found.why else ""
        raise Held(
            f"group {layout.group} is on hold since {found.at}, with the contents of refresh {found.contents_of}{why}",
            f"`{release_command(layout.group)}` allows refreshes again",
        )


def release_command(group: str) -> str:
    """What ends a hold."""
    return f"foreset rollback {group} --release"


def _path(layout: Layout) -> str:
    return join(layout.private, NAME)
