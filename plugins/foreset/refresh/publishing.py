"""Publish: tell those who wait, once the manifest says it. So far: exports for tools that cannot resolve."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from foreset.refresh.context import Context, Stopwatch
from foreset.store import exports, manifest


def publish(context: Context) -> Mapping[str, Any]:
    """Bring the exports up to the newest seq; may be repeated, and never changes what was committed."""
    done = context.mark("publish")
    if done is not None:
        return done
    watch = Stopwatch()
    views = [view.name for view in context.program.views if view.export]
    named = context.layout.root, context.layout.group, context.run.refresh_id
    row = manifest.find_refresh(*named) if views else None
    shown = exports.bring_up(context.layout, views, row) if row is not None else {}
    return context.finish("publish", {"exports": shown, "seconds": watch.seconds})
