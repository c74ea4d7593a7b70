"""The site: what can be run where it is read."""

import base64
import json
import re
import shutil
import types
import zlib

import pytest

import script
import test_play
from conftest import ROOT
from midpath import _midpath

site = script.load(ROOT / "scripts/site.py")
LINK = re.compile(r'index\.html\?embed#s=([\w-]+)"')
PAGES = sorted(site.contents())


def markdown(path):
    """A page as MkDocs gets it."""
    page = types.SimpleNamespace(file=types.SimpleNamespace(src_uri=path.relative_to(ROOT).as_posix()))
    return site.on_page_markdown(path.read_text(encoding="utf-8"), page, None, None)


def held(link):
    packed = base64.urlsafe_b64decode(link + "=" * (-len(link) % 4))
    return json.loads(zlib.decompress(packed, wbits=-15))


@pytest.fixture(autouse=True)
def playground(monkeypatch):
    """As if `make web` had been run."""
    monkeypatch.setattr(site.play_files, "WASM", ROOT / "Makefile")


def test_whole_scenarios_and_stories_can_be_run():
    found = {path: LINK.findall(markdown(path)) for path in PAGES if path.suffix == ".md"}
    runnable = {path.name: len(links) for path, links in found.items() if links}
    assert runnable["tutorial.md"] >= 1 and runnable["see-it.md"] == 6 and len(runnable) >= 6
    schemes = {scheme["id"] for scheme in json.loads((ROOT / "docs/play/play.json").read_text())["schemes"]}
    for name, link in ((path.name, link) for path, links in found.items() for link in links):
        asked = held(link)
        assert json.loads(_midpath.check_scenario(asked["text"], ""))["errors"] == [], name
        assert set(asked["schemes"]) <= schemes, name


@pytest.mark.skipif(shutil.which("node") is None, reason="no node here to run JavaScript with")
def test_what_runs_on_a_page_has_two_sliders():
    """At their ends, too, the scenario is one."""
    links = [link for path in PAGES if path.suffix == ".md" for link in LINK.findall(markdown(path))]
    asked = [held(link)["text"] for link in links]
    for text, (low, same, high) in zip(asked, test_play.ask(ask="sliders", texts=asked), strict=True):
        changed = [sum(a != b for a, b in zip(text.split('"'), end.split('"'), strict=True)) for end in (low, high)]
        assert same == text and min(changed) >= 2, text
        for end in (low, high):
            assert json.loads(_midpath.check_scenario(end, ""))["errors"] == [], end


def test_the_four_systems_have_something_to_try():
    for path in site.TO_TRY:
        text = markdown(ROOT / path)
        assert text.count('<details class="live">') >= 1 and f"explore.html#{site.TO_TRY[path]}" in text


def test_a_story_is_run_as_its_command_says():
    text = site.told(
        "examples/dumbbell.toml", ' --scheme cubic+rpm --set schemes.cubic.ecn=true --trace "from=1s,for=300ms"'
    )
    assert 'scheme = "cubic+rpm"' in text
    assert text.endswith('\n[schemes.cubic]\necn = true\n\n[trace]\nfrom = "1s"\nfor = "300ms"\n')
