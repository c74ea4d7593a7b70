"""The notebooks run, and the site shows what they show."""

import json
import re
import sys
import tomllib

import pytest

import browser
from conftest import ROOT
from script import load

sys.path.insert(0, str(ROOT / "scripts"))
pytest.importorskip("matplotlib")
pandas = pytest.importorskip("pandas")

import notebooks  # noqa: E402

SOURCES = sorted(notebooks.SOURCES.glob("*.py"))
by_name = pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.stem)


@pytest.fixture(autouse=True)
def no_window(monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "agg")


def test_there_are_six_and_a_page_of_each():
    assert len(SOURCES) == 6
    readme = (notebooks.PAGES / "README.md").read_text(encoding="utf-8")
    site = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    for source in SOURCES:
        assert f"]({source.stem}.md)" in readme
        assert f"docs/notebooks/{source.stem}.md" in site


@pytest.mark.nightly("notebooks/", "docs/notebooks/", "scripts/notebooks.py")
@by_name
def test_it_runs_and_shows_what_its_page_shows(source):
    text, pictures = notebooks.page(source, notebooks.run(source))
    for name in pictures:
        assert (notebooks.PAGES / name).is_file()
    if int(pandas.__version__.partition(".")[0]) < 3:
        pytest.skip("pandas before 3 writes tables in another way")
    assert text == (notebooks.PAGES / f"{source.stem}.md").read_text(encoding="utf-8"), "python scripts/notebooks.py"


@by_name
def test_what_colab_opens_has_its_cells(source):
    text = (notebooks.PAGES / f"{source.stem}.ipynb").read_text(encoding="utf-8")
    assert text == notebooks.notebook(source), "python scripts/notebooks.py"
    found = ["".join(cell["source"]) for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
    assert found and "import midpath" in found[0]
    # Nothing of the text is lost: cells are all of it but their heads.
    text = source.read_text(encoding="utf-8")
    words = re.sub(r"(?m)^# %%.*$", "", text).replace("#", "").split()
    assert words == "\n".join(cell.text for cell in notebooks.cells(text)).replace("#", "").split()


def test_binder_gets_what_the_project_has():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    lines = (ROOT / "binder" / "requirements.txt").read_text(encoding="utf-8").splitlines()
    (ours,) = [line for line in lines if line.startswith("midpath")]
    assert set(re.search(r"\[(.*)\]", ours)[1].split(",")) <= set(extras)
    assert any(line.startswith("jupytext") for line in lines)


@pytest.mark.nightly("notebooks/", "scripts/")
@pytest.mark.skipif(browser.find() is None, reason="no Chromium on this machine")
def test_a_browser_finds_what_a_page_lacks(tmp_path):
    look = load(ROOT / "evidence/lab" / "notebooks" / "look.py")
    page = tmp_path / "a.html"
    body = (
        "<!doctype html><meta name=viewport content=width=device-width><article><h1>A</h1><pre>x = 1</pre>{}</article>"
    )
    page.write_text(body.format("<img width=9 src='data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAA='>"))
    shown, wrong = look.look(page)
    assert (shown["title"], shown["code"], shown["images"], shown["loaded"], wrong) == ("A", 1, 1, 1, [])
    bad = "<img src=none.svg><div style='width: 900px'>w</div><script>gone()</script>"
    page.write_text(body.format(bad))
    _, wrong = look.look(page)
    found = "\n".join(wrong)
    assert (
        "wide: 1 figures do not load" in found
        and "px wider than the window" in wrong[-1]
        and "gone is not defined" in found
    )
