"""Records and their one form in JSON: keys in order, what may lack, and faults that name record and field."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest

from foreset.records import codec
from foreset.records.codec import LEFT_OUT, Misread


@dataclass(frozen=True, slots=True)
class Side:
    rows: int = 0
    path: str | None = None


@dataclass(frozen=True, slots=True)
class Night:
    name: str
    seconds: float = 0.0
    sides: Mapping[str, Side] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    why: str | None = field(default=None, metadata=LEFT_OUT)
    done: bool = False


def test_keys_stand_in_the_order_of_fields_and_empty_ones_are_kept() -> None:
    record = Night("n", 1.5, {"plus": Side(2, "p"), "minus": Side()}, ("a", "b"))
    text = codec.to_text(record)
    assert list(json.loads(text)) == ["format", "name", "seconds", "sides", "notes", "done"]
    assert json.loads(text)["sides"]["minus"] == {"rows": 0, "path": None}
    assert codec.from_text(Night, text, "x") == record
    assert "why" in codec.to_plain(Night("n", why="so"))


def test_what_lacks_takes_its_default_and_what_nobody_knows_is_left_aside() -> None:
    assert codec.from_plain(Night, {"name": "n", "of_a_later_release": [1]}, "x") == Night("n")


def test_a_number_stays_the_number_that_was_written() -> None:
    assert json.dumps(codec.to_plain(codec.from_plain(Night, {"name": "n", "seconds": 2}, "x"))["seconds"]) == "2"


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        ([], "the mark of `a`: it is no record"),
        ({}, "the mark of `a`: `name` is missing"),
        ({"name": 1}, "the mark of `a`: `name` is 1, not text"),
        ({"name": "n", "done": 1}, "the mark of `a`: `done` is 1, not true or false"),
        ({"name": "n", "seconds": True}, "the mark of `a`: `seconds` is True, not a number"),
        ({"name": "n", "notes": "ab"}, "the mark of `a`: `notes` is 'ab', not a list"),
        ({"name": "n", "notes": ["a", None]}, "the mark of `a`: `notes.1` is None, not text"),
        ({"name": "n", "sides": {"plus": {"rows": "2"}}}, "the mark of `a`: `sides.plus.rows` is '2', not a whole"),
        ({"name": "n", "sides": []}, "the mark of `a`: `sides` is [], not a mapping"),
    ],
)
def test_a_fault_names_the_record_and_the_field(data: object, fault: str) -> None:
    with pytest.raises(Misread) as misread:
        codec.from_plain(Night, data, "the mark of `a`")
    assert str(misread.value).startswith(fault)
