"""The groups of a deployment, as far as their specs are sound; and the faults of the others."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from foreset.analyse.across import check_groups
from foreset.diagnostics import Diagnostic, Severity
from foreset.errors import SpecError
from foreset.ir.program import Program
from foreset.ir.strata import Layering
from foreset.orchestrate.places import Places
from foreset.rewrite.pipeline import prepare
from foreset.spec.load import Loaded, load_file, load_folder


@dataclass(frozen=True, slots=True)
class Group:
    """A sound spec: what people wrote, and the strata of it."""

    program: Program  # in written form
    layering: Layering
    file: Path


@dataclass(frozen=True, slots=True)
class Found:
    """All groups in the order of their names, and what is wrong with the others."""

    groups: tuple[Group, ...]
    faults: tuple[Diagnostic, ...]


class BrokenSpecs(SpecError):
    """Some specs are refused and have no DAG; the others are not affected."""


def load_groups(specs: Path) -> Found:
    """Every group of a folder."""
    loaded = load_folder(specs) if specs.is_dir() else ()
    groups, faults = [], []
    for one in loaded:
        group, found = _understood(one)
        groups += [group] if group else []
        faults += [fault for fault in found if fault.severity is Severity.ERROR]
    names = {one.program.group if one.program else Path(one.file).stem for one in loaded}
    across = [f for f in check_groups([g.program for g in groups], names) if f.severity is Severity.ERROR]
    wrong = {fault.file for fault in across}
    sound = (group for group in groups if str(group.file) not in wrong)
    return Found(tuple(sorted(sound, key=lambda group: group.program.group)), (*faults, *across))


def load_group(specs: Path, name: str) -> Group | None:
    """One group without a look at the others: what a worker needs. A spec is in the file of its group's name."""
    for suffix in (".yaml", ".yml"):
        file = specs / f"{name}{suffix}"
        if file.is_file():
            group, _ = _understood(load_file(file))
            if group is not None and group.program.group == name:
                return group
    return next((group for group in load_groups(specs).groups if group.program.group == name), None)


def report_faults(places: Places) -> None:
    """Raise `BrokenSpecs` with every fault of every spec, if there is one."""
    faults = load_groups(places.specs).faults
    if faults:
        raise BrokenSpecs(faults)


def _understood(loaded: Loaded) -> tuple[Group | None, tuple[Diagnostic, ...]]:
    if loaded.program is None:
        return None, tuple(loaded.report)
    prepared = prepare(loaded.program)
    if prepared.layering is None:
        return None, tuple(prepared.report)
    return Group(loaded.program, prepared.layering, Path(loaded.file)), ()
