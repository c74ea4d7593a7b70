"""Rust's pages: no link in them leads nowhere."""

import os
import subprocess

import pytest

from conftest import ROOT


@pytest.mark.nightly("Cargo.toml", "crates/", "net/", "examples/outside-", "python/wheel/")
def test_rustdoc_warns_of_nothing():
    command = ["cargo", "doc", "--no-deps", "--workspace", "--quiet"]
    flags = os.environ | {"RUSTDOCFLAGS": "-D warnings"}
    done = subprocess.run(command, cwd=ROOT, env=flags, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
