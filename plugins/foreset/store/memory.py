"""How much memory there is: of the machine, or of the container that this process is in, whichever is less."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil

GROUPS, OWN_GROUPS = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")
LEAST = 256 << 20  # what DuckDB gets in any case


@dataclass(frozen=True, slots=True)
class Memory:
    """In bytes."""

    total: int
    free: int

    @property
    def lent(self) -> int:
        """What work in this process may hold before it spills: others are at work on this machine too."""
        return max(min(self.total // 4, self.free // 2), LEAST)


def memory_now(groups: Path = GROUPS, own: Path = OWN_GROUPS) -> Memory:
    """As it is now."""
    machine = psutil.virtual_memory()
    found = [Memory(machine.total, machine.available), *_limits(groups, own)]
    return Memory(min(one.total for one in found), max(min(one.free for one in found), 0))


def _limits(groups: Path, own: Path) -> Iterator[Memory]:
    """What control groups allow: that of this process, and all above it. A container sees its own as the topmost."""
    for line in _text(own).splitlines():
        _, controllers, path = line.split(":", 2)
        second = not controllers
        if not second and "memory" not in controllers.split(","):
            continue
        top = groups if second else groups / "memory"
        inner = top / path.lstrip("/")
        for folder in dict.fromkeys((inner, *(above for above in inner.parents if above.is_relative_to(top)), top)):
            if (found := _limit(folder, second=second)) is not None:
                yield found


def _limit(folder: Path, *, second: bool) -> Memory | None:
    """The limit of one group; pages of files that nobody waits for count as free."""
    names = ("memory.max", "memory.current") if second else ("memory.limit_in_bytes", "memory.usage_in_bytes")
    limit, used = (_text(folder / name).strip() for name in names)
    if not (limit.isdecimal() and used.isdecimal()):  # `max`, or no such group
        return None
    idle = dict(line.split(" ", 1) for line in _text(folder / "memory.stat").splitlines() if " " in line)
    kept = int(idle.get("inactive_file" if second else "total_inactive_file", 0))
    return Memory(int(limit), int(limit) - int(used) + kept)


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""
