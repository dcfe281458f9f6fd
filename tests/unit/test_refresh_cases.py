"""Each refresh case with every strategy, in memory; Spark runs the same files (tests/spark).

REWRITE=1 accepts what full evaluation gives and the golden list of pairs that never run.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.property.checks import truth
from tests.refresh_cases import CASES, STRATEGIES, Reference, case_text, evaluated, parse_case, read_case, run_strategy

FILES = sorted(CASES.glob("*.case"))
NEVER = CASES / "never.txt"


def name(path: Path) -> str:
    return path.stem


@pytest.mark.parametrize("path", FILES, ids=name)
def test_full_evaluation(path: Path) -> None:
    """The expectation is what evaluation from scratch says, night after night, and clingo agrees."""
    case = read_case(path)
    assert truth(case).states
    found = evaluated(case)
    if os.environ.get("REWRITE"):
        given = path.read_text(encoding="utf-8").partition("\n----\n")[0]
        path.write_text(f"{given}\n----\n{found}", encoding="utf-8")
    assert found == read_case(path).expected


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("path", FILES, ids=name)
def test_strategy(path: Path, strategy: str) -> None:
    case = read_case(path)
    assert run_strategy(case, Reference(), strategy)[0] == case.expected


def test_pairs_that_never_run() -> None:
    """Support cannot shrink silently: a strategy that no stratum of a case admits on any night is listed."""
    lines = []
    for path in FILES:
        case = read_case(path)
        for strategy in STRATEGIES:
            _, never = run_strategy(case, Reference(), strategy)
            if never:
                lines.append(f"{path.stem} {strategy}: {never}\n")
    if os.environ.get("REWRITE"):
        NEVER.write_text("".join(lines), encoding="utf-8")
    assert "".join(lines) == NEVER.read_text(encoding="utf-8")


@pytest.mark.parametrize("path", FILES, ids=name)
def test_cases_can_be_printed(path: Path) -> None:
    """A case that a random program left behind is read as the program that failed."""
    case = read_case(path)
    found = parse_case(case_text(case, case.intent, case.program.group), path.stem)
    assert (found.program, found.nights, found.expected) == (case.program, case.nights, case.expected)
