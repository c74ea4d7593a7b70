"""`midpathd node check`: what is wrong is named by file, line and key before anything is up."""

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

import script
from conftest import ROOT

nodes = script.load(ROOT / "evidence/lab" / "overlay" / "nodes.py")
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="midpathd works on Linux only")


@pytest.fixture(scope="module")
def overlay():
    """Three nodes that are not started."""
    try:
        found = nodes.Overlay(forwards=(9,))
    except FileNotFoundError as error:
        pytest.skip(str(error))
    yield found
    found.close()


@pytest.fixture
def check(overlay):
    """Checks `a` with something else in its configuration, or in the network's."""
    config, network = overlay.config("a"), overlay.folder / "net.toml"
    good = config.read_text(), network.read_text()

    def run(old, new, within=config, command="check"):
        text = within.read_text()
        assert old in text
        within.write_text(text.replace(old, new, 1))
        done = overlay.command(command, config, check=False)
        assert done.returncode != 0
        assert len(done.stderr.strip().splitlines()) == 1, done.stderr
        assert not config.with_suffix(".sock").exists(), "nothing is up"
        return done.stderr.removeprefix("midpathd: ").replace(f"{overlay.folder}/", "")

    yield run
    config.write_text(good[0])
    network.write_text(good[1])


def line_of(overlay, text, name="a.toml"):
    return (overlay.folder / name).read_text().split(text)[0].count("\n") + 1


def test_the_configurations_are_good(overlay):
    for name in nodes.NODES:
        assert overlay.command("check", overlay.config(name)).stderr == ""


@pytest.mark.parametrize(
    ("old", "new", "line", "says"),
    [
        ('node = "a"', 'nod = "a"', "nod =", "unknown field `nod`"),
        ("[[socks]]", "[[sock]]", "[[sock]]", "unknown field `sock`"),
        ("[[socks]]", "[[socks]]\nauth = true", "auth =", "unknown field `auth`"),
        ("[[socks]]", "[memory]\nbudgte = 1\n[[socks]]", "budgte", "unknown field `budgte`"),
        ("[[socks]]", '[memory]\nbudget = "1 kB"\n[[socks]]', "budget", "memory.budget: must be at least"),
        ('node = "a"', 'node = "x"', "node =", "node: "),
        ('exit = "b"', 'exit = "a"', 'exit = "a"', "socks.exit: a node cannot be its own exit"),
        ('exit = "b"\nto', 'exit = "a"\nto', 'exit = "a"\nto', "forward.exit: a node cannot be its own exit"),
        ('exit = "b"', 'exit = "c"', 'exit = "c"', "socks.exit: "),
        ('to = "127.0.0.1:9"', 'to = "9"', "to =", "forward.to: `9` is not `host:port`"),
        ("[[socks]]", '[[transparent]]\nto = "10.0.0.0/8"\nexit = "b"\n[[socks]]', "to =", "transparent.to: "),
        ("[[socks]]", '[[transparent]]\nto = "10.0.0.0/8:1-9"\nexit = "b"\n[[socks]]', "to =", "no single port"),
        ("[[socks]]", '[exit]\nallow = ["0.0.0.0"]\n[[socks]]', "allow", "exit.allow: `0.0.0.0` is no"),
        ("[[neighbour]]", "[[neighbour]]\nrate = 5", "rate =", "rate: `5` has no unit"),
        ('listen = "127', 'listen = "127.', "listen =", "listen: "),
    ],
)
def test_what_is_wrong_has_its_line_and_key(overlay, check, old, new, line, says):
    said = check(old, new)
    assert says in said
    assert said.startswith(f"a.toml:{line_of(overlay, line)}: "), said


def test_each_link_needs_a_neighbour(overlay, check):
    said = check('node = "r"', 'node = "b"')
    assert "the node has a link to `r`, which needs a [[neighbour]] of its own" in said


def test_an_open_proxy_has_to_be_meant(overlay, check):
    said = check(f'"127.0.0.1:{overlay.socks}"', '"0.0.0.0:1080"')
    line = line_of(overlay, "0.0.0.0:1080")
    assert said.startswith(f"a.toml:{line}: socks.listen: anyone who reaches 0.0.0.0:1080"), said
    meant = overlay.config("a").read_text().replace('"0.0.0.0:1080"', f'"0.0.0.0:{overlay.socks}"\nopen = true')
    overlay.config("a").write_text(meant)
    assert overlay.command("check", overlay.config("a")).stderr == ""


def test_a_key_of_another_length_has_its_line(overlay, check):
    said = check(overlay.keys["r"], "12ab")
    assert said.startswith(f"a.toml:{line_of(overlay, '12ab')}: neighbour.key: a key has 64"), said


def test_a_key_file_is_named_with_the_line_that_names_it(overlay, check):
    assert "a.toml:3: key: cannot read the key none.key" in check('"a.key"', '"none.key"')
    (overlay.folder / "open.key").write_text((overlay.folder / "a.key").read_text())
    (overlay.folder / "open.key").chmod(0o644)
    assert "a.toml:3: key: the key open.key is readable by others" in check('"none.key"', '"open.key"')


def test_two_nodes_of_one_name_are_refused_with_the_networks_line(overlay, check):
    said = check('{ name = "r" }', '{ name = "a" }', overlay.folder / "net.toml")
    assert re.match(r"net\.toml:4: topology.nodes\[1\].name: `a` is already the name of another node", said), said


def test_an_mtu_without_room_for_headers_is_refused(overlay, check):
    said = check('delay = "1 ms" },', 'delay = "1 ms", mtu = 80 },', overlay.folder / "net.toml")
    assert "leave no room for the scheme's headers of" in said
    assert said.startswith("a.toml:1: network: "), said


def test_a_scheme_that_carries_no_flows_is_refused(overlay, check):
    assert "carries no flows" in check('"cubic"', '"rpm"', overlay.folder / "net.toml")


def test_tunnels_of_the_simulator_are_refused(overlay, check):
    row = '[[deploy]]\nscheme = "inrpp"\ntunnels = "newreno"\n[topology]'
    said = check("[topology]", row, within=overlay.folder / "net.toml")
    assert "deploy[0].tunnels: supported in the simulator only" in said


def test_a_secret_that_everybody_knows_is_refused(overlay, check):
    network = overlay.folder / "net.toml"
    network.write_text(network.read_text().replace("secret =", "# secret ="))
    assert "secret" in check('"cubic"', '"inrpp"', network)


@pytest.mark.parametrize("command", ["check", "up"])
def test_a_port_in_use_is_named(overlay, check, command):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = check(f'"127.0.0.1:{overlay.socks}"', f'"127.0.0.1:{port}"', command=command)
    line = line_of(overlay, f'"127.0.0.1:{port}"')
    assert said.startswith(f"a.toml:{line}: socks.listen: cannot listen on 127.0.0.1:{port}"), said
    assert "another process has this address" in said


def test_the_nodes_own_port_in_use_is_named(overlay, check):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        said = check(f"127.0.0.1:{overlay.ports['a']}", f"127.0.0.1:{port}")
    assert said.startswith(f"a.toml:4: listen: cannot listen on 127.0.0.1:{port}"), said


def test_addresses_that_are_not_routed_here_say_which_route_would(overlay, check):
    port = nodes.free_port()
    said = check("[[socks]]", f'[[transparent]]\nto = "198.51.100.0/24:{port}"\nexit = "b"\n[[socks]]')
    assert "transparent.to: " in said
    assert "ip route add local 198.51.100.0/24 dev lo" in said


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="needs root, to be somebody without rights")
def test_missing_rights_say_what_needs_them(overlay, check):
    """As nobody: ports below 1024 need rights, and nothing else does."""
    config, everyone = overlay.config("a"), 65534
    for file in overlay.folder.iterdir():
        os.chown(file, everyone, everyone)
    os.chown(overlay.folder, everyone, everyone)
    good = config.read_text()

    def as_nobody():
        command = [str(overlay.program), "node", "check", str(config)]
        return subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=60, user=everyone, group=everyone
        )

    # Where ports begin for everybody is the machine's setting, and 0 in some containers.
    if int(Path("/proc/sys/net/ipv4/ip_unprivileged_port_start").read_text()) <= 80:
        pytest.skip("here nobody needs rights for port 80")
    try:
        plain = as_nobody()
    except PermissionError:
        pytest.skip("nobody may reach the program")
    assert plain.returncode == 0, plain.stderr
    config.write_text(good.replace(f"127.0.0.1:{overlay.socks}", "127.0.0.1:80"))
    refused = as_nobody()
    assert refused.returncode != 0
    assert "socks.listen: cannot listen on 127.0.0.1:80" in refused.stderr
    assert "need root or CAP_NET_BIND_SERVICE" in refused.stderr
