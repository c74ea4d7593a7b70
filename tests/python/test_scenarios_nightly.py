"""The simulator's scenarios that take minutes: Rust's tests that are ignored as nightly, module by module."""

import os
import subprocess
from pathlib import Path

import pytest

from conftest import ROOT

CORE = ("crates/core/", "crates/sim/src/engine/")
TCP = ("crates/schemes/src/transport/", "crates/schemes/src/tcp/")
TRAFFIC = ("crates/traffic/", "crates/sim/src/setup/", "crates/sim/src/measure/")
INRPP = ("crates/schemes/src/inrpp/",)
FCP = ("crates/schemes/src/fcp/", "crates/schemes/src/explicit.rs")
MIRCC = ("crates/schemes/src/mircc/", "crates/schemes/src/icn/")
GUARDS = {
    "anchors": (*CORE, *TCP),
    "anchors_a": (*CORE, *TCP),
    "applications": (*TRAFFIC, *TCP),
    "cake": CORE,
    "closed_forms": CORE,
    "determinism": (*CORE, "crates/schemes/", "examples/"),
    "fcp_budgets": FCP,
    "fcp_enforcement": FCP,
    "inrpp": INRPP,
    "inrpp_deployment": INRPP,
    "keys": TCP,
    "mircc_icn": MIRCC,
    "mircc_sharing": MIRCC,
    "mptcp": ("crates/schemes/src/mptcp/", *TCP),
    "pages": (*TRAFFIC, *TCP),
    "queues_ns3": CORE,
    "rcp": ("crates/schemes/src/rcp/", "crates/schemes/src/explicit.rs"),
    "rpm": ("crates/schemes/src/rpm/", "crates/core/src/queue/"),
    "rpm_signals": ("crates/schemes/src/rpm/", "crates/core/src/queue/"),
    "symmetric": ("crates/topo/", "crates/schemes/", "crates/core/src/roles/"),
    "supply": (*CORE, *TRAFFIC),
    "wire": ("crates/core/src/wire/", "crates/core/src/packet", "crates/schemes/", "examples/"),
    "xcp": ("crates/schemes/src/xcp/", "crates/schemes/src/explicit.rs"),
}
# Other programs of tests with tests of the night.
PROGRAMS = {
    "crates/sim/tests/session_memory.rs": ("crates/sim/src/session", "crates/sim/src/setup/messages.rs", *CORE),
    "net/node/tests/departing_flows.rs": ("net/node/src/", "crates/schemes/src/rcp/", "crates/schemes/src/xcp/", *FCP),
}
SCENARIOS = ROOT / "crates/sim/tests/scenarios"


MARK = '#[ignore = "nightly"]'


def nightly(module):
    paths = [*SCENARIOS.glob(f"{module}.rs"), *SCENARIOS.glob(f"{module}/*.rs")]
    return sum(path.read_text().count(MARK) for path in paths)


def guarded(kept, own):
    return [pytest.param(name, marks=pytest.mark.nightly(f"{own}{name}", *paths)) for name, paths in kept.items()]


def run(program, count, *chosen):
    command = ["cargo", "test", "--quiet", "--workspace", "--test", program, "--", "--ignored", *chosen]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, env={"PROPTEST_RNG_SEED": "1"} | os.environ
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert f"{count} passed" in done.stdout


@pytest.mark.parametrize("module", guarded(GUARDS, "crates/sim/tests/scenarios/"))
def test_what_takes_minutes(module):
    run("scenarios", nightly(module), f"{module}::")


@pytest.mark.parametrize("file", guarded(PROGRAMS, ""))
def test_other_programs(file):
    run(Path(file).stem, (ROOT / file).read_text().count(MARK))


def test_every_module_with_such_tests_is_listed():
    found = {path.relative_to(SCENARIOS).parts[0].removesuffix(".rs") for path in SCENARIOS.rglob("*.rs")}
    assert {module for module in found if nightly(module)} == set(GUARDS)
    others = [path for house in ("crates", "net") for path in (ROOT / house).glob("*/tests/*.rs")]
    assert {str(path.relative_to(ROOT)) for path in others if MARK in path.read_text()} == set(PROGRAMS)
