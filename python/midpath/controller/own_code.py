"""A controller's code: its file and the modules that it imports from its folder, as read.

It is hashed into a store's key and sent to workers, so a run depends on nothing else: every process loads these
texts. Data files are not included.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import inspect
import re
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from importlib.abc import InspectLoader, MetaPathFinder
from importlib.machinery import ModuleSpec
from operator import attrgetter
from pathlib import Path
from types import CodeType, ModuleType

from midpath.errors import UsageError

# Modules are of the whole process, so one piece of code is loaded at a time.
_loading = threading.RLock()


@dataclass(frozen=True)
class Code:
    """A file of Python, and what it imports from its folder: texts by path from there, the file's own first."""

    texts: tuple[tuple[str, str], ...]
    folder: str = field(default="", compare=False)

    @classmethod
    def read(cls, file: Path) -> Code:
        """The code in a file, and in those beside it that it imports, and these import."""
        file = file.absolute()
        folder, texts, waiting = file.parent, {}, [file]
        while waiting:
            path = waiting.pop(0)
            if path.is_relative_to(folder) and (place := path.relative_to(folder).as_posix()) not in texts:
                texts[place] = path.read_text(encoding="utf-8")
                waiting += _imported(ast.parse(texts[place], place), path, folder)
        return cls(tuple(texts.items()), str(folder))

    @property
    def file(self) -> str:
        """The name of its file."""
        return self.texts[0][0]

    @cached_property
    def digests(self) -> dict[str, str]:
        """The SHA-256 of each file, by path."""
        return {place: hashlib.sha256(text.encode()).hexdigest() for place, text in self.texts}

    def load(self) -> ModuleType:
        """The module of its file. Each process runs the same code once."""
        with _loading:
            return _loaded(self)


class _Finder(MetaPathFinder, InspectLoader):
    """Finds modules in a piece of code before anything of their names elsewhere, as for a script of that folder."""

    def __init__(self, code: Code) -> None:
        self.code, self.texts = code, dict(code.texts)
        own = hashlib.sha256(repr(code.texts).encode()).hexdigest()[:16]
        # Files of one name may be in several folders.
        self.main = f"midpath_own_{re.sub(r'[^A-Za-z0-9]', '_', Path(code.file).stem)}_{own}"

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        del path, target  # texts alone say where a module is
        place = self.place(fullname)
        if place is None:
            folder = fullname.replace(".", "/") + "/"
            known = any(other.startswith(folder) for other in self.texts)
            return ModuleSpec(fullname, None, is_package=True) if known else None
        file = Path(self.code.folder, place)
        inside = [str(file.parent)] if file.name == "__init__.py" else None
        return importlib.util.spec_from_file_location(fullname, file, loader=self, submodule_search_locations=inside)

    def get_source(self, fullname: str) -> str:
        place = self.place(fullname)
        if place is None:
            raise ImportError(fullname)
        return self.texts[place]

    def get_code(self, fullname: str) -> CodeType:
        """Compiled under the file's own name, which errors say."""
        file = Path(self.code.folder, self.place(fullname) or "")
        return self.source_to_code(self.get_source(fullname), str(file))

    def place(self, name: str) -> str | None:
        """Where the module of a name is."""
        if name == self.main:
            return self.code.file
        head = name.replace(".", "/")
        return next((place for place in (f"{head}.py", f"{head}/__init__.py") if place in self.texts), None)

    def heads(self) -> set[str]:
        """The names under which the folder's other modules are imported."""
        return {Path(place).parts[0].removesuffix(".py") for place, _ in self.code.texts[1:]}


@lru_cache(maxsize=64)
def _loaded(code: Code) -> ModuleType:
    finder = _Finder(code)
    _make_way(finder)
    sys.meta_path.insert(0, finder)
    try:
        spec = finder.find_spec(finder.main)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[finder.main] = module
        spec.loader.exec_module(module)
    except BaseException:
        sys.meta_path.remove(finder)
        raise
    return module


def _make_way(finder: _Finder) -> None:
    """Forgets modules of these names that other code has brought; what is this process's own stays."""
    heads = finder.heads()
    for name in [name for name in sys.modules if name.partition(".")[0] in heads]:
        module = sys.modules[name]
        if isinstance(getattr(module, "__loader__", None), _Finder):
            del sys.modules[name]
        elif (place := finder.place(name)) and _file_of(module) != Path(finder.code.folder, place):
            raise UsageError(
                f"{finder.code.file} imports {name} from its folder, but another module has this name: rename it"
            )


def _file_of(module: ModuleType) -> Path | None:
    file = getattr(module, "__file__", None)
    return Path(file) if file else None


def code_of(cls: type) -> Code | None:
    """The code that a class is from; none where no other process could load it from a file."""
    module = sys.modules.get(cls.__module__)
    loader = getattr(module, "__loader__", None)
    return loader.code if isinstance(loader, _Finder) else _read_of(cls)


@lru_cache(maxsize=64)
def _read_of(cls: type) -> Code | None:
    """Read once: what a process has loaded stays as it is, whatever becomes of the file."""
    try:
        file = Path(inspect.getsourcefile(cls) or "")
        return Code.read(file) if _is_own_file(cls, file) else None
    except (OSError, TypeError, ValueError, SyntaxError):
        return None


def _is_own_file(cls: type, file: Path) -> bool:
    """A module outside all packages, not the script that runs, and a class that is found there by its name."""
    if file.stem != cls.__module__ or "site-packages" in file.parts:
        return False
    try:
        return attrgetter(cls.__qualname__)(sys.modules[cls.__module__]) is cls
    except (AttributeError, KeyError):
        return False


def _imported(tree: ast.Module, path: Path, folder: Path) -> Iterator[Path]:
    """The files beside it that a module imports, wherever in it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _files(folder, alias.name.split("."))
        elif isinstance(node, ast.ImportFrom):
            base = path.parents[node.level - 1] if node.level else folder
            steps = node.module.split(".") if node.module else []
            for alias in node.names:
                yield from _files(base, [*steps, alias.name])


def _files(base: Path, steps: Sequence[str]) -> Iterator[Path]:
    """The files of a module in a folder, and of the packages that it is in; the last step may be a name in one."""
    for count in range(1, len(steps) + 1):
        path = base.joinpath(*steps[:count])
        yield from (file for file in (path / "__init__.py", path.with_suffix(".py")) if file.is_file())
