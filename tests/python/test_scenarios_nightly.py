"""The simulator's scenarios that take minutes: Rust's tests that are ignored as nightly, module by module."""

import os
import subprocess

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
    "rpm_signals": ("crates/schemes/src/rpm/", "crates/core/src/queue/"),
    "wire": ("crates/core/src/wire/", "crates/core/src/packet", "crates/schemes/", "examples/"),
}
SCENARIOS = ROOT / "crates/sim/tests/scenarios"


def nightly(module):
    paths = [*SCENARIOS.glob(f"{module}.rs"), *SCENARIOS.glob(f"{module}/*.rs")]
    return sum(path.read_text().count('#[ignore = "nightly"]') for path in paths)


@pytest.mark.parametrize(
    "module",
    [
        pytest.param(name, marks=pytest.mark.nightly(f"crates/sim/tests/scenarios/{name}", *paths))
        for name, paths in GUARDS.items()
    ],
)
def test_what_takes_minutes(module):
    command = ["cargo", "test", "--quiet", "--workspace", "--test", "scenarios", "--", "--ignored", f"{module}::"]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, env={"PROPTEST_RNG_SEED": "1"} | os.environ
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert f"{nightly(module)} passed" in done.stdout


def test_every_module_with_such_tests_is_listed():
    found = {path.relative_to(SCENARIOS).parts[0].removesuffix(".rs") for path in SCENARIOS.rglob("*.rs")}
    assert {module for module in found if nightly(module)} == set(GUARDS)
