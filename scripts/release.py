"""Makes a release: checks, versions, changelog, a commit and a tag. `make release VERSION=X.Y.Z` also builds it.

    python scripts/release.py 0.2.0           writes and commits
    python scripts/release.py 0.2.0 --tag     tags what was committed, once it has been built; nothing is pushed
    python scripts/release.py 0.2.0 --check   says what is in the way

Pushing the tag starts .github/workflows/release.yml, which builds the same and publishes it.
"""

from __future__ import annotations

import argparse
import datetime
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
UNRELEASED = "## [Unreleased]"
DEPRECATED = re.compile(r"^### Deprecated\n(.*?)(?=^##|\Z)", re.DOTALL | re.MULTILINE)
UNTIL = re.compile(r"\buntil (\d+)\.(\d+)\b")

Version = tuple[int, int, int]


def parse(text: str) -> Version:
    """`X.Y.Z`."""
    if not (found := re.fullmatch(r"(\d+)\.(\d+)\.(\d+)", text)):
        raise SystemExit(f"{text} is not a version: X.Y.Z")
    return int(found[1]), int(found[2]), int(found[3])


def overdue(changelog: str, version: Version) -> Iterator[str]:
    """What was to be gone by this version, and what was deprecated without saying until when."""
    for section in DEPRECATED.findall(changelog):
        for entry in re.split(r"^- ", section, flags=re.MULTILINE)[1:]:
            line = " ".join(entry.split())
            if not (found := UNTIL.search(line)):
                yield f"deprecated without `until X.Y`: {line}"
            elif (int(found[1]), int(found[2])) <= version[:2] and "(gone)" not in line:
                yield f"should be gone: {line}"


def problems(version: Version, root: Path = ROOT) -> Iterator[str]:
    """What is in the way of a release."""
    changelog = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    if version <= parse(present(root)) and f"## [{present(root)}]" in changelog:
        yield f"{present(root)} has been released: a version comes after it"
    if UNRELEASED not in changelog:
        yield f"CHANGELOG.md has no {UNRELEASED}"
    elif not changelog.split(UNRELEASED, 1)[1].split("\n## ", 1)[0].strip():
        yield "CHANGELOG.md says nothing of this version"
    yield from overdue(changelog, version)
    if git(root, "status", "--porcelain", "--untracked-files=no"):
        yield "there are changes that are not committed"
    if git(root, "tag", "--list", name(version)):
        yield f"the tag {name(version)} is there"


def name(version: Version) -> str:
    """The tag."""
    return "v" + ".".join(map(str, version))


def present(root: Path) -> str:
    """The version as it stands in Cargo.toml."""
    found = re.search(r'^version = "([^"]+)"$', (root / "Cargo.toml").read_text(encoding="utf-8"), re.MULTILINE)
    assert found
    return found[1]


def write(version: Version, root: Path = ROOT, today: datetime.date | None = None) -> list[Path]:
    """Puts version and date where they stand, and returns the files."""
    new, old = name(version)[1:], present(root)
    day = (today or datetime.datetime.now(tz=datetime.UTC).date()).isoformat()
    changes = {
        # The workspace's version, and what its crates ask of each other.
        "Cargo.toml": [(rf'^(version = |midpath-.*version = )"{re.escape(old)}"', rf'\1"{new}"')],
        "CITATION.cff": [
            (r"^version: .*$", f"version: {new}"),
            (r"^(date-released: .*\n)?license:", f"date-released: {day}\nlicense:"),
        ],
        "CHANGELOG.md": [(rf"^{re.escape(UNRELEASED)}$", f"{UNRELEASED}\n\n## [{new}] – {day}")],
        "python/midpath/citing.py": [(r"year = \{\{\d{4}\}\}", f"year = {{{{{day[:4]}}}}}")],
    }
    for file, edits in changes.items():
        path = root / file
        text = path.read_text(encoding="utf-8")
        for pattern, put in edits:
            text, count = re.subn(pattern, put, text, flags=re.MULTILINE)
            if not count:
                raise SystemExit(f"{file}: nothing matches {pattern}")
        path.write_text(text, encoding="utf-8")
    return [root / file for file in changes]


def git(root: Path, *arguments: str) -> str:
    """What git prints."""
    return subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True, text=True).stdout.strip()


def tag(version: Version, root: Path = ROOT) -> int:
    """Tags this version's commit, unless something else is checked out or changed."""
    if present(root) != name(version)[1:] or git(root, "status", "--porcelain", "--untracked-files=no"):
        print(f"this is not the commit of {name(version)[1:]}", file=sys.stderr)
        return 1
    git(root, "tag", "--annotate", name(version), "--message", f"Midpath {name(version)[1:]}")
    print(f"{name(version)} is tagged; git push --follow-tags publishes it")
    return 0


def main() -> int:
    """Checks; then, unless that was all, writes and commits."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("version", type=parse)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--tag", action="store_true")
    given = parser.parse_args()
    if given.tag:
        return tag(given.version)
    if found := list(problems(given.version)):
        print("\n".join(found), file=sys.stderr)
        return 1
    if given.check:
        return 0
    files = write(given.version)
    for folder in (ROOT, ROOT / "fuzz", ROOT / "stacks"):
        subprocess.run(["cargo", "update", "--workspace", "--quiet"], cwd=folder, check=True)
    git(ROOT, "add", "Cargo.lock", "fuzz/Cargo.lock", "stacks/Cargo.lock", *map(str, files))
    git(ROOT, "commit", "--message", f"Version {name(given.version)[1:]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
