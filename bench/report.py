"""Lines of a benchmark as text, Markdown and JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bench.core import Line, PeerRun, Run

PHASES = ("open", "capture", "stratum", "verify", "quality", "commit", "publish")


def plain(line: Line) -> str:
    """One line for people who wait."""
    ratio = f"{line.ratio:5.1f}x" if line.ratio else "      "
    built = f"recompute {line.built.seconds:7.2f} s" if line.built else " " * 19
    peers = "".join(f"  {name} {told_peer(one)}" for name, one in line.peers.items() if one.seconds is not None)
    return f"{line.case:10} {line.change:14} {line.kept.seconds:7.2f} s  {built} {ratio}{peers}  {told(line.kept)}"


def told_peer(one: PeerRun) -> str:
    """Its seconds."""
    return "-" if one.seconds is None else f"{one.seconds:.2f} s"


def told(run: Run) -> str:
    """What a refresh did, and where its seconds went."""
    phases = " ".join(f"{name} {run.phases[name]:.2f}" for name in PHASES if name in run.phases)
    return (
        f"{run.strategy} in {run.engine or 'no engine'}, {run.rounds} rounds, "
        f"+{run.inserted:,} -{run.deleted:,}, over-deleted {run.overdeleted:,}, "
        f"rederived {run.rederived:,}, read {run.rows_read:,}, wrote {run.written:,}, {run.peak_mb:,} MB; {phases}"
    )


def head(facts: Mapping[str, Any]) -> str:
    """The machine in one line."""
    return ", ".join(f"{key} {value}" for key, value in facts.items())


def tables(lines: Sequence[Line]) -> str:
    """A table per world."""
    parts: list[str] = []
    for case in dict.fromkeys(line.case for line in lines):
        those = [line for line in lines if line.case == case]
        parts += [f"### {case}", "", *_table(those), "", *_reasons(those)]
    return "\n".join(parts)


def _table(lines: Sequence[Line]) -> Iterable[str]:
    peers = peers_of(lines)
    yield row(("change", "rows of the views", "refresh s", "recompute s", "ratio",
               *(part for name in peers for part in (f"{name} s", "ratio")), "strategy", "engine", "rounds", "+", "-",
               "over-deleted", "rederived", "rows read", "rows written", "peak MB", "its",
               *(f"{p} s" for p in PHASES)))  # fmt: skip
    yield row(["---"] * (17 + 2 * len(peers) - 2 + len(PHASES)))
    for line in lines:
        kept, built = line.kept, line.built
        versus = [
            part
            for name in peers
            for part in (told_peer(line.peers[name])[:-2] if name in line.peers else "", times(line.against(name)))
        ]
        yield row(
            [
                line.change,
                f"{line.rows:,}",
                f"{kept.seconds:.2f}",
                f"{built.seconds:.2f}" if built else "",
                times(line.ratio),
                *versus,
                kept.strategy,
                kept.engine,
                kept.rounds,
                f"{kept.inserted:,}",
                f"{kept.deleted:,}",
                f"{kept.overdeleted:,}",
                f"{kept.rederived:,}",
                f"{kept.rows_read:,}",
                f"{kept.written:,}",
                f"{kept.peak_mb:,}",
                f"{built.peak_mb:,}" if built else "",
                *(f"{kept.phases[name]:.2f}" if name in kept.phases else "" for name in PHASES),
            ]
        )


def peers_of(lines: Iterable[Line]) -> list[str]:
    """Peers that have a time in any line."""
    return list(dict.fromkeys(n for line in lines for n, one in line.peers.items() if one.seconds is not None))


def _reasons(lines: Iterable[Line]) -> Iterable[str]:
    """Why a peer has no time, and what else is to be said of those that have one; each once."""
    said: dict[str, list[str]] = {}
    for line in lines:
        for name, one in line.peers.items():
            if one.note:
                said.setdefault(f"- {name}: {one.note}", []).append(line.change)
    for text, changes in said.items():
        yield text if len(changes) > 1 else f"{text} ({changes[0]})"
    if said:
        yield ""


def times(ratio: float | None) -> str:
    """A ratio."""
    return f"{ratio:.1f}" if ratio else ""


def row(cells: Iterable[object]) -> str:
    """A row of a Markdown table."""
    return f"| {' | '.join(map(str, cells))} |"


def data(lines: Sequence[Line], facts: Mapping[str, Any]) -> dict[str, Any]:
    """All of it for programs."""
    return {"machine": facts, "lines": [{**asdict(line), "ratio": line.ratio} for line in lines]}


def keep(folder: Path, name: str, text: str, found: Mapping[str, Any]) -> None:
    """Write Markdown and JSON."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.md").write_text(text)
    (folder / f"{name}.json").write_text(json.dumps(found, indent=1) + "\n")
