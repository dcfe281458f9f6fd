"""Lines of a benchmark as text, Markdown and JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bench.refresh import Line, Run

PHASES = ("open", "capture", "stratum", "verify", "commit", "publish")


def plain(line: Line) -> str:
    """One line for people who wait."""
    ratio = f"{line.ratio:5.1f}x" if line.ratio else "      "
    built = f"recompute {line.built.seconds:7.2f} s" if line.built else " " * 19
    peer = f"  DuckDB {line.peer:6.2f} s {line.peer_ratio:5.1f}x" if line.peer else ""
    return f"{line.case:8} {line.change:11} {line.kept.seconds:7.2f} s  {built} {ratio}{peer}  {told(line.kept)}"


def told(run: Run) -> str:
    """What a refresh did, and where its seconds went."""
    phases = " ".join(f"{name} {run.phases[name]:.2f}" for name in PHASES if name in run.phases)
    return (
        f"{run.strategy} in {run.engine or 'no engine'}, {run.rounds} rounds, "
        f"+{run.inserted:,} -{run.deleted:,}, over-deleted {run.overdeleted:,}, "
        f"rederived {run.rederived:,}, read {run.rows_read:,}, {run.peak_mb:,} MB; {phases}"
    )


def markdown(lines: Sequence[Line], facts: dict[str, Any]) -> str:
    """A table per case."""
    parts = [", ".join(f"{key} {value}" for key, value in facts.items()), ""]
    for case in dict.fromkeys(line.case for line in lines):
        parts += [f"## {case}", "", *_table([line for line in lines if line.case == case]), ""]
    return "\n".join(parts)


def _table(lines: Iterable[Line]) -> Iterable[str]:
    head = ("change", "rows of the view", "refresh s", "recompute s", "ratio", "DuckDB s", "ratio", "strategy",
            "engine", "rounds", "+", "-",
            "over-deleted", "rederived", "rows read", "peak MB", "its", *(f"{p} s" for p in PHASES))  # fmt: skip
    yield _row(head)
    yield _row(["---"] * len(head))
    for line in lines:
        kept, built = line.kept, line.built
        yield _row(
            [
                line.change,
                f"{line.rows:,}",
                f"{kept.seconds:.2f}",
                f"{built.seconds:.2f}" if built else "",
                f"{line.ratio:.1f}" if line.ratio else "",
                f"{line.peer:.2f}" if line.peer else "",
                f"{line.peer_ratio:.1f}" if line.peer_ratio else "",
                kept.strategy,
                kept.engine,
                kept.rounds,
                f"{kept.inserted:,}",
                f"{kept.deleted:,}",
                f"{kept.overdeleted:,}",
                f"{kept.rederived:,}",
                f"{kept.rows_read:,}",
                f"{kept.peak_mb:,}",
                f"{built.peak_mb:,}" if built else "",
                *(f"{kept.phases[name]:.2f}" if name in kept.phases else "" for name in PHASES),
            ]
        )


def _row(cells: Iterable[object]) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def keep(folder: Path, name: str, lines: Sequence[Line], facts: dict[str, Any]) -> None:
    """Write Markdown and JSON."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.md").write_text(f"# make bench-refresh\n\n{markdown(lines, facts)}")
    data = {"machine": facts, "lines": [{**asdict(line), "ratio": line.ratio} for line in lines]}
    (folder / f"{name}.json").write_text(json.dumps(data, indent=1) + "\n")
