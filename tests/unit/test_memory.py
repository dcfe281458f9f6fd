"""Memory of a container counts, not that of the machine around it."""

from __future__ import annotations

from pathlib import Path

import psutil
import pytest

from foreset.store.memory import LEAST, Memory, memory_now

GB = 1 << 30


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    now = psutil.virtual_memory()._replace(total=64 * GB, available=40 * GB)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: now)


def group(folder: Path, **files: object) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(f"{text}\n")


def of(groups: Path, own: str) -> Memory:
    (groups / "own").write_text(own)
    return memory_now(groups, groups / "own")


def test_without_a_limit_it_is_that_of_the_machine(tmp_path: Path) -> None:
    group(tmp_path / "a", memory__max="max", memory__current=5)
    assert of(tmp_path, "0::/a\n") == of(tmp_path, "") == Memory(64 * GB, 40 * GB)
    assert memory_now(tmp_path / "none", tmp_path / "neither") == Memory(64 * GB, 40 * GB)


def test_the_least_limit_of_all_groups_above_holds(tmp_path: Path) -> None:
    group(tmp_path / "a", memory__max=4 * GB, memory__current=3 * GB, memory__stat=f"anon 5\ninactive_file {GB}")
    group(tmp_path / "a" / "b", memory__max=8 * GB, memory__current=GB)
    assert of(tmp_path, "0::/a/b\n") == Memory(4 * GB, 2 * GB)


def test_a_container_sees_its_group_as_the_topmost(tmp_path: Path) -> None:
    group(tmp_path, memory__max=2 * GB, memory__current=3 * GB)
    assert of(tmp_path, "0::/docker/5f\n") == Memory(2 * GB, 0)


def test_groups_of_the_first_kind(tmp_path: Path) -> None:
    group(
        tmp_path / "memory" / "x", memory__limit_in_bytes=3 * GB, memory__usage_in_bytes=GB,
        memory__stat=f"total_inactive_file {GB // 2}",
    )  # fmt: skip
    assert of(tmp_path, "5:cpu,cpuacct:/y\n4:memory:/x\n") == Memory(3 * GB, 5 * GB // 2)


def test_what_is_lent_leaves_room_for_others() -> None:
    assert Memory(24 * GB, 20 * GB).lent == 6 * GB
    assert Memory(24 * GB, 4 * GB).lent == 2 * GB
    assert Memory(GB, GB // 8).lent == LEAST
