"""What the README and the docs show works: Python is run, scenarios are checked."""

import re

import pytest

from conftest import ROOT
from midpath import Scenario

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md")), ROOT / "python/midpath/analysis/rpm/README.md"]
BLOCK = re.compile(r"^```(python|toml)([^\n]*)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(language):
    """The blocks of a language, each named by its page and line.

    A block marked `fragment` is not whole. One with a title is a file of a page that test_follow.py follows.
    """
    for page in filter(lambda page: page.is_file(), PAGES):
        text = page.read_text(encoding="utf-8")
        for found in BLOCK.finditer(text):
            if found[1] == language and not found[2].strip().startswith(("fragment", "title=")):
                line = text.count("\n", 0, found.start()) + 1
                yield pytest.param(found[3], id=f"{page.relative_to(ROOT)}:{line}")


@pytest.mark.parametrize("code", list(blocks("python")))
def test_python_runs(code, tmp_path, monkeypatch):
    # In a directory of its own, where `examples/` is what it is for a reader in the project's.
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "docs", "exec"), {"__name__": "__main__"})


@pytest.mark.parametrize("text", list(blocks("toml")))
def test_scenarios_can_be_run(text):
    if "[topology]" in text:
        Scenario(text, ROOT / "examples").check()
