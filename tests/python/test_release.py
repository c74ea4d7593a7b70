"""What makes a release: versions, what must be gone by then, licences, what is left out."""

import base64
import datetime
import hashlib
import json
import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile

import pytest
import yaml

from conftest import ROOT
from script import load

release, dist, licences, workflow = (
    load(ROOT / "scripts" / f"{name}.py") for name in ("release", "dist", "licences", "workflow")
)
TODAY = datetime.date(2027, 1, 31)


@pytest.fixture
def repository(tmp_path):
    """The files that a release writes, in a repository of their own."""
    for name in ("Cargo.toml", "CITATION.cff", "CHANGELOG.md", "python/midpath/citing.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text((ROOT / name).read_text(encoding="utf-8"), encoding="utf-8")
    who = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b"}
    for command in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "-m", "all"]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True, env=os.environ | who)
    return tmp_path


def test_versions_stand_everywhere_afterwards(repository):
    assert list(release.problems((0, 7, 0), repository)) == []
    release.write((0, 7, 0), repository, TODAY)
    workspace = tomllib.loads((repository / "Cargo.toml").read_text())["workspace"]
    ours = [
        need["version"]
        for need in workspace["dependencies"].values()
        if isinstance(need, dict) and "path" in need and "version" in need
    ]
    assert {workspace["package"]["version"], *ours} == {"0.7.0"} and len(ours) >= 9
    cited = yaml.safe_load((repository / "CITATION.cff").read_text())
    assert (cited["version"], cited["date-released"]) == ("0.7.0", TODAY)
    assert "year = {{2027}}" in (repository / "python" / "midpath" / "citing.py").read_text()
    assert "## [Unreleased]\n\n## [0.7.0] – 2027-01-31\n" in (repository / "CHANGELOG.md").read_text()


def test_the_next_one_needs_something_to_say(repository):
    release.write((0, 7, 0), repository, TODAY)
    subprocess.run(
        ["git", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qam", "x"], cwd=repository, check=True
    )
    assert list(release.problems((0, 7, 0), repository)) == [
        "0.7.0 has been released: a version comes after it",
        "CHANGELOG.md says nothing of this version",
    ]


def test_only_the_commit_of_a_version_is_tagged(repository, monkeypatch):
    assert release.tag((0, 7, 0), repository) == 1
    release.write((0, 7, 0), repository, TODAY)
    assert release.tag((0, 7, 0), repository) == 1
    for name in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{name}_NAME", "a")
        monkeypatch.setenv(f"GIT_{name}_EMAIL", "a@b")
    subprocess.run(["git", "commit", "-qam", "x"], cwd=repository, check=True)
    assert release.tag((0, 7, 0), repository) == 0
    assert release.git(repository, "tag") == "v0.7.0"


def test_what_is_not_committed_is_in_the_way(repository):
    (repository / "CITATION.cff").write_text("x")
    assert list(release.problems((0, 7, 0), repository)) == ["there are changes that are not committed"]


@pytest.mark.parametrize(
    ("entry", "wrong"),
    [
        ("- `--old`: use `--new`; until 0.9.", None),
        ("- `--old`: use `--new`; until\n  0.8.", "should be gone"),
        ("- `--old`: use `--new`; until 0.7. (gone)", None),
        ("- `--old`: use `--new`.", "without `until"),
    ],
)
def test_what_is_deprecated_goes_when_it_was_said(entry, wrong):
    text = f"## [Unreleased]\n\n### Added\n\n- x\n\n## [0.6.0]\n\n### Deprecated\n\n{entry}\n\n### Fixed\n\n- y\n"
    found = list(release.overdue(text, (0, 8, 0)))
    assert len(found) == (wrong is not None) and all(wrong in one for one in found)


def test_licences_are_those_that_we_take_and_listed():
    assert list(licences.refused()) == []
    assert licences.PAGE.read_text(encoding="utf-8") == licences.page(), "write it again: python scripts/licences.py"


@pytest.mark.parametrize(
    ("expression", "good"),
    [
        ("MIT OR GPL-3.0-only", True),
        ("(MIT OR Apache-2.0) AND Unicode-3.0", True),
        ("MIT AND GPL-3.0-only", False),
        ("Unlicense/MIT", True),
        ("GPL-3.0-only", False),
        (None, False),
    ],
)
def test_of_a_choice_one_is_enough(expression, good):
    assert licences.taken(expression) is good


def test_crates_that_are_published_ask_only_for_others_that_are():
    published = dist.published()
    assert {"midpath-core", "midpath-schemes", "midpath-sim", "midpath-node", "midpath-ndn"} <= set(published)
    command = ["cargo", "metadata", "--format-version", "1", "--no-deps"]
    packages = json.loads(subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout)["packages"]
    for one in packages:
        if one["name"] in published:
            needs = [
                need for need in one["dependencies"] if need["kind"] is None and need["name"].startswith("midpath-")
            ]
            assert all(need["name"] in published and need["req"] != "*" for need in needs), one["name"]
            assert one["readme"] and one["description"] and one["categories"] and one["rust_version"], one["name"]
            assert one["documentation"] == f"https://docs.rs/{one['name']}", one["name"]


def test_no_dependency_needs_a_newer_rust_than_we_say():
    command = ["cargo", "metadata", "--format-version", "1", "--locked"]
    packages = json.loads(subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout)["packages"]
    ours = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["rust-version"]
    newest = tuple(map(int, ours.split(".")))
    late = [
        p["name"] for p in packages if p["rust_version"] and tuple(map(int, p["rust_version"].split(".")[:2])) > newest
    ]
    assert late == []


def test_inventory_says_what_was_left_out(tmp_path):
    (tmp_path / "midpath-1.tar.gz").write_bytes(b"abc")
    dist.write_sums(tmp_path)
    dist.write_inventory(tmp_path, ["aarch64-unknown-linux-gnu"])
    about = json.loads((tmp_path / dist.INVENTORY).read_text())
    assert about["left_out"] == ["aarch64-unknown-linux-gnu"]
    assert about["files"] == [{"name": "midpath-1.tar.gz", "bytes": 3}]
    done = subprocess.run(["sha256sum", "--check", dist.SUMS], cwd=tmp_path, check=False, capture_output=True)
    assert done.returncode == 0


@pytest.mark.nightly("pyproject.toml", "Cargo.toml", "crates/python/", "python/wheel/")
def test_a_wheel_can_be_built_from_the_sdist(tmp_path):
    command = [sys.executable, "-m", "maturin", "sdist", "--out", tmp_path]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (file,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(file) as opened:
        names = {name.partition("/")[2] for name in opened.getnames()}
    text = (ROOT / "python" / "wheel" / "build.rs").read_text(encoding="utf-8")
    packed = re.findall(r'^    "([^"]+)",$', text.partition("const PACKED")[2].partition("];")[0], re.MULTILINE)
    shell = [path.relative_to(ROOT).as_posix() for path in (ROOT / "python" / "shell").rglob("*") if path.is_file()]
    wanted = [*packed, *shell, "examples/abilene.toml", "LICENSE", "THIRD_PARTY.txt"]
    assert (
        len(packed) > 5
        and [path for path in wanted if not any(f"{name}/".startswith(f"{path}/") for name in names)] == []
    )


def test_a_wheel_names_no_folder_of_the_machine(tmp_path):
    wheel = tmp_path / "a-1-py3-none-any.whl"
    sbom = "a-1.dist-info/sboms/a.json"
    with zipfile.ZipFile(wheel, "w") as written:
        written.writestr(sbom, '{"ref": "path+file:///home/me/crates/core#midpath-core@0.1.0"}')
        written.writestr("a.py", "x = 1")
        written.writestr("a-1.dist-info/RECORD", f"a.py,,\n{sbom},sha256=old,1\na-1.dist-info/RECORD,,\n")
    dist.without_places(wheel)
    with zipfile.ZipFile(wheel) as opened:
        text = opened.read(sbom)
        record = opened.read("a-1.dist-info/RECORD").decode()
    assert text == b'{"ref": "pkg:cargo/midpath-core@0.1.0"}'
    digest = base64.urlsafe_b64encode(hashlib.sha256(text).digest()).decode().rstrip("=")
    assert record == f"a.py,,\n{sbom},sha256={digest},{len(text)}\na-1.dist-info/RECORD,,\n"
    assert all(str(place) in " ".join(dist.remaps()) for place in (ROOT, ".cargo"))


@pytest.mark.parametrize("workflow", sorted((ROOT / ".github" / "workflows").glob("*.yml")), ids=lambda file: file.name)
def test_actions_are_pinned_by_hash(workflow):
    text = workflow.read_text(encoding="utf-8")
    used = re.findall(r"uses: (\S+)", text)
    assert used and all(re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", one) for one in used)
    assert yaml.safe_load(text)["permissions"] == {"contents": "read"}


@pytest.mark.parametrize("name", sorted(file.stem for file in (ROOT / ".github" / "workflows").glob("*.yml")))
def test_steps_name_what_there_is(name):
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for command in workflow.steps(name):
        done = subprocess.run(["bash", "-n", "-c", command], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        targets = [word for made in re.findall(r"make ((?:[a-z][a-z-]* ?)+)", command) for word in made.split()]
        assert all(re.search(rf"^{target}:", makefile, re.M) for target in targets), command
        files = re.findall(r"\b(?:scripts|tests|evidence|\.ci)/[\w./-]+", command)
        assert [file for file in files if not (ROOT / file).exists()] == [], command
