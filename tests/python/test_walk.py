"""Pages for operators, walked through to the letter in namespaces."""

import os
import shutil
import subprocess
import sys

import pytest

import script
from conftest import ROOT

walk = script.load(ROOT / "scripts" / "walk.py")


def lacking():
    """Why pages cannot be walked through here, or `None`."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return "walking through pages needs root on Linux"
    if lacks := [tool for tool in ("unshare", "ip", "tc", "setpriv", "curl") if shutil.which(tool) is None]:
        return f"walking through pages needs {', '.join(lacks)}"
    spaces = subprocess.run(
        ["unshare", "--mount", "--net", "--pid", "--fork", "true"], check=False, capture_output=True
    )
    if spaces.returncode:
        return f"walking through pages needs namespaces: {spaces.stderr.decode().strip()}"
    try:
        walk.midpathd()
    except walk.WalkError as why:
        return str(why)
    return None


def lacking_for_rpm():
    """Why RPM cannot be turned on here, or `None`."""
    on = [walk.midpathd(), "rpm", "up", "--dev", "x", "--rate", "1Mbps"]
    make = 'ip link add x type veth peer name y && exec "$@"'
    done = subprocess.run(
        ["unshare", "--net", "sh", "-ec", make, "sh", *on], check=False, capture_output=True, text=True
    )
    return done.stderr.strip() if done.returncode else None


WHY = lacking()


@pytest.mark.skipif(WHY is not None, reason=WHY or "")
@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=pytest.mark.nightly(f"docs/{page}.md", "scripts/walk.py")) for page in walk.STAGES],
)
def test_a_page_can_be_walked_through(page):
    if page == "rpm-on-linux" and (why := lacking_for_rpm()) is not None:
        pytest.skip(why)
    command = [sys.executable, ROOT / "scripts" / "walk.py", ROOT / "docs" / f"{page}.md"]
    # On a machine that is busy a flow may build no queue, so that nothing is marked: up to three walks.
    for _ in range(3):
        # Fifteen minutes are a reader's; this takes seconds.
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=900)
        if done.returncode == 0:
            return
    if "signals    0: 0 to registers" in done.stdout + done.stderr:
        pytest.skip("this machine is too busy for a flow to build a queue: nothing was marked in three walks")
    pytest.fail(done.stdout + done.stderr)


def test_the_operators_page_goes_from_a_map_to_a_page():
    """In this order: what a reader has to decide is priced before it is handed on."""
    blocks = walk.BLOCK.findall((ROOT / "docs" / "operator.md").read_text(encoding="utf-8"))
    said = [step.text for language, _, body in blocks if language == "console" for step in walk.commands(body)]
    order = ("topo", "check", "run", "failures", "compare", "cost bill", "report")
    places = [next(i for i, text in enumerate(said) if text.startswith(f"midpath {word}")) for word in order]
    assert places == sorted(places)


def test_numbers_and_units_may_differ_and_nothing_else():
    def same(said, printed):
        return walk.same(walk.NUMBER.sub("#", said), walk.NUMBER.sub("#", printed))

    assert same("sent 65314 packets, 98.8 MB\n", "sent 3 packets, 400 B\n")
    assert same("waited p50 8.13 ms\n", "waited p50 –\n")
    assert not same("sent 65314 packets\n", "lost 65314 packets\n")


def test_a_command_that_fails_ends_the_walk(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```sh\ntrue &\nfalse  # in vain\n```\n")
    stage = walk.Stage(tmp_path / "none", tmp_path)
    shell = walk.Shell(tmp_path, dict(os.environ))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(walk, "PATIENCE", 0.5)
        with pytest.raises(walk.WalkError, match="false  # in vain\nended with 1"):
            walk.walk(page, stage, shell)
    shell.close()
