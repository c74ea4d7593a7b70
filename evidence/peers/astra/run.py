"""astra-sim's example workloads on Midpath: completion times beside its analytical back end's and beside a bound.

ASTRA_SIM names a checkout that its `build/astra_analytical/build.sh` has built; without one, it says so. The program is
ours and links to astra-sim's libraries; nothing of theirs is in this repository.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from midpath import markdown

ROOT = Path(__file__).resolve().parents[3]
HERE = Path(__file__).resolve().parent
# As examples/network/analytical/Ring_*npus.yml, whose "GB" are GiB (NetworkFunction.cpp); ns of each link of a ring.
BYTES_PER_S, DELAY_NS = 50 << 30, 500
SIZE = 1 << 20  # bytes of the examples' all-reduces
CHUNKS = 4  # as Ring_4chunks.json, one after the other
RANKS = [4, 8, 16]
SCHEMES = ["uec", "falcon", "dctcp"]
HEAD = """# astra-sim's all-reduces on Midpath

Written by `python evidence/peers/astra/run.py --write`: the examples' all-reduces of 1 MiB, rings in four chunks one
after the other, in us. [What they are of](README.md#measured).
"""


def libraries(astra: Path) -> list[str]:
    build = astra / "build/astra_analytical/build"
    found = {path.name: str(path) for path in build.rglob("*.a")}
    return [found[name] for name in ("libAstraSim.a", "libspdlog.a", "libfmt.a", "libyaml-cpp.a") if name in found]


def library() -> Path:
    subprocess.run(["cargo", "build", "--package", "midpath-c", "--release"], cwd=ROOT, check=True)
    return ROOT / "target/release/libmidpath_c.a"


def compiled(astra: Path, library: Path, to: Path) -> None:
    folders = ["", "extern", "extern/helper", "extern/helper/spdlog/include", "extern/helper/fmt/include"]
    chakra = "extern/graph_frontend/chakra"
    folders += [chakra, f"{chakra}/schema/protobuf", f"{chakra}/src/third_party/utils"]
    yaml = [path.parents[1] for path in astra.rglob("yaml-cpp/yaml.h")]
    includes = [f"-I{astra / folder}" for folder in folders] + [f"-I{path}" for path in yaml]
    command = ["c++", "-std=c++17", "-O1", "-DSPDLOG_COMPILED_LIB", *includes, f"-I{ROOT / 'crates/c/include'}"]
    command += [str(HERE / "midpath.cc"), "-o", str(to), *libraries(astra), str(library)]
    subprocess.run([*command, "-lprotobuf", "-lm", "-lpthread", "-ldl"], check=True)


def analytical(astra: Path, ranks: int, folder: Path) -> float:
    """Microseconds of astra-sim's own back end that knows congestion."""
    binary = astra / "build/astra_analytical/build/bin/AstraSim_Analytical_Congestion_Aware"
    examples = astra / "examples"
    network = examples / f"network/analytical/Ring_{ranks}npus.yml"
    out = run_astra(binary, examples, ranks, f"--network-configuration={network}", folder)
    return max(int(cycles) for cycles in re.findall(r"finished, (\d+) cycles", out)) / 1e3


def run_astra(binary: Path, examples: Path, ranks: int, network: str, folder: Path) -> str:
    traces = f"workload/microbenchmarks/all_reduce/{ranks}npus_1MB/all_reduce"
    command = [str(binary), network, f"--workload-configuration={examples}/{traces}"]
    command += [f"--system-configuration={examples}/system/native_collectives/Ring_4chunks.json"]
    command += [f"--remote-memory-configuration={examples}/remote_memory/analytical/no_memory_expansion.json"]
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=folder)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def scenario(ranks: int, scheme: str) -> str:
    """Hosts on one switch, whose links are as fast as the ring's and have half its delay."""
    access = f'{{ rate = "{BYTES_PER_S * 8} bps", delay = "{DELAY_NS // 2} ns", mtu = 4150 }}'
    return f'scheme = "{scheme}"\n[topology]\ngenerate = "star"\nn = {ranks}\naccess = {access}\n'


def bound(ranks: int) -> float:
    """Microseconds of the steps' bytes over a rank's link and of their delays; no system layer, no headers."""
    steps = CHUNKS * 2 * (ranks - 1)
    return steps * (SIZE / CHUNKS / ranks / BYTES_PER_S * 1e6 + DELAY_NS / 1e3)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library", type=Path, help="libmidpath_c.a, if it is built; else Cargo builds it")
    parser.add_argument("--write", action="store_true", help="write RESULTS.md, too")
    asked = parser.parse_args()
    astra = Path(os.environ.get("ASTRA_SIM") or "nowhere")
    if not (astra / "astra-sim/common/AstraNetworkAPI.hh").is_file():
        print("skipped: ASTRA_SIM names no checkout of astra-sim")
        return
    if not libraries(astra):
        print("skipped: build astra-sim first, with its build/astra_analytical/build.sh")
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        compiled(astra, asked.library or library(), folder / "astra_midpath")
        lines = [HEAD, markdown.head(["ranks", "bound", "analytical", *SCHEMES])]
        lines += [markdown.line([str(n), *(f"{us:.1f}" for us in times(astra, n, folder))]) for n in RANKS]
    print("\n".join(lines))
    if asked.write:
        (HERE / "RESULTS.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


def times(astra: Path, ranks: int, folder: Path) -> list[float]:
    """Microseconds: the bound, the analytical back end's, and each scheme's."""
    found = [bound(ranks), analytical(astra, ranks, folder)]
    for scheme in SCHEMES:
        (folder / "scenario.toml").write_text(scenario(ranks, scheme))
        network = f"--scenario={folder / 'scenario.toml'}"
        out = run_astra(folder / "astra_midpath", astra / "examples", ranks, network, folder)
        found.append(int(re.findall(r"finished_ps (\d+)", out)[-1]) / 1e6)
    if min(found) < found[0]:
        sys.exit(f"sooner than the bound: {found}")
    return found


if __name__ == "__main__":
    main()
