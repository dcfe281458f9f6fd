"""Corrections of views themselves: who took out or put in what, why and when. They outlast every refresh."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any


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

    def as_dict(self) -> dict[str, Any]:
        """Plain data, as plans and manifests keep it."""
        return dataclasses.asdict(self)


def edits_from(data: Iterable[Mapping[str, Any]]) -> tuple[Edit, ...]:
    """Back from plain data; keys of later versions are left aside."""
    known = {field.name for field in dataclasses.fields(Edit)}
    return tuple(Edit(**{name: value for name, value in one.items() if name in known}) for one in data)


def active(edits: Iterable[Edit]) -> tuple[Edit, ...]:
    """Those that hold, in their order."""
    return tuple(edit for edit in edits if not edit.undone)
