"""The page of a DAG, written from its spec: for people who did not write the rules."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from foreset.ir.hidden import all_in_words
from foreset.ir.program import Column, Program, Source, View
from foreset.ir.strata import Layering, Stratum
from foreset.ir.text import as_written

MOST_NAMES = 3
WHAT_A_RUN_DOES = (
    "Each run finds what the sources gained and lost, computes the exact insertions and deletions of every view, "
    "checks a sample by recomputation and the data by expectations, and then publishes all views at once."
)


def page(program: Program, layering: Layering, pages: str = "") -> str:
    """What a group in written form is for, when it runs, in which order, and by which rules.

    `pages` is where the plugin serves the group's pages: the picture and the page of each view.
    """
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
        *(_picture(pages) if pages else []),
        "## Strata",
        "Views that read each other form a stratum. Strata without a path between them run side by side.",
        _table(
            ("stratum", "views", "reads", "strategy", "kind"),
            [_stratum(stratum) for stratum in layering.strata],
        ),
        "## Sources",
        *(_source(source) for source in program.sources),
        "## Views",
        *(_view(view, pages) for view in program.views),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _picture(pages: str) -> Sequence[str]:
    """The picture, and the way to its full size: Airflow shows pictures small."""
    more = f"[The picture in full]({pages}/views.svg). [What the last refreshes did]({pages})."
    return f"[![What reads what]({pages}/views.svg)]({pages}/views.svg)", more


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


def _source(source: Source) -> str:
    origin = f"View {code(source.view)}" if source.view is not None else f"Table {code(str(source.table))}"
    about = [text(source.description)] if source.description else []
    return "\n\n".join([f"### {source.name}", *about, origin, _columns(source.columns)])


def _view(view: View, pages: str) -> str:
    rules = "\n".join(as_written(rule) for rule in view.rules)
    fence = "~~~~"  # with a language: without one, Airflow shows code in one line
    about = [text(view.description)] if view.description else []
    more = [f"[Rows, freshness, tests and history of {view.name}]({pages}/views/{view.name})"] if pages else []
    exported = ["Also exported as a plain Delta table."] if view.export else []
    return "\n\n".join(
        [f"### {view.name}", *about, _columns(view.columns), f"{fence}text\n{rules}\n{fence}", *exported, *more]
    )


def _columns(columns: Sequence[Column]) -> str:
    """Columns in a line, or in a table where the spec says what they mean."""
    if not any(column.description for column in columns):
        return ", ".join(f"{code(column.name)} {column.type}" for column in columns)
    rows = [(code(column.name), str(column.type), text(column.description)) for column in columns]
    return _table(("column", "type", "meaning"), rows)


def _codes(names: Iterable[str]) -> str:
    return ", ".join(code(name) for name in names)


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
