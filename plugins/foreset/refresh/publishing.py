"""Publish: tell those who wait, once the manifest says it. So far: exports for tools that cannot resolve."""

from __future__ import annotations

from foreset.plan.marks import PUBLISH
from foreset.records.commits import PublishRecord
from foreset.refresh.context import Context, Stopwatch
from foreset.store import exports, manifest


def publish(context: Context) -> PublishRecord:
    """Bring the exports up to the newest seq; may be repeated, and never changes what was committed."""
    done = context.mark(PUBLISH)
    if done is not None:
        return done
    watch = Stopwatch()
    views = [view.name for view in context.program.views if view.export]
    named = context.layout.root, context.layout.group, context.run.refresh_id
    row = manifest.find_refresh(*named) if views else None
    shown = exports.bring_up(context.layout, views, row) if row is not None else {}
    return context.finish(PUBLISH, PublishRecord(shown, watch.seconds))
