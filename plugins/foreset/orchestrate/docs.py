"""The page of a DAG, written from its spec: for people who did not write the rules."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from foreset.ir.hidden import all_in_words
from foreset.ir.program import Column, Program, Source, View
from foreset.ir.strata import Layering, Stratum
from foreset.ir.supports import unfolded
from foreset.ir.text import print_rule

MOST_NAMES = 3
WHAT_A_RUN_DOES = (
    "Each run finds what the sources gained and lost, computes the exact insertions and deletions of every view, "
    "checks a sample by recomputation and the data by expectations, and then publishes all views at once."
)


def page(program: Program, layering: Layering) -> str:
    """What the group is for, when it runs, in which order, and by which rules."""
    parts = [
        f"# {program.group}",
        text(program.description),
        _table(
            ("owner", "schedule", "sources", "views", "strata"),
            [
                (
                    text(program.owner) or "-",
                    when(program),
                    str(len(program.sources)),
                    str(len(program.shown)),
                    str(len(layering.strata)),
                )
            ],
        ),
        WHAT_A_RUN_DOES,
        "## Strata",
        "Views that read each other form a stratum. Strata without a path between them run side by side.",
        _table(
            ("stratum", "views", "reads", "strategy", "kind"),
            [_stratum(stratum) for stratum in layering.strata],
        ),
        "## Sources",
        _table(("source", "table or view", "columns", "about"), [_source(source) for source in program.sources]),
        "## Views",
        *(_view(view) for view in unfolded(program.views) if not view.hidden),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def title(stratum: Stratum) -> str:
    """A stratum in the graph: its views, and the strategy that they declare."""
    names = list(stratum.shown[:MOST_NAMES])
    if len(stratum.shown) > MOST_NAMES:
        names.append(f"+{len(stratum.shown) - MOST_NAMES}")
    return f"{stratum.number} · {', '.join(names)} · {stratum.views[0].strategy}"


def kind(stratum: Stratum) -> str:
    """What strategies may rely on, in words."""
    words = ["recursive"] if stratum.recursive else ["not recursive"]
    words.append("insertions never delete" if stratum.monotone else "uses `not`")
    return ", ".join(words)


def when(program: Program) -> str:
    """The schedule in words."""
    if program.schedule is None:
        return "when a source changes, or by hand"
    return f"`{program.schedule}` ({text(program.timezone)}), and when a source changes"


def text(words: str | None) -> str:
    """Words of a spec as Markdown shows them: nothing in them is markup."""
    plain = " ".join((words or "").split())
    return "".join(f"\\{char}" if char in "\\`*_{}[]<>()#+-!|~" else char for char in plain)


def code(words: str) -> str:
    """A name or path as code, inside a table."""
    return "`" + words.replace("`", "'").replace("|", "\\|") + "`"


def _stratum(stratum: Stratum) -> Sequence[str]:
    return (
        str(stratum.number),
        _codes(stratum.shown),
        _codes(all_in_words(stratum.reads)),
        code(stratum.views[0].strategy),
        kind(stratum),
    )


def _source(source: Source) -> Sequence[str]:
    origin = f"view {code(source.view)}" if source.view is not None else code(str(source.table))
    return code(source.name), origin, _columns(source.columns), text(source.description)


def _view(view: View) -> str:
    rules = "\n".join(print_rule(rule) + "." for rule in view.rules)
    fence = "~~~~"
    about = [text(view.description)] if view.description else []
    exported = ["Also exported as a plain Delta table."] if view.export else []
    return "\n\n".join([f"### {view.name}", *about, _columns(view.columns), f"{fence}\n{rules}\n{fence}", *exported])


def _columns(columns: Iterable[Column]) -> str:
    return ", ".join(f"{code(column.name)} {column.type}" for column in columns)


def _codes(names: Iterable[str]) -> str:
    return ", ".join(code(name) for name in names)


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
