"""Facts have types: no public signature takes or gives a mapping of anything, but where this list says why."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2] / "plugins" / "foreset"
UNTYPED = ("Mapping[str,Any]", "dict[str,Any]")

# Each file with its reason; the names are those of functions, methods, fields and aliases.
ALLOWED = {
    # JSON itself, on both sides of the one codec
    "records/codec.py": {"to_plain"},
    "records/versioned.py": {"to_text", "from_text", "checked"},
    "store/rows.py": {"encode", "decode", "ManifestRow.as_dict"},
    "store/events.py": {"read"},
    # plain data, as the public Python interface, `--json` and listeners have it
    "records/events.py": {"facts_of", "told"},
    "refresh/whole.py": {"RefreshResult.verification", "RefreshResult.sources", "RefreshResult.quality",
                         "RefreshResult.domains", "RefreshResult.as_dict"},
    "warehouse.py": {"Listener", "Warehouse.refresh", "Warehouse.edits", "Warehouse.status", "Warehouse.manifest"},
    "cli/progress.py": {"Event", "shown", "line"},
    "intake/run.py": {"Done.as_dict"},
    "questions/forecast.py": {"Forecast.as_dict"},
    # JSON that other programs write and read: Delta's log, Airflow, lark, JSON Schema, Great Expectations
    "store/capture/log.py": {"Metadata.of_action"},
    "store/delta.py": {"read_mark", "listed_files", "on_this_disk", "rows_in", "delta_schema", "commits_after",
                       "commits_before", "as_table_commit"},
    "store/files.py": {"read_commit"},
    "orchestrate/operators.py": {"StageOperator.execute"},
    "orchestrate/rest.py": {"Airflow.post", "Airflow.patch", "Airflow.call"},
    "orchestrate/runs.py": {"start", "outcome"},
    "reports/airflow_plugin.py": {"ForesetPlugin.fastapi_apps"},
    "reports/plugin.py": {"fastapi_apps", "external_views"},
    "spec/lalr.py": {"StopError.__init__", "_States", "Automaton.states"},
    "spec/schema.py": {"Json", "spec_schema", "schema_of"},
    "spec/expectation_schema.py": {"Json", "expectation_schema"},
    "spec/expectations.py": {"Reading.fits"},
    "ir/expectations.py": {"Expectation.arguments", "sentence"},
    # values of a query by the names of its parameters
    "backends/duckdb/tables.py": {"Sql.values"},
}  # fmt: skip


def untyped(tree: ast.Module) -> Iterator[str]:
    """The public names of a module whose types say no more than that keys are text."""
    aliases = {name for name, value in _aliases(tree) if _says_nothing(value, frozenset())}
    yield from aliases
    yield from _in(tree.body, "", frozenset(aliases))


def _aliases(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Subscript):
            yield from ((target.id, node.value) for target in node.targets if isinstance(target, ast.Name))


def _in(body: list[ast.stmt], prefix: str, aliases: frozenset[str]) -> Iterator[str]:
    for node in body:
        match node:
            case ast.ClassDef(name=name) if not name.startswith("_"):
                yield from _in(node.body, f"{name}.", aliases)
            case ast.FunctionDef(name=name) if not name.startswith("_") or name == "__init__":
                given = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
                if any(_says_nothing(kind, aliases) for kind in (node.returns, *(one.annotation for one in given))):
                    yield prefix + name
            case ast.AnnAssign(target=ast.Name(id=name), annotation=kind) if prefix and not name.startswith("_"):
                if _says_nothing(kind, aliases):
                    yield prefix + name


def _says_nothing(kind: ast.expr | None, aliases: frozenset[str]) -> bool:
    if kind is None:
        return False
    text = ast.unparse(kind).replace(" ", "")
    named = {node.id for node in ast.walk(kind) if isinstance(node, ast.Name)}
    return any(one in text for one in UNTYPED) or bool(named & aliases)


def test_facts_cross_modules_with_types() -> None:
    trees = {str(file.relative_to(ROOT)): ast.parse(file.read_text()) for file in sorted(ROOT.rglob("*.py"))}
    found = {file: names for file, tree in trees.items() if (names := set(untyped(tree)))}
    assert found == ALLOWED, "a type can stand there; or the list is longer than it need be"


def test_what_says_nothing_is_found() -> None:
    source = """
Facts = Mapping[str, Any]
Names = dict[str, str]
def told(one: Facts) -> None: ...
def named(one: Names) -> Mapping[str, int]: ...
def _inside(one: Facts) -> None: ...
class Kept:
    facts: dict[str, Any]
    rows: int
    def given(self, *, more: Mapping[str, Any] | None = None) -> None: ...
"""
    assert set(untyped(ast.parse(source))) == {"Facts", "told", "Kept.facts", "Kept.given"}
