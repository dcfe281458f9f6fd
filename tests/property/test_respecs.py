"""Random programs whose columns change and whose views are edited between nights, in process."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.property.respec_nights import random_nights

LONG = os.environ.get("FORESET_LONG")
MANY = int(LONG) if LONG and LONG.isdecimal() and int(LONG) > 1 else 200 if LONG else 6
SEEDS = range(91_000, 91_000 + MANY)


@pytest.mark.parametrize("seed", SEEDS)
def test_random_nights_of_specs_and_edits(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORESET_ENGINE", "inproc")
    random_nights(seed, str(tmp_path / "wh"), tmp_path / "specs", "nowhere")
