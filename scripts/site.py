"""Lays out the site for MkDocs: each page at its path in the repository, with the files that it links to.

MkDocs wants all pages in one folder. Ours are README.md, docs/ and a few that stand beside what they are
about, such as the papers' results. Here each keeps its path, so that a relative link means the same
in the repository and on the site. A file that a page links to comes along.
"""

import re
import sys
from pathlib import Path
from urllib.parse import unquote

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

sys.path.append(str(Path(__file__).parent))
from lists import pages, title

ROOT = Path(__file__).parents[1]
START = ROOT / "README.md"
LINK = re.compile(r"\]\((?!\w+:)([^)#\s]+)")
CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)
ELSEWHERE = re.compile(r"<(?:script|link|img|iframe)\b[^>]*\b(?:src|href)=[\"']?(?:https?:)?//[^\"'>\s]+")
FRAGMENT = re.compile(r"^(\s*```\w+) fragment$", re.MULTILINE)


def linked(page: Path) -> set[Path]:
    """The files of the repository that a page links to."""
    text = CODE.sub("", page.read_text(encoding="utf-8"))
    found = {(page.parent / unquote(link)).resolve() for link in LINK.findall(text)}
    return {path for path in found if path.is_file() and path.is_relative_to(ROOT)}


def contents() -> set[Path]:
    """README, everything in docs/, and what these link to, at any distance."""
    reached: set[Path] = set()
    waiting = {START, *pages()} | {path for path in (ROOT / "docs").rglob("*") if path.is_file()}
    while waiting:
        path = waiting.pop()
        reached.add(path)
        if path.suffix == ".md":
            waiting |= linked(path) - reached
    return reached


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Puts the schemes' pages into the menu, before what else is under Schemes."""
    menu = next(part["Schemes"] for part in config.nav or [] if "Schemes" in part)
    menu[:0] = [{title(page): page.relative_to(ROOT).as_posix()} for page in pages()]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Replaces what MkDocs found in docs/ by the whole layout; the theme's files stay."""
    theme = [file for file in files if file.src_dir != config.docs_dir]
    names = sorted(path.relative_to(ROOT).as_posix() for path in contents())
    return Files([*theme, *(File(name, str(ROOT), config.site_dir, config.use_directory_urls) for name in names)])


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001
    """`fragment` marks code that is not whole for our tests; readers need no such mark."""
    return FRAGMENT.sub(r"\1", markdown)


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:  # noqa: ARG001
    """A page loads nothing from elsewhere, so that it is whole without a network."""
    if found := ELSEWHERE.search(output):
        raise PluginError(f"{page.file.src_uri} loads something from elsewhere: {found[0]}")
    return output
