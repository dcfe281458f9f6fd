"""`python -m bench.house`: what shows whether the house is in order, counted in the code and in one small refresh.

- *lines*: of `plugins/`, its files and functions.
- *order of phases*: files in which one definition names four phases of a refresh or more, other than to say
  something of each (`match`, keys of a dictionary).
- *feeding a stratum*: functions, those of tests and benchmarks too, that make a machine which runs steps.
- *compilers of rule bodies*: modules that go through the literals of a body to evaluate it. `COMPILERS` and `READERS`
  are kept by hand; a module of these packages that is in neither is an error.
- *main line*: files that hand work on in a warm one-edge refresh of a closure by `foreset refresh`: below one call of
  them, functions of at least `HANDED_ON` other files run. (Counted by hand in house.md: 48 files at 1699e4e.)
- *what runs*: of the same refresh from Python, every file and function of the package, in all threads. Comprehensions
  belong to the function that they stand in.

It takes the package that `import foreset` finds, so with PYTHONPATH it counts another checkout.
"""

from __future__ import annotations

import argparse
import ast
import io
import statistics
import sys
import tempfile
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from textwrap import fill
from types import CodeType, FrameType

import pyarrow as pa
from deltalake import write_deltalake

import foreset

PACKAGE = Path(foreset.__file__).resolve().parent
ROOT = PACKAGE.parents[1]
HANDED_ON = 4
SPEC = """\
group: reach
sources:
  edge: {table: sales/edge, columns: {src: string, dst: string}}
views:
  closure:
    columns: {src: string, dst: string}
    rules:
      - closure(X, Y) :- edge(X, Y)
      - closure(X, Y) :- edge(X, Z), closure(Z, Y)
"""
PHASES = {"capture": "capture", "capture_all": "capture", "maintain": "strata", "insert": "strata", "delete": "strata",
          "run_strata": "strata", "strata": "strata", "verify": "verify", "quality": "quality", "commit": "commit",
          "publish": "publish"}  # fmt: skip
NAMED = 4  # phases: who names as many, outside of what it says of each, knows their order

# Modules that read the literals of bodies in the packages that evaluate rules. Those that decide in which order and by
# which columns they are met:
COMPILERS = {
    "machine.literals": "the machine's, for every backend and for `explain`",
    "oracle.naive": "the oracle's",
    "verify.binding_order": "verification's, for goals, batches, queries and questions",
    "mediated.derive": "of constrained atoms, whose rows are not values",
}
# Those that do as one of these says, or only look:
READERS = {
    "machine.links": "finds what a support stands on",
    "backends.spark.trace_failure": "finds the row at which an expression fails",
    "questions.bodies": "one row's derivations, and what lacks",
    "questions.proofs": "derivations of a row, by bodies",
    "questions.why_not": "says in words what a rule lacks",
    "verify.batches": "many bindings at once",
    "verify.linear_recursion": "finds columns that a recursion hands on",
    "verify.origins": "where values of columns come from",
    "verify.queries": "large groups, by one query",
    "verify.tabling": "goal by goal, by batches",
}
EVALUATING = ("backends", "engine", "inproc", "machine", "mediated", "oracle", "questions", "reference", "verify")


# ---------------------------------------------------------------- what stands in the code
@cache
def trees(folder: Path) -> tuple[tuple[str, ast.Module], ...]:
    """Every module below a folder, by its dotted name."""
    files = ((".".join(file.relative_to(folder).with_suffix("").parts), file) for file in sorted(folder.rglob("*.py")))
    return tuple((name.removesuffix(".__init__"), ast.parse(file.read_text(encoding="utf-8"))) for name, file in files)


def lines() -> str:
    """How much there is."""
    texts = [file.read_text(encoding="utf-8") for file in sorted((ROOT / "plugins").rglob("*.py"))]
    long = sorted(len(text.splitlines()) for text in texts)
    functions = sum(isinstance(node, ast.FunctionDef) for text in texts for node in ast.walk(ast.parse(text)))
    return (
        f"{sum(long):,} lines in {len(long)} files (median {statistics.median(long):.0f}, longest {long[-1]}), "
        f"{functions:,} functions"
    )


def phase_orders() -> list[str]:
    """Files that know the order of phases."""
    return [name for name, tree in trees(PACKAGE) if any(len(_named(one)) >= NAMED for one in tree.body)]


def _named(node: ast.AST) -> set[str]:
    """The phases that a definition names or calls, other than to say or do something for each."""
    if isinstance(node, ast.Match):
        return set().union(*(_named(line) for case in node.cases for line in case.body))
    if isinstance(node, ast.Dict):
        return set().union(*map(_named, node.values)) if not _texts(node.values) else set()
    found = {PHASES[word] for word in _words(node) if word in PHASES}
    return found.union(*map(_named, ast.iter_child_nodes(node)))


def _texts(nodes: list[ast.expr]) -> bool:
    return all(isinstance(one, ast.Constant | ast.JoinedStr) for one in nodes)


def _words(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    if isinstance(node, ast.Call):
        yield _last_name(node.func)
    if isinstance(node, ast.Name) and node.id.isupper():
        yield node.id.lower()


def _last_name(node: ast.AST) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def feeders() -> list[str]:
    """Functions that make a machine which runs steps."""
    machines = {
        (f"foreset.{name}", part.name)
        for name, tree in trees(PACKAGE)
        for part in tree.body
        if isinstance(part, ast.ClassDef) and any(_runs_steps(one) for one in part.body)
    }
    found = []
    for top in ("plugins/foreset", "tests", "bench"):
        for name, tree in trees(ROOT / top):
            shown = name if top == "plugins/foreset" else f"{top}.{name}"
            known = {machine for module, machine in machines if module == f"foreset.{name}"}
            for node in ast.walk(tree):
                if isinstance(node, ast.ImportFrom):
                    known |= {one.asname or one.name for one in node.names if (node.module, one.name) in machines}
            functions = [node for node in ast.walk(tree) if known and isinstance(node, ast.FunctionDef)]
            found += [f"{shown}:{one.name}" for one in functions if known & set(_called(one))]
    return found


def _called(node: ast.AST) -> Iterator[str]:
    return (_last_name(one.func) for one in ast.walk(node) if isinstance(one, ast.Call))


def _runs_steps(node: ast.AST) -> bool:
    """Whether it is a method `run` of a phase or of a procedure, with a body of its own."""
    if not isinstance(node, ast.FunctionDef) or node.name != "run":
        return False
    given = [*node.args.args, *([node.args.vararg] if node.args.vararg else [])]
    taken = {_last_name(one.annotation) for one in given if one.annotation}
    stub = isinstance(node.body[-1], ast.Expr) and isinstance(node.body[-1].value, ast.Constant)
    return bool(taken & {"Phase", "Procedure"}) and not stub


def compilers() -> list[str]:
    """Modules that evaluate rule bodies, each of which is known; raises for one that is not."""
    found = [name for name, tree in trees(PACKAGE) if name.startswith(EVALUATING) and _matches_literals(tree)]
    unknown = sorted(set(found) - set(COMPILERS) - set(READERS))
    gone = sorted((set(COMPILERS) | set(READERS)) - {name for name, _ in trees(PACKAGE)})
    if unknown or gone:
        raise SystemExit(f"bench/house.py: not in its lists: {unknown}; not in the package any more: {gone}")
    return [f"{name} ({what})" for name, what in COMPILERS.items()]


def _matches_literals(tree: ast.Module) -> bool:
    """Whether a module tells the kinds of literals apart."""
    for node in ast.walk(tree):
        if isinstance(node, ast.MatchClass) and _last_name(node.cls) in ("Atom", "Negation"):
            return True
        if isinstance(node, ast.Call) and _last_name(node.func) == "isinstance":
            kinds = {_last_name(one) for one in ast.walk(node.args[1])}
            if kinds & {"Atom", "Negation"}:
                return True
    return False


# ---------------------------------------------------------------- what runs
@dataclass(slots=True)
class Seen:
    """What ran, by code object, and which files each file handed work on to."""

    codes: dict[CodeType, None] = field(default_factory=dict)  # in the order of their first calls
    reach: dict[str, int] = field(default_factory=lambda: defaultdict(int))  # by file: files below one call of it
    _local: threading.local = field(default_factory=threading.local)

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        """As `sys.setprofile` calls it."""
        stack = vars(self._local).setdefault("stack", [])
        if event == "call":
            stack.append({frame.f_code.co_filename} if _ours(frame.f_code) else set())
            if _ours(frame.f_code):
                self.codes.setdefault(frame.f_code)
        elif event == "return" and stack:
            below = stack.pop()
            file = frame.f_code.co_filename
            if _ours(frame.f_code):
                self.reach[file] = max(self.reach[file], len(below - {file}))
            if stack:
                stack[-1] |= below

    def files(self) -> dict[str, list[str]]:
        """Functions by file."""
        found: dict[str, set[str]] = defaultdict(set)
        for code in self.codes:
            names = {code.co_qualname} if not code.co_name.startswith("<") or code.co_name == "<lambda>" else set()
            found[_short(code.co_filename)] |= names
        return {file: sorted(found[file]) for file in sorted(found)}

    def main_line(self) -> list[str]:
        """Files that hand work on."""
        return sorted(_short(file) for file, files in self.reach.items() if files >= HANDED_ON)


def _ours(code: CodeType) -> bool:
    return code.co_filename.startswith(str(PACKAGE))


def _short(file: str) -> str:
    return str(Path(file).relative_to(PACKAGE))


def profiled(refresh: Callable[[Path], object]) -> Seen:
    """A refresh of a closure after one edge has come, in a process that has refreshed before."""
    with tempfile.TemporaryDirectory(prefix="foreset-house-") as place:
        root = Path(place)
        (root / "specs").mkdir()
        (root / "specs/reach.yaml").write_text(SPEC, encoding="utf-8")
        for edges in ("fe ed ea ab dc bc cg", "xy"):
            _insert(root, edges)
            refresh(root)
        _insert(root, "yz")
        seen = Seen()
        threading.setprofile(seen)
        sys.setprofile(seen)
        try:
            refresh(root)
        finally:
            sys.setprofile(None)
            threading.setprofile(None)  # type: ignore[arg-type]
        return seen


def _insert(root: Path, edges: str) -> None:
    table = pa.table({"src": [edge[0] for edge in edges.split()], "dst": [edge[1] for edge in edges.split()]})
    write_deltalake(root / "wh/sales/edge", table, mode="append", configuration={"delta.enableChangeDataFeed": "true"})


def from_python(root: Path) -> object:
    """As a program refreshes."""
    return foreset.open(str(root / "wh"), str(root / "specs"), "nowhere").refresh("reach")


def from_cli(root: Path) -> object:
    """As a person does."""
    from foreset.cli.app import run

    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        return run(["refresh", "reach", "--warehouse", str(root / "wh"), "--specs", str(root / "specs")])


# ---------------------------------------------------------------- the report
def main() -> None:
    """Count and print."""
    given = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    given.add_argument("--functions", action="store_true", help="name every function that runs")
    with_functions = given.parse_args().functions
    sys.stdout.write(f"lines: {lines()}\n")
    for title, found in (("order of phases", phase_orders()), ("feeding a stratum", feeders()),
                         ("compilers of rule bodies", compilers())):  # fmt: skip
        sys.stdout.write(f"{title}: {len(found)}\n" + "".join(f"  {one}\n" for one in found))
    line = profiled(from_cli).main_line()
    sys.stdout.write(f"main line of `foreset refresh reach`: {len(line)} files\n" + _by_package(line))
    files = profiled(from_python).files()
    functions = sum(map(len, files.values()))
    sys.stdout.write(f"a warm one-edge refresh from Python: {len(files)} files, {functions} functions\n")
    sys.stdout.write(_functions(files) if with_functions else _by_package(list(files)))


def _by_package(files: list[str]) -> str:
    found: dict[str, list[str]] = defaultdict(list)
    for file in files:
        found[str(Path(file).parent)].append(Path(file).stem)
    told = (f"{package} {len(names)}: {' '.join(names)}" for package, names in sorted(found.items()))
    return "".join(fill(one, 118, initial_indent="  ", subsequent_indent="    ") + "\n" for one in told)


def _functions(files: dict[str, list[str]]) -> str:
    return "".join(f"  {file} {len(names)}: {' '.join(names)}\n" for file, names in files.items())


if __name__ == "__main__":
    main()
