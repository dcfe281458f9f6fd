"""Analysis as text cases: every fault with its exact place and words, and rules in normal form."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.cases_runner import case_files, case_id, check_file

from foreset.inverses.check import proven
from foreset.ir.rules import Rule
from foreset.ir.text import print_rule
from foreset.render import render_text
from foreset.rewrite.pipeline import Prepared, prepare
from foreset.spec.load import load_text
from foreset.understand import understand


def prepared(text: str) -> Prepared:
    loaded = load_text(text)
    assert loaded.program is not None, list(loaded.report)
    return proven(prepare(loaded.program))


def run_check(text: str, _arguments: Mapping[str, str]) -> str:
    """What analysis says of a spec that reads."""
    return render_text(prepared(text).report, {"spec.yaml": text}) or "ok\n"


def run_normalise(text: str, _arguments: Mapping[str, str]) -> str:
    """Strata, and rules in normal form with the types of their variables."""
    found = prepared(text)
    if found.layering is None:
        return run_check(text, {})
    lines = []
    for stratum in found.layering.strata:
        facts = [word for word in ("recursive", "monotone", "cyclic") if getattr(stratum, word)]
        lines.append(f"{stratum.title} (level {stratum.level}{''.join(f', {fact}' for fact in facts)})")
        lines += [f"  {line}" for view in stratum.views for rule in view.rules for line in shown(rule)]
    return "".join(f"{line}\n" for line in lines)


def shown(rule: Rule) -> list[str]:
    types = ", ".join(f"{name}: {kind}" for name, kind in rule.types.items())
    return [print_rule(rule), *([f"  {types}"] if types else [])]


def run_crash(text: str, _arguments: Mapping[str, str]) -> str:
    """What is said when analysis itself fails."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("foreset.rewrite.pipeline.names.check_views", lambda _: {}["lost"])
        return render_text(understand(load_text(text)).diagnostics, {"spec.yaml": text})


class Broken:
    """The entry point of a package that cannot be imported."""

    def load(self) -> None:
        raise ImportError("no module\nnamed theirs")


def run_package(text: str, _arguments: Mapping[str, str]) -> str:
    """What is said where an installed package offers the aggregate `theirs`, and does not give it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("foreset.spec.registered._offered", lambda: {"theirs": Broken()})
        return render_text(understand(load_text(text)).diagnostics, {"spec.yaml": text})


@pytest.mark.parametrize("path", case_files("analyse"), ids=case_id)
def test_case(path: Path) -> None:
    check_file(path, {"check": run_check, "normalise": run_normalise, "crash": run_crash, "package": run_package})
