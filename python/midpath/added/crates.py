"""Crates with schemes: reading their manifests, and writing the crate that compiles them with Midpath."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomli_w

from midpath.added.choose import ADDED
from midpath.errors import UsageError
from midpath.extension import _midpath

# In a crate: a link to Midpath's sources, which its Cargo.toml names.
LINK = ".midpath"

LIBRARY = """//! Midpath's simulator with the schemes of crates outside. Written by `midpath add`.

use pyo3::prelude::*;

#[pymodule]
mod midpath_added {{
    use pyo3::exceptions::PyImportError;
    use pyo3::prelude::*;

    #[pymodule_export]
    use ::_midpath::_midpath;

    #[pymodule_init]
    fn init(_module: &Bound<'_, PyModule>) -> PyResult<()> {{
        ::_midpath::register(&[{schemes}]).map_err(PyImportError::new_err)
    }}
}}
"""


@dataclass(frozen=True)
class Crate:
    """A crate with schemes."""

    name: str
    path: Path
    manifest: dict[str, Any]

    @staticmethod
    def read(path: Path) -> Crate:
        """The crate in a folder, if it keeps to this Midpath's contract."""
        try:
            manifest = tomllib.loads((path / "Cargo.toml").read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise UsageError(f"{path} has no Cargo.toml: name the folder of a crate with a scheme") from None
        except tomllib.TOMLDecodeError as error:
            raise UsageError(f"{path / 'Cargo.toml'}: {error}") from None
        package = manifest.get("package", {})
        name, contract = package.get("name"), package.get("metadata", {}).get("midpath", {}).get("contract")
        if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z][\w-]*", name):
            raise UsageError(f"{path / 'Cargo.toml'} has no package name")
        if contract != _midpath.contract():
            theirs = "no contract of Midpath's" if contract is None else f"contract {contract}"
            ours = f"this Midpath to contract {_midpath.contract()}"
            raise UsageError(f"{name} keeps to {theirs}, and {ours}: see docs/add-a-scheme.md")
        return Crate(name, path.resolve(), manifest)

    def beside_midpath(self, sources: Path) -> dict[str, Any]:
        """Its manifest as a member of Midpath's workspace in `sources`, with Midpath's crates from there."""
        kept = {key: self.manifest[key] for key in ("package", "features", "lints") if key in self.manifest}
        library = {"path": str(self.path / "src" / "lib.rs")} | self.manifest.get("lib", {})
        return kept | {"lib": library, "dependencies": self._dependencies(sources)}

    def _dependencies(self, sources: Path) -> dict[str, Any]:
        needs = self.manifest.get("dependencies", {})
        return {name: self._rooted(name, need, sources) for name, need in needs.items()}

    def _rooted(self, name: str, need: Any, sources: Path) -> Any:
        """A dependency whose path no longer depends on where it is written."""
        if not isinstance(need, dict) or "path" not in need:
            return need
        own = name.removeprefix("midpath-")
        ours = sources / ("net" if f"net/{own}/Cargo.toml" in _midpath.sources() else "crates") / own
        place = ours if name.startswith("midpath-") else (self.path / need["path"]).resolve()
        return need | {"path": str(place)}


def together(names: list[str]) -> str:
    """The library that puts crates' schemes into Midpath's simulator."""
    return LIBRARY.format(schemes=", ".join(f"{name.replace('-', '_')}::schemes" for name in sorted(names)))


def workspace(crates: list[Crate], sources: Path) -> dict[str, str]:
    """Files by path: Midpath's sources as a workspace, with these crates, and the simulator that has all of them."""
    files = _midpath.sources()
    manifest = tomllib.loads(files["Cargo.toml"])
    members = {"members": ["crates/*", "net/*", "python/wheel", "added/*", "simulator"]}
    shared = {key: value for key, value in manifest["workspace"].items() if key != "exclude"}
    manifest["profile"]["release"] |= {"debug": False, "strip": True}
    files["Cargo.toml"] = tomli_w.dumps(manifest | {"workspace": shared | members})
    for crate in crates:
        files[f"added/{crate.name}/Cargo.toml"] = tomli_w.dumps(crate.beside_midpath(sources))
    needs = {crate.name: {"path": f"../added/{crate.name}"} for crate in crates}
    simulator = {
        "package": {"name": ADDED.replace("_", "-"), "version": "0.0.0", "edition": "2024"},
        "lib": {"crate-type": ["cdylib"]},
        "dependencies": {"midpath-wheel": {"path": "../python/wheel"}, "pyo3": {"workspace": True}} | needs,
    }
    files["simulator/Cargo.toml"] = tomli_w.dumps(simulator)
    files["simulator/src/lib.rs"] = together([crate.name for crate in crates])
    return files
