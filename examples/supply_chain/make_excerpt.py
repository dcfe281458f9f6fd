"""Make the sample warehouse's data from Debian package indexes.

    python examples/supply_chain/make_excerpt.py [--lists DIR] [--suite bookworm] [--out DIR]

Reads three `Packages` indexes as `apt-get update` leaves them: the stable suite, its
security suite and its updates suite. Day 1 is the stable suite alone. Day 2 is what a
machine sees that also has the other two: per package name the highest version wins.
Both days are cut to the same names: the names in roots.txt and whatever they depend on.

The output depends on the indexes only: rows are distinct and sorted, gzip files carry no
time. `.lz4` indexes, apt's usual form, need the `lz4` tool; plain, .gz and .xz do not.
"""

import argparse
import csv
import gzip
import hashlib
import io
import lzma
import re
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from email.utils import parseaddr, parsedate_to_datetime
from functools import cache
from itertools import islice
from pathlib import Path

from read import HERE, TABLES, Row, read_day1, read_day2

Stanza = Mapping[str, str]
Index = dict[str, Stanza]
Snapshot = dict[str, set[Row]]
PartKey = tuple[int | tuple[int, ...], ...]
VersionKey = tuple[int, PartKey, PartKey]

_TEAM = re.compile(r"team|maintainers|group|packagers", re.IGNORECASE)
_CONSTRAINT = re.compile(r"(?P<name>[^\s:(]+)(?::\w+)?\s*(?:\((?P<op>[<=>]+)\s*(?P<version>[^)]+)\))?")


def main() -> None:
    """Write the excerpt, then read it back and compare it with the second snapshot."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--lists", type=Path, default=Path("/var/lib/apt/lists"))
    parser.add_argument("--suite", default="bookworm")
    parser.add_argument("--out", type=Path, default=HERE)
    args = parser.parse_args()

    paths = [find_index(args.lists, args.suite + part) for part in ("", "-security", "-updates")]
    stable, security, updates = (list(read_stanzas(path)) for path in paths)
    before, after = newest(stable), newest([*stable, *security, *updates])
    names = closure((HERE / "roots.txt").read_text().split(), before, after)
    first, second = facts(before, names), facts(after, names)
    fixes = {(source_of(stanza), source_version_of(stanza)) for stanza in security}
    dates = [release_date(path) for path in paths]
    add_advisories(first, second, fixes, (dates[0], max(dates)))
    write(args.out, first, second)
    verify(args.out, second)


def verify(folder: Path, second: Snapshot) -> None:
    """Check that the written changes lead from the written day 1 to the second snapshot."""
    day1 = read_day1(folder)
    for table, (insert, delete) in read_day2(folder).items():
        old = set(day1[table])
        assert old.isdisjoint(insert), table
        assert old.issuperset(delete), table
        assert (old - set(delete)) | set(insert) == second[table], table
        print(f"{table:12} day 1: {len(old):6}  day 2: +{len(insert)} -{len(delete)}")


def find_index(lists: Path, suite: str) -> Path:
    """Return the one `main` index of `suite` among apt's lists."""
    found = sorted(lists.glob(f"*_dists_{suite}_main_binary-amd64_Packages*"))
    if len(found) != 1:
        raise SystemExit(f"{lists}: expected one index of {suite} main, found {len(found)}")
    return found[0]


def release_date(index: Path) -> date:
    """Return the date of the release file that apt keeps beside `index`."""
    release = index.with_name(index.name.partition("_main_")[0] + "_InRelease")
    match = re.search(r"^Date: (.+)$", release.read_text(encoding="utf-8"), re.MULTILINE)
    assert match is not None, release
    return parsedate_to_datetime(match[1].replace("UTC", "+0000")).date()


def read_stanzas(path: Path) -> Iterator[Stanza]:
    """Yield the stanzas of an index: field name to value, continuation lines left out."""
    stanza: dict[str, str] = {}
    for line in decompress(path).decode("utf-8").splitlines():
        if line[:1] in (" ", "\t"):
            continue
        if line:
            field, _, value = line.partition(":")
            stanza[field] = value.strip()
        elif stanza:
            yield stanza
            stanza = {}
    if stanza:
        yield stanza


def decompress(path: Path) -> bytes:
    """Return the plain bytes of an index, whichever way apt packed it."""
    if path.suffix == ".lz4":
        return subprocess.run(["lz4", "-dc", path], check=True, capture_output=True).stdout
    data = path.read_bytes()
    unpack = {".gz": gzip.decompress, ".xz": lzma.decompress}
    return unpack[path.suffix](data) if path.suffix in unpack else data


@cache
def version_key(version: str) -> VersionKey:
    """Return a key that sorts versions as Debian does (policy, section 5.6.12)."""
    epoch, _, rest = version.rpartition(":")
    upstream, _, revision = rest.rpartition("-") if "-" in rest else (rest, "", "")
    return int(epoch or 0), _part_key(upstream), _part_key(revision)


def _part_key(text: str) -> PartKey:
    """Alternate words and numbers; `~` sorts before the end, letters before other signs."""
    key: list[int | tuple[int, ...]] = []
    for word, digits in re.findall(r"(\D*)(\d*)", text):
        key.append((*(_sign_order(sign) for sign in word), 0))
        key.append(int(digits or 0))
    return tuple(key)


def _sign_order(sign: str) -> int:
    if sign == "~":
        return -1
    return ord(sign) if sign.isalpha() else ord(sign) + 256


def newest(stanzas: Iterable[Stanza]) -> Index:
    """Return the highest version of every package name, as apt would choose it."""
    index: Index = {}
    for stanza in stanzas:
        name = stanza["Package"]
        if name not in index or version_key(stanza["Version"]) > version_key(index[name]["Version"]):
            index[name] = stanza
    return index


# --- choosing the packages


def closure(roots: Iterable[str], before: Index, after: Index) -> set[str]:
    """Return the roots and what they need on either day, and the new kernels of day 2.

    Of alternatives the first two that exist are followed (an installer takes one of them);
    for a virtual package its alphabetically first provider.
    """
    kernels = {source_of(before["linux-image-amd64"]), source_of(after["linux-image-amd64"])}
    todo = [*roots, *(name for name in after.keys() - before.keys() if source_of(after[name]) in kernels)]
    names: set[str] = set()
    providers = _providers(before), _providers(after)
    while todo:
        name = todo.pop()
        if name in names:
            continue
        names.add(name)
        for index, provider in zip((before, after), providers, strict=True):
            for clause in clauses(index.get(name, {})):
                options = (provider[target] for _, target, _, _ in clause if target in provider)
                todo.extend(islice(options, 2))
    return names


def _providers(index: Index) -> dict[str, str]:
    """Return for each name, real or virtual, the package to take for it."""
    chosen: dict[str, str] = {}
    for name in sorted(index):
        for virtual, _, _ in constraints(index[name].get("Provides", "")):
            chosen.setdefault(virtual, name)
    return chosen | {name: name for name in index}


# --- from stanzas to rows


def clauses(stanza: Stanza) -> Iterator[list[tuple[str, str, str, str]]]:
    """Yield what must be met, each as its alternatives: kind, target, relation, version."""
    for field in ("Pre-Depends", "Depends"):
        for clause in filter(None, stanza.get(field, "").split(",")):
            yield [(field.lower(), *constraint) for part in clause.split("|") for constraint in constraints(part)]


def constraints(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield name, relation and version of a comma-separated list; architectures are dropped."""
    for part in filter(None, map(str.strip, text.split(","))):
        match = _CONSTRAINT.fullmatch(part)
        if match is None:
            raise ValueError(f"not a package constraint: {part!r}")
        yield match["name"], match["op"] or "", match["version"] or ""


def source_of(stanza: Stanza) -> str:
    """Return the name of the source package."""
    return stanza.get("Source", stanza["Package"]).partition(" ")[0]


def source_version_of(stanza: Stanza) -> str:
    """Return the version of the source package; it differs after a rebuild."""
    match = re.search(r"\((.+)\)", stanza.get("Source", ""))
    return match[1] if match else stanza["Version"]


def maintainer_of(stanza: Stanza) -> tuple[str, str]:
    """Return the maintainer's name and kind: orphaned, team or person. No address is kept."""
    name, address = parseaddr(stanza["Maintainer"])
    user, _, host = address.lower().partition("@")
    if host.startswith("qa."):
        return name, "orphaned"
    team = "list" in host or "tracker" in host or user.startswith("pkg-") or _TEAM.search(name)
    return name, "team" if team else "person"


def facts(index: Index, names: set[str]) -> Snapshot:
    """Return the tables of one day, without the advisories."""
    rows: Snapshot = defaultdict(set)
    for name in sorted(names & index.keys()):
        stanza = index[name]
        maintainer = maintainer_of(stanza)
        source = source_of(stanza), source_version_of(stanza)
        size = int(stanza.get("Installed-Size", 0))
        section = stanza["Section"]
        rows["package"].add((name, stanza["Version"], *source, section, size, maintainer[0]))
        rows["maintainer"].add(maintainer)
        for number, clause in enumerate(clauses(stanza), start=1):
            for kind, *constraint in clause:
                rows["depends"].add((name, kind, number, *constraint))
        for virtual, _, version in constraints(stanza.get("Provides", "")):
            rows["provides"].add((name, virtual, version))
        for field in ("Conflicts", "Breaks"):
            for target, relation, version in constraints(stanza.get(field, "")):
                rows["conflicts"].add((name, field.lower(), target, relation, version))
        for field in ("Built-Using", "Static-Built-Using"):
            for built_from, _, version in constraints(stanza.get(field, "")):
                rows["built_using"].add((name, built_from, version))
    return rows


def add_advisories(first: Snapshot, second: Snapshot, fixes: set[tuple[str, str]], days: tuple[date, date]) -> None:
    """Add an advisory per source version in the security index, and the versions it affects.

    Day 1 knows those that stable already contains, and half of the others (by a digest of
    the source's name); day 2 learns the rest. The dates are those of the release files.
    """
    in_stable = _source_versions(first)
    now = _source_versions(second)
    seen = {source: in_stable.get(source, set()) | now.get(source, set()) for source in in_stable.keys() | now.keys()}
    for source, fixed in sorted(fixes):
        if source not in seen:
            continue
        key = version_key(fixed)
        merged = any(version_key(v) >= key for v in in_stable.get(source, ()))
        early = merged or hashlib.sha256(source.encode()).digest()[0] % 2 == 0
        advisory = f"SEC:{source}:{fixed}"
        for snapshot in (first, second) if early else (second,):
            snapshot["advisory"].add((advisory, source, fixed, days[0 if early else 1]))
            snapshot["affects"] |= {(advisory, source, v) for v in seen[source] if version_key(v) < key}


def _source_versions(snapshot: Snapshot) -> dict[str, set[str]]:
    """Return the versions of every source that packages are built from, or contain."""
    versions: dict[str, set[str]] = defaultdict(set)
    for row in snapshot["package"]:
        versions[str(row[2])].add(str(row[3]))
    for row in snapshot["built_using"]:
        versions[str(row[1])].add(str(row[2]))
    return versions


def write(out: Path, first: Snapshot, second: Snapshot) -> None:
    """Write day 1 in full and day 2 as signed changes."""
    for table, columns in TABLES.items():
        old, new = first[table], second[table]
        _write_csv(out / "day1" / f"{table}.csv.gz", list(columns), sorted(old))
        changes = [("+", *row) for row in sorted(new - old)]
        changes += [("-", *row) for row in sorted(old - new)]
        _write_csv(out / "day2" / f"{table}.csv.gz", ["op", *columns], changes)


def _write_csv(path: Path, header: list[str], rows: Iterable[Row]) -> None:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([header, *rows])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(text.getvalue().encode("utf-8"), mtime=0))


if __name__ == "__main__":
    main()
