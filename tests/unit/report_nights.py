"""Nights of a small group as refreshes leave them in a warehouse, written by the real store without Spark."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from foreset.errors import ForesetError
from foreset.plan.frozen import RefreshPlan
from foreset.records.checks import QualityRecord, Verification
from foreset.records.codec import from_plain
from foreset.records.commits import Details
from foreset.refresh.record_failure import described
from foreset.store import epochs, events, files, manifest
from foreset.store.layout import Layout
from foreset.store.rows import ManifestRow, SourcePin, ViewPin

SPEC = """\
group: parts
description: Which parts go into which products & <b>why</b>
owner: plant-data
sources:
  uses: {table: plant/uses, columns: {part: bigint, needs: bigint}}
  banned: {table: plant/banned, columns: {part: bigint}}
views:
  contains:
    columns: {part: bigint, inner: bigint}
    rules:
      - contains(P, Q) :- uses(P, Q)
      - contains(P, R) :- contains(P, Q), uses(Q, R)
  tainted:
    columns: {part: bigint}
    rules:
      - tainted(P) :- contains(P, Q), banned(Q)
"""
EVIL = "<script>alert('x')</script>"
PASSED = {"mode": "200", "verdict": "passed", "rows": 100, "checked": {"contains": {"changed": 60, "unchanged": 40}},
          "error_rate_below": {"changed": 0.0487, "unchanged": 0.0722}, "confidence": 0.95, "mismatches": [],
          "seconds": 0.4}  # fmt: skip
OFF = {"mode": "off", "verdict": "not checked", "rows": 0}
FEED = {"way": "Feed", "reason": "change feed", "inserted": 3, "deleted": 1, "rows": 40, "taken_whole": False,
        "moved": True, "degraded": False, "seconds": 0.2}  # fmt: skip
STILL = {**FEED, "way": "Unchanged", "reason": "no new version", "inserted": 0, "deleted": 0, "moved": False}


def expectation(severity: str, *, success: bool = False, value: object = EVIL) -> dict[str, Any]:
    return {"expectation": "expect_column_values_to_be_between", "text": f"part is below {EVIL}", "severity": severity,
            "on": "changes", "success": success, "rows": 40, "unexpected": 0 if success else 2,
            "examples": [] if success else [[value, None], [7, ""]], "columns": ["part", "inner"],
            "origin": "parts.yaml:9", "note": ""}  # fmt: skip


def quality(status: str, *found: dict[str, Any], docs: str | None = None) -> dict[str, Any]:
    return {"status": status, "seconds": 0.3, "checked": len(found), "views": {"contains": list(found)}, "docs": docs}


class Nights:
    """A warehouse with one group, and refreshes that end as a test wants them."""

    def __init__(self, root: Path) -> None:
        self.layout = Layout(str(root), "parts")
        self.docs: Path | None = None

    def open(self, refresh_id: str, note: str = "", rebuild: dict[str, str] | None = None) -> epochs.Run:
        def vector(last: ManifestRow | None) -> dict[str, SourcePin]:
            before = last.seq if last else None
            return {name: SourcePin(f"plant/{name}", "id", before, (before or 0) + 1) for name in ("uses", "banned")}

        run = epochs.open_run(self.layout, refresh_id, vector)
        assert isinstance(run, epochs.Run), "this refresh has been committed before"
        plan = RefreshPlan("parts", "parts.yaml", SPEC, note=note, rebuild=rebuild or {})
        files.write_once(f"{run.directory}/plan.json", plan.to_json())
        return run

    def mark(self, run: epochs.Run, name: str, facts: dict[str, Any]) -> None:
        files.write_text(f"{run.directory}/marks/{name}.json", json.dumps(facts))
        events.emit(run.directory, "finished", phase=name, **facts)

    def capture(self, run: epochs.Run, uses: dict[str, Any] = FEED) -> None:
        self.mark(run, "capture-uses", uses)
        self.mark(run, "capture-banned", STILL)

    def maintain(self, run: epochs.Run, number: int, view: str, plus: int, minus: int, strategy: str = "dred") -> None:
        sides = {"plus": {"rows": plus, "path": None}, "minus": {"rows": minus, "path": None}}
        self.mark(run, f"stratum-{number}", {"strategy": strategy, "reason": "uses +3 -1", "seconds": 1.5, "rounds": 2,
                                             "rows_read": {"uses": 40}, "views": {view: sides}})  # fmt: skip

    def commit(
        self, run: epochs.Run, verification: dict[str, Any] = PASSED, quality: dict[str, Any] | None = None, **more: Any
    ) -> None:
        strata = [{"number": 1, "views": ["contains"], "strategy": "dred", "reason": "uses +3 -1", "seconds": 1.5,
                   "rounds": 2, "rows_read": {"uses": 40}},
                  {"number": 2, "views": ["tainted"], "strategy": "skip", "reason": "nothing", "seconds": 0.0,
                   "rounds": 0, "rows_read": {}}]  # fmt: skip
        views = {"contains": ViewPin("parts/contains", "id", run.seq, {"part": "bigint"}, 1200, 90, 10, "dred",
                                     "uses +3 -1"),
                 "tainted": ViewPin("parts/tainted", "id", 1, {"part": "bigint"}, 5, 0, 0, "skip", "none")}  # fmt: skip
        extra = {"strata": strata, "captures": {"uses": FEED, "banned": STILL}, "run": run.run_id,
                 "writing_seconds": 0.9, **more.pop("extra", {})}  # fmt: skip
        row = ManifestRow(
            run.seq, run.refresh_id, run.attempt_id, run.epoch, run.prev_seq, sources=run.sources, views=views,
            verification=from_plain(Verification, verification, "verify") if verification else None,
            quality=from_plain(QualityRecord, quality, "quality") if quality else None,
            extra=from_plain(Details, extra, "extra"), **more,
        )  # fmt: skip
        manifest.commit(self.layout, row)
        epochs.close_run(run, "committed")

    def night(self, refresh_id: str, verification: dict[str, Any] = PASSED, note: str = "", **more: Any) -> None:
        """A whole refresh that is published."""
        run = self.open(refresh_id, note)
        self.capture(run)
        self.commit(run, verification, **more)

    def fail(self, refresh_id: str, phase: str, error: BaseException, **marks: dict[str, Any]) -> epochs.Run:
        """A refresh that ends by `error`."""
        run = self.open(refresh_id)
        self.capture(run)
        if phase not in ("capture-uses", "stratum-1"):
            self.maintain(run, 1, "contains", 4, 2)
        for name, facts in marks.items():
            self.mark(run, name, facts)
        assert isinstance(error, (ForesetError, Exception, KeyboardInterrupt))
        events.emit(run.directory, "failed", phase=phase, **described(error, "parts"))
        epochs.close_run(run, "failed")
        return run
