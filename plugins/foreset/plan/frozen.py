"""The plan of one refresh, frozen when it opens: a spec edited afterwards changes nothing of it.

It carries the text of the spec itself, so every task reads the same words (parsing
takes some milliseconds) and there is no second form of a program to keep in step.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field

from foreset.diagnostics import did_you_mean
from foreset.errors import UsageError
from foreset.ir.edits import Edit, EditRequest
from foreset.plan.choose import Mode
from foreset.records import codec

VERIFY_SAMPLE = 200


@dataclass(frozen=True, slots=True)
class Request:
    """What a caller may say of a refresh; an empty `refresh_id` asks for a new one."""

    refresh_id: str = ""
    mode: str = "auto"
    verify: str = str(VERIFY_SAMPLE)
    note: str = ""
    dry_run: bool = False
    force: bool = False  # take over from a refresh that seems to be at work
    edit: EditRequest | None = None

    def check(self) -> None:
        """Refuse a mode or a verification that does not exist, before anything is read or opened."""
        if self.mode not in set(Mode):
            modes = ", ".join(Mode)
            raise UsageError(f"mode `{self.mode}` is not known", did_you_mean(self.mode, Mode, f"one of: {modes}"))
        if self.verify not in ("full", "off"):
            sample_size(self.verify)


def sample_size(verify: str) -> int:
    """The number of rows that `--verify N` asks for."""
    if not (verify.isascii() and verify.isdecimal()):
        raise UsageError(f"verify `{verify}` is not known", "give a number of rows, `full` or `off`")
    return int(verify)


@dataclass(frozen=True, slots=True)
class RefreshPlan:
    """What a refresh was asked to do, and with which definitions."""

    group: str
    spec_file: str
    spec_text: str
    mode: str = "auto"
    verify: str = str(VERIFY_SAMPLE)  # a number of samples, `full` or `off`
    note: str = ""
    fingerprints: Mapping[str, str] = field(default_factory=dict)
    rebuild: Mapping[str, str] = field(default_factory=dict)  # view -> why it has no old state to start from
    suites: Mapping[str, str] = field(default_factory=dict)  # files of expectations beside the spec -> their text
    edits: tuple[Edit, ...] = ()  # corrections of views, those that were undone too

    @property
    def spec_hash(self) -> str:
        """The hash of the text."""
        return hashlib.sha256(self.spec_text.encode()).hexdigest()[:24]

    def to_json(self) -> str:
        """As the run directory keeps it."""
        return codec.to_text(self)

    @classmethod
    def from_json(cls, text: str) -> RefreshPlan:
        """Back from the run directory; keys of later releases are left aside, unless their format is another one."""
        return codec.from_text(cls, text, "the plan of this refresh")
