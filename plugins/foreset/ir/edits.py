"""Corrections of views themselves: who took out or put in what, why and when. They outlast every refresh."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Edit:
    """`delete` or `insert` of a region of one view, as text; `undone` tells by whom, why and when it was taken back."""

    id: int
    view: str
    kind: str
    region: str
    who: str = ""
    why: str = ""
    at: str = ""
    undone: str = ""


@dataclass(frozen=True, slots=True)
class EditRequest:
    """A correction that somebody asks for: a region of a view, or with `undo` the number of an edit to take back."""

    view: str = ""
    kind: str = ""
    region: str = ""
    undo: int | None = None
    who: str = ""
    why: str = ""
    at: str = ""


def active(edits: Iterable[Edit]) -> tuple[Edit, ...]:
    """Those that hold, in their order."""
    return tuple(edit for edit in edits if not edit.undone)
