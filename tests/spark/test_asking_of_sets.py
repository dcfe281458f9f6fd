"""`--verify full` derives what domains have to be asked from the rules that use the answers."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from tests.roads import FEED
from tests.unit.test_asking_of_sets import LOAD, SHORT, SPEC, planted

import foreset
from foreset.domains import registry
from foreset.errors import VerificationFailed


@pytest.mark.spark
@pytest.mark.parametrize("sound", [True, False])
def test_a_full_comparison_finds_a_wrong_asking(spark, sound: bool, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setitem(registry._registered, "ten", foreset.PythonDomain({"g": lambda n: [n * 10]}))
    spec = SPEC.format(rule=SHORT).replace("provider: files", "provider: ten").replace("  top:", "  # top:")
    (tmp_path / "specs").mkdir()
    (tmp_path / "specs/g.yaml").write_text(f"# full, sound: {sound}\n{spec}")  # specs that were read are remembered
    names, numbers = zip(*sorted(LOAD), strict=True)
    table = pa.table({"k": names, "x": pa.array(numbers, pa.int32())})
    write_deltalake(tmp_path / "wh/s/n", table, configuration=FEED)
    wh = foreset.open(str(tmp_path / "wh"), str(tmp_path / "specs"), spark)
    if sound:
        done = wh.refresh("g", verify="full")
        assert done.verification["verdict"] == "passed"
        assert {(row["k"], row["r"]) for row in wh.read("g.v").to_pylist()} == {("a", 20), ("b", 10), ("c", 30)}
        return
    planted(monkeypatch)
    with pytest.raises(VerificationFailed, match=r"what `d:g` is asked\(2,\) the rules give it"):
        wh.refresh("g", verify="full")
