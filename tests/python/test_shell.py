"""Completions offer what the command has, in each shell that is here."""

import shutil
import subprocess
import tomllib

import pytest

from conftest import ROOT

SHARE = ROOT / "python" / "shell" / "data" / "share"
BASH = SHARE / "bash-completion" / "completions" / "midpath"
FISH = SHARE / "fish" / "vendor_completions.d" / "midpath.fish"
MANUAL = SHARE / "man" / "man1" / "midpath.1"
# What was typed, and what comes next.
TYPED = [
    ("midpath swe", ["sweep"]),
    ("midpath sweep ", ["run", "table", "plot", "--help"]),
    ("midpath sweep table store --o", ["--out"]),
    ("midpath run --thr", ["--threads"]),
    ("midpath sweep run --thr", []),
    ("midpath compare --no-i", ["--no-ideal"]),
]


def shell(name, *command):
    if shutil.which(name) is None:
        pytest.skip(f"{name} is not installed")
    return subprocess.run([name, *command], capture_output=True, text=True, check=True, timeout=60).stdout


@pytest.mark.parametrize(("typed", "wanted"), TYPED)
def test_bash(typed, wanted):
    words = " ".join(f"'{word}'" for word in typed.split(" "))
    script = f"source {BASH}; COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); _midpath"
    found = shell("bash", "--norc", "-c", f"{script}; printf '%s\\n' \"${{COMPREPLY[@]}}\"").split()
    assert sorted(found) == sorted(wanted)


@pytest.mark.parametrize(("typed", "wanted"), TYPED)
def test_fish(typed, wanted, tmp_path):
    lines = shell("fish", "--no-config", "-c", f"cd {tmp_path}; source {FISH}; complete -C '{typed}'").splitlines()
    # Fish offers options after a dash only.
    assert sorted(line.split("\t")[0] for line in lines) == sorted(set(wanted) - {"--help"})


def test_zsh_reads_its_file():
    shell("zsh", "-n", str(SHARE / "zsh" / "site-functions" / "_midpath"))


def test_manual_has_no_warnings():
    assert shell("man", "--warnings", "--local-file", str(MANUAL)).startswith("MIDPATH(1)")


def test_wheels_take_them_along():
    about = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert ROOT / about["tool"]["maturin"]["data"] / "data" / "share" == SHARE
