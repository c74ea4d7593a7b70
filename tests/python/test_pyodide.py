"""The extension in Pyodide, Python in a browser: scenarios in Node and here.

Built by `python scripts/pyodide.py`; skipped where that, Node or Pyodide is missing.
"""

import hashlib
import json
import subprocess

import pytest

import script
from conftest import ROOT
from midpath import _midpath
from test_web import BACKBONE, NODE, ONE_LINK, POLICED, WAITING, repeatable

pyodide = script.load(ROOT / "scripts/pyodide.py")
WHEELS = sorted(pyodide.OUT.glob("*.whl"))
PYODIDE = pyodide.OUT / "node_modules/pyodide"
RUNNER = ROOT / "tests/python/pyodide_run.mjs"

pytestmark = [
    pytest.mark.skipif(NODE is None, reason="no node here to run Pyodide with"),
    pytest.mark.skipif(not WHEELS, reason="no wheel in target/pyodide: python scripts/pyodide.py"),
    pytest.mark.skipif(
        not PYODIDE.is_dir(), reason=f"no Pyodide here: npm install --prefix target/pyodide pyodide@{pyodide.PYODIDE}"
    ),
]

SCENARIOS = {"one link": ONE_LINK, "backbone": BACKBONE, "waiting": WAITING, "policed": POLICED}
SCHEMES = ("newreno", "bbr", "fcp", "inrpp", "mircc", "cubic+rpm")


def test_its_bytes_are_those_of_this_machine():
    asked = [{"text": text, "scheme": scheme} for text in SCENARIOS.values() for scheme in SCHEMES]
    asked = [request for request in asked if runs(request)]
    command = [NODE, str(RUNNER), str(WHEELS[0]), str(PYODIDE)]
    done = subprocess.run(command, input=json.dumps(asked), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    for request, found in zip(asked, json.loads(done.stdout), strict=True):
        run, tables, _ = _midpath.run(request["text"], "", scheme=request["scheme"], seed=None, threads=1)
        assert repeatable(found["run"]) == repeatable(run)
        native = {name: {key: digest(column) for key, column in table.items()} for name, table in tables.items()}
        assert found["tables"] == json.loads(json.dumps(native)), request["scheme"]
    assert len(asked) >= 16


def runs(request):
    try:
        _midpath.check(request["text"], "", scheme=request["scheme"], seed=None)
    except Exception:
        return False
    return True


def digest(column):
    return [column[0], hashlib.sha256(column[1]).hexdigest(), *column[2:]]


def test_the_wheel_names_the_abi_of_pyodide():
    lock = json.loads((PYODIDE / "pyodide-lock.json").read_text(encoding="utf-8"))
    assert lock["info"]["abi_version"] == pyodide.ABI and lock["info"]["python"].startswith(pyodide.PYTHON)
    assert lock["info"]["platform"] == f"emscripten_{pyodide.EMSCRIPTEN.replace('.', '_')}"
    assert WHEELS[0].name.endswith(f"-cp311-abi3-pyemscripten_{pyodide.ABI}_wasm32.whl")
