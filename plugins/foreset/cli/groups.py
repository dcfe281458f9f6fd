"""Groups as the commands see them: found by name or file, loaded, and prepared for strategies."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from foreset.cli.opening import NO_SPECS
from foreset.diagnostics import did_you_mean
from foreset.errors import SpecError, UsageError
from foreset.spec.load import SUFFIXES, Loaded, load_file, load_folder
from foreset.understand import Sound, Understood, understand, understand_all


def groups(specs: Path, targets: Sequence[str] = ()) -> tuple[Understood, ...]:
    """Every group of the folder, or those that `targets` name by group or by file."""
    by_file = [target for target in targets if _is_file(target)]
    by_name = [target for target in targets if target not in by_file]
    loaded = [load_file(file) for target in by_file for file in _files(Path(target))]
    found = () if targets and not by_name else understand_all(_folder(specs))
    if by_name:
        found = tuple(_named(name, found, specs) for name in by_name)
    return (*found, *(understand(one) for one in loaded))


def ready(specs: Path, name: str) -> Sound:
    """The group of that name; a refused spec or an unknown name is an error."""
    (group,) = groups(specs, (name,))
    if group.sound is None:
        raise SpecError(group.diagnostics)
    return group.sound


def _is_file(target: str) -> bool:
    return Path(target).suffix in SUFFIXES or "/" in target or "\\" in target


def _files(path: Path) -> Sequence[Path]:
    """The spec itself, or all of a folder."""
    return [Path(one.file) for one in _folder(path)] if path.is_dir() else [path]


def _folder(specs: Path) -> Sequence[Loaded]:
    if not specs.is_dir():
        raise UsageError(f"there is no folder {specs}", NO_SPECS)
    loaded = load_folder(specs)
    if not loaded:
        raise UsageError(
            f"there are no specs in {specs}",
            "`foreset init` writes a first spec; any .yaml file in that folder is a spec",
        )
    return loaded


def _named(name: str, found: Sequence[Understood], specs: Path) -> Understood:
    mine = [group for group in found if group.name == name]
    if mine:
        return next((group for group in mine if group.errors), mine[0])  # two files of one group: the fault
    names = sorted(group.name for group in found)
    raise UsageError(
        f"there is no group `{name}` in {specs}", did_you_mean(name, names, f"groups here: {', '.join(names)}")
    )
