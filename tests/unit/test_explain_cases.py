"""What `explain` says, as text cases: the strata, the maintenance rules and the steps of whole specs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.cases_runner import case_files, case_id, check_file
from tests.refresh_cases import in_normal_form, load_program

from foreset.explain.steps import describe
from foreset.explain.strata import facts_of
from foreset.explain.text import maintenance_text, overview, steps_text, stratum_text
from foreset.ir.program import Program
from foreset.ir.strata import Layering
from foreset.plan.translate import translate


def prepared(text: str) -> tuple[Program, Layering]:
    return in_normal_form(load_program(text, "spec.yaml"))


def run_strata(text: str, _arguments: Mapping[str, str]) -> str:
    """Facts, strategies and choices of every stratum."""
    program, layering = prepared(text)
    strata = facts_of(program, layering)
    return joined([*overview(program.group, strata), *(line for each in strata for line in stratum_text(each))])


def run_rules(text: str, arguments: Mapping[str, str]) -> str:
    """The maintenance rules of one view."""
    views = (view for stratum in facts_of(*prepared(text)) for view in stratum.views)
    return joined(line for view in views if view.name == arguments["view"] for line in maintenance_text(view))


def run_steps(text: str, arguments: Mapping[str, str]) -> str:
    """The steps of one strategy for the stratum of one view."""
    program, layering = prepared(text)
    counted = arguments.get("counted") == "yes"
    procedure = translate(layering.of(arguments["view"]), arguments["strategy"], counted=counted)
    return joined(steps_text(arguments["strategy"], describe(procedure, program.columns_of())))


def joined(lines) -> str:
    return "".join(f"{line}\n" for line in lines)


DIRECTIVES = {"strata": run_strata, "rules": run_rules, "steps": run_steps}


@pytest.mark.parametrize("path", case_files("explain"), ids=case_id)
def test_explain_case(path: Path) -> None:
    check_file(path, DIRECTIVES)
