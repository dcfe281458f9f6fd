"""The groups of a deployment, as far as their specs are sound; and the faults of the others."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from foreset.diagnostics import Diagnostic
from foreset.spec.load import load_file, load_folder
from foreset.understand import Sound, understand, understand_all


@dataclass(frozen=True, slots=True)
class Found:
    """All sound groups in the order of their names, and what is wrong with the others."""

    groups: tuple[Sound, ...]
    faults: tuple[Diagnostic, ...]


def load_groups(specs: Path) -> Found:
    """Every group of a folder."""
    found = understand_all(load_folder(specs)) if specs.is_dir() else ()
    sound = [one.sound for one in found if one.sound is not None]
    return Found(
        tuple(sorted(sound, key=lambda group: group.program.group)),
        tuple(fault for one in found for fault in one.errors),
    )


def load_group(specs: Path, name: str) -> Sound | None:
    """One group without a look at the others: what a worker needs. A spec is in the file of its group's name."""
    for suffix in (".yaml", ".yml"):
        file = specs / f"{name}{suffix}"
        if file.is_file():
            group = understand(load_file(file)).sound
            if group is not None and group.program.group == name:
                return group
    return next((group for group in load_groups(specs).groups if group.program.group == name), None)
