"""The registry of paper claims: `papers/<paper>/<table or figure>/claim.toml`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from midpath.scenario import parse

CLAIM = "claim.toml"


@dataclass(frozen=True)
class Claim:
    """A number or shape that a paper states, and where its scenario lies."""

    id: str
    title: str
    directory: Path

    def to_json(self) -> dict[str, Any]:
        """As `midpath paper list --json` prints it."""
        return {"id": self.id, "title": self.title}


def claims(root: Path | None = None) -> list[Claim]:
    """All claims below `root`; else below the `papers` folder here, or the one beside the source of this package."""
    root = root or _default_root()
    return [_claim(root, file) for file in sorted(root.glob(f"*/*/{CLAIM}"))]


def _default_root() -> Path:
    here = Path("papers")
    return here if here.is_dir() else Path(__file__).resolve().parents[2] / "papers"


def _claim(root: Path, file: Path) -> Claim:
    values = parse(file.read_text(encoding="utf-8"), str(file))
    return Claim("/".join(file.parent.relative_to(root).parts), str(values.get("title", "")), file.parent)
