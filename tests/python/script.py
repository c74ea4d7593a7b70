"""Loads scripts that are no part of the package, as modules."""

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType


def load(path: Path) -> ModuleType:
    """The script at `path`, which may import others from its folder."""
    spec = importlib.util.spec_from_file_location(f"{path.parent.name}_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    sys.path.insert(0, str(path.parent))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(path.parent))
    return module


def suite(name: str) -> ModuleType:
    """A module of evidence/properties, such as `mircc.spread` or `harness`."""
    folder = str(Path(__file__).parents[2] / "evidence/properties")
    if folder not in sys.path:
        sys.path.insert(0, folder)
    return importlib.import_module(name)
