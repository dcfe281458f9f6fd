"""What Foreset keeps on disk as JSON (manifest rows, plans, marks, reports) says in which format it is.

One number for all of it, in this one place: raise it when a release writes what the one before would misread.
Records of earlier releases have none and are of format 1.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from foreset.errors import EnvironmentFault

FORMAT = 1
KEY = "format"


def to_text(record: Mapping[str, Any], indent: int | None = 1) -> str:
    """The record as it is kept, with its format."""
    return json.dumps({KEY: FORMAT, **record}, indent=indent)


def from_text(text: str, what: str) -> dict[str, Any]:
    """A record without its format; raises where a newer Foreset wrote it, and ValueError where it is none."""
    found = json.loads(text)
    if not isinstance(found, dict):
        raise ValueError(f"{what} is no record")  # noqa: TRY004 - as for text that is no JSON
    return checked(found, what)


def checked(record: dict[str, Any], what: str) -> dict[str, Any]:
    """The same for a record that has been read."""
    written = record.pop(KEY, 1)
    if not isinstance(written, int) or written > FORMAT:
        raise EnvironmentFault(
            f"{what} was written by a newer Foreset, in format {written}; this release reads formats up to {FORMAT}",
            "use that release, or a later one, for this warehouse",
            worth_retrying=False,
        )
    return record
