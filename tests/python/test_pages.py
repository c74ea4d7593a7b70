"""Pages that a script writes are what it would write now."""

import subprocess
import sys

import pytest

from conftest import ROOT


@pytest.mark.parametrize("script", ["command_reference", "gallery", "pictures"])
def test_page_is_up_to_date(script):
    command = [sys.executable, ROOT / "scripts" / f"{script}.py", "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, f"write it again: python scripts/{script}.py\n{done.stderr}"


def test_gallery_has_every_scenario():
    page = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
    assert [file.name for file in sorted((ROOT / "examples").glob("*.toml")) if f"`{file.name}`" not in page] == []


def test_gallery_figures_are_small():
    figures = list((ROOT / "docs" / "images" / "gallery").glob("*.svg"))
    assert len(figures) >= 12
    assert sum(figure.stat().st_size for figure in figures) < 1_500_000
