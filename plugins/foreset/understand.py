"""Understanding a spec: the one chain from a file to a program that can run, for everybody who reads specs.

Text, suites, edits, analysis, normal form, strata, and aggregates tried for what they promise. A spec of which
Foreset itself crashes has that as its fault (FS640); the others are not affected.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from foreset.analyse.across import check_groups
from foreset.analyse.constrained import constrained
from foreset.diagnostics import Diagnostic, Severity
from foreset.inverses.check import proven
from foreset.ir.edits import Edit
from foreset.ir.program import Program
from foreset.ir.strata import Layering
from foreset.rewrite.edit_views import with_edits
from foreset.rewrite.pipeline import prepare
from foreset.spec.internal import internal_fault
from foreset.spec.load import Loaded, and_suites, load_text


@dataclass(frozen=True, slots=True)
class Sound:
    """A spec that can run."""

    file: str
    written: Program  # as people wrote it
    program: Program  # in normal form
    layering: Layering


@dataclass(frozen=True, slots=True)
class Understood:
    """One spec, whatever its state; the programs and the strata are None where it is refused."""

    name: str  # of the group, or of the file where no group could be read
    file: str
    source: str
    diagnostics: tuple[Diagnostic, ...]
    written: Program | None = None  # as people wrote it
    program: Program | None = None  # in normal form
    layering: Layering | None = None

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        """What refuses the spec."""
        return tuple(d for d in self.diagnostics if d.severity is Severity.ERROR)

    @property
    def sound(self) -> Sound | None:
        """The spec that can run; None where it is refused."""
        if self.errors or self.written is None or self.program is None or self.layering is None:
            return None
        return Sound(self.file, self.written, self.program, self.layering)


def understand(loaded: Loaded, edits: Iterable[Edit] = (), shapes: Iterable[Edit] = ()) -> Understood:
    """What one file says, with edits on its views; UsageError where one does not fit (`with_edits` has both)."""
    found = Understood(loaded.group, loaded.file, loaded.source, tuple(loaded.report))
    if loaded.program is None:
        return found
    made, also = tuple(edits), tuple(shapes)
    program = loaded.program
    written = with_edits(program, made, constrained(program), also) if made or also else program
    try:
        return _prepared(found, written)
    except Exception as error:  # noqa: BLE001 - whatever the cause: other specs are sound
        return replace(found, diagnostics=(*found.diagnostics, internal_fault(loaded.file, error)))


def understand_text(
    text: str,
    file: str,
    suites: Mapping[str, str] | None = None,
    edits: Iterable[Edit] = (),
    shapes: Iterable[Edit] = (),
) -> Understood:
    """The spec in `text`, with the texts of its suite files."""
    return understand(and_suites(load_text(text, file), dict(suites or {})), edits, shapes)


def understand_all(loaded: Sequence[Loaded]) -> tuple[Understood, ...]:
    """The specs of one folder, each with the faults of what it reads of the others."""
    found = [understand(one) for one in loaded]
    across: dict[str, list[Diagnostic]] = {}
    programs = [one.program for one in found if one.program is not None]
    for fault in check_groups(programs, {one.name for one in found}):
        across.setdefault(fault.file, []).append(fault)
    return tuple(replace(one, diagnostics=(*one.diagnostics, *across.get(one.file, ()))) for one in found)


def _prepared(found: Understood, written: Program) -> Understood:
    prepared = proven(prepare(written))
    told = (*found.diagnostics, *prepared.report)
    return replace(found, diagnostics=told, written=written, program=prepared.program, layering=prepared.layering)
