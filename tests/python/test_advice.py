"""What an error advises works: each command and each cure that a message names is found in the sources, and followed.

Cures stand in `cures.py`: a new message with one of the words of `CURE` needs a row there.

Advice of the daemon and of its build is followed by tests in Rust (net/midpathd/tests/linux/check.rs,
net/ebpf/tests/linux/advice.rs): those need no more than to be known here.
"""

import ast
import json
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import click
import pytest
import typer

import midpath.cli
from conftest import ROOT
from cures import CURES, No
from midpath.lab import kernel, machine

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
# A command in a message, by its first words.
COMMAND = re.compile(
    r"\b(pip install [\w'\[\]]+|apt-get install [\w{}. -]+|cargo (?:build|install|clean) [-\w{} ]+|sh evidence/[\w/. ]+"
    r"|midpath (?:lab kernel|add|schemes)\b|ip route add local [\w{}]+ dev lo|chmod \d+|rustup \w+ \w+ [A-Z{}\w]+)"
)
# Followed by tests in Rust.
IN_RUST = {
    "ip route add local {targets} dev lo",
    "chmod 600",
    "apt-get install clang linux-libc-dev",
}


def messages():
    """Literal text of the package and of the daemon, without what only its authors read."""
    for file in sorted((ROOT / "python" / "midpath").rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Raise | ast.Return):
                yield from texts(node)
    for crate in ("midpathd", "ebpf"):
        for file in sorted((ROOT / "net" / crate).rglob("*.rs")):
            if "tests" not in file.relative_to(ROOT).parts:
                lines = file.read_text(encoding="utf-8").split("mod tests {")[0].splitlines()
                yield " ".join(line.strip().rstrip("\\") for line in lines if not line.strip().startswith("//"))


def texts(node):
    """Strings within a statement; what is filled in stands in braces."""
    for part in ast.iter_child_nodes(node):
        if isinstance(part, ast.JoinedStr):
            yield "".join(
                p.value if isinstance(p, ast.Constant) else f"{{{ast.unparse(p.value)}}}" for p in part.values
            )
        elif isinstance(part, ast.Constant) and isinstance(part.value, str):
            yield part.value
        else:
            yield from texts(part)


def advised():
    return sorted({match[1].strip() for text in messages() for match in COMMAND.finditer(text)} - IN_RUST)


def brought(extra):
    """The distributions of an extra, and of those that it takes in."""
    for need in PROJECT["optional-dependencies"][extra]:
        if more := re.match(r"midpath\[(\w+)\]", need):
            yield from brought(more[1])
        else:
            yield re.match(r"[\w.-]+", need)[0]


def test_messages_name_commands():
    found = {match[1].strip() for text in messages() for match in COMMAND.finditer(text)}
    assert found >= IN_RUST
    assert len(found) >= 10


@pytest.mark.parametrize("command", advised())
def test_an_advised_command_works(command):
    follow(command)


def follow(command):
    if extra := re.fullmatch(r"pip install 'midpath\[(\w+)\]'", command):
        assert list(brought(extra[1]))
    elif command.startswith("apt-get install"):
        can_be_installed(command.removeprefix("apt-get install ").format(PACKAGES=kernel.PACKAGES).split())
    elif command == "cargo build --release -p stack-runner":
        can_be_built({"stacks"}, ROOT / "stacks")
    elif package := re.match(r"cargo build --release -p (\S+)", command):
        assert package[1] == "{name}"
        can_be_built({"midpathd", "midpath-lab"}, ROOT)
    elif script := re.match(r"sh (evidence/\S+) (\w+)", command):
        assert re.search(rf"\b{script[2]}\b", (ROOT / script[1]).read_text(encoding="utf-8"))
    elif command.startswith("midpath "):
        context = click.Context(typer.main.get_command(midpath.cli.app))
        found = context.command
        for word in command.split()[1:]:
            found = found.get_command(context, word)
            assert found is not None, word
    else:
        pytest.fail(f"no test follows `{command}`")


def can_be_installed(packages):
    if shutil.which("apt-get") is None:
        pytest.skip("apt-get is not here")
    # All at once: apt reads its lists each time, for a second.
    known = subprocess.run(["apt-cache", "show", *packages], capture_output=True, text=True, check=False).stdout
    for package in packages:
        if f"Package: {package}\n" not in known:
            pytest.skip(f"apt knows nothing of {package}: its lists are not here, or this is no Debian")


def can_be_built(names, workspace):
    """They are programs of a workspace, and where cargo puts them the laboratory looks."""
    said = subprocess.run(
        ["cargo", "metadata", "--no-deps", "--format-version", "1", "--offline"],
        cwd=workspace,
        capture_output=True,
        check=True,
    ).stdout
    told = json.loads(said)
    targets = [target for package in told["packages"] for target in package["targets"]]
    assert names <= {target["name"] for target in targets if "bin" in target["kind"]}
    assert Path(told["target_directory"]).resolve() / "release" in machine.BUILT


@pytest.mark.parametrize(
    ("extra", "module"),
    [
        ("cluster", "distributed"),
        ("slurm", "submitit"),
        ("plots", "matplotlib"),
        ("gym", "gymnasium"),
    ]
    + [("analysis", name) for name in sorted(midpath.cli.ANALYSIS)],
)
def test_an_extra_brings_what_is_missing_without_it(extra, module):
    assert module in set(brought(extra))


# What a message that names a cure has in it.
CURE = re.compile(r"\b(say|give|use|set|try|install|did you mean)\b")
# Strings of the sources that are no messages: what is run, written into files, or drawn.
NOT_SAID = re.compile(
    r"python/midpath/(?:added|analysis|new|evaluate/(?:bbr|rfc|text)|matrix/text|report/flows|lab/(?:network|spaces))"
    r"|python/midpath/benchmark/(?:picture|suite:set-up)"
    r"|net/(?:tcp-interop|p4)/|net/lab/src/budget"
)
RUST_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)


def literals():
    """Strings of the sources, each with its file: none of tests, comments, helps and documentation."""
    for file in sorted((ROOT / "python" / "midpath").rglob("*.py")):
        yield from ((file, text) for text in of_python(ast.parse(file.read_text(encoding="utf-8"))))
    for file in sorted(file for below in ("crates", "net", "python/wheel") for file in (ROOT / below).rglob("*.rs")):
        if not {"tests", "benches"} & set(file.relative_to(ROOT).parts) and not file.stem.endswith("tests"):
            yield from ((file, text) for text in of_rust(file.read_text(encoding="utf-8")))


def of_python(tree):
    for part in ast.iter_child_nodes(tree):
        is_help = isinstance(part, ast.Call) and ast.unparse(part.func) in HELP
        if (isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant)) or is_help:
            continue
        if isinstance(part, ast.JoinedStr) or (isinstance(part, ast.Constant) and isinstance(part.value, str)):
            yield next(iter(texts(ast.Expr(part))))
        else:
            yield from of_python(part)


HELP = {"typer.Option", "typer.Argument", "typer.Typer"}


def of_rust(text):
    code = "\n".join(line for line in text.split("#[cfg(test)]")[0].splitlines() if not line.strip().startswith("//"))
    for found in RUST_STRING.finditer(code):
        if not code[: found.start()].endswith(("reason = ", "expect(")):
            yield re.sub(r"\\\n\s*", "", found[1]).replace('\\"', '"').removesuffix("\\n")


def naming_cures():
    """Messages that name a cure which is no command: these are followed above."""
    for file, text in literals():
        place = str(file.relative_to(ROOT))
        if " " in text and CURE.search(text) and not COMMAND.search(text) and not NOT_SAID.match(place):
            yield text, place


def test_every_message_that_names_a_cure_has_a_row():
    found = dict(naming_cures())
    assert {text: place for text, place in found.items() if text not in CURES} == {}
    assert CURES.keys() - found.keys() == set(), "no message says this any more"
    assert len([row for row in CURES.values() if not isinstance(row, No)]) >= 45


@pytest.mark.parametrize("message", CURES)
def test_a_cure_works(message, tmp_path, monkeypatch):
    monkeypatch.delenv("MIDPATH_ROCKETFUEL", raising=False)
    parts = re.split(r"{[^{}]*(?:{[^{}]*}[^{}]*)*}", message)
    CURES[message].follow(re.compile(".*".join(map(re.escape, parts)), re.DOTALL), tmp_path)
