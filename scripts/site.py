"""Lays out the site for MkDocs: each page at its path in the repository, with the files that it links to.

MkDocs wants all pages in one folder. Ours are README.md, docs/ and a few that stand beside what they are
about, such as the papers' results. Here each keeps its path, so that a relative link means the same
in the repository and on the site. A file that a page links to comes along.
"""

import base64
import json
import posixpath
import re
import sys
import zlib
from pathlib import Path
from urllib.parse import unquote

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

sys.path.append(str(Path(__file__).parent))
import play_files
from lists import pages, title

ROOT = Path(__file__).parents[1]
START = ROOT / "README.md"
LINK = re.compile(r"\]\((?!\w+:)([^)#\s]+)")
CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)
ELSEWHERE = re.compile(r"<(?:script|link|img|iframe)\b[^>]*\b(?:src|href)=[\"']?(?:https?:)?//[^\"'>\s]+")
# Whole scenarios, which can be run where they are read; and pages with something to try, below their picture.
WHOLE = re.compile(r"^```toml(?! fragment)[^\n]*\n((?:(?!```).*\n)*?\[topology\]\n(?:(?!```).*\n)*)```\n", re.MULTILINE)
# A story's commands: a run with a trace, and its replay.
STORY = re.compile(r"^```sh\nmidpath run (\S+\.toml)((?:[^\n]|\\\n)*?)\nmidpath replay .*\n```\n", re.MULTILINE)
OPTION = re.compile(r"--(scheme|set|trace) (?:\"([^\"]+)\"|(\S+))")
OWN_SCHEME = re.compile(r'^scheme = "([^"]+)"', re.MULTILINE)
TO_TRY = {f"docs/schemes/{system}.md": system for system in ("inrpp", "fcp", "mircc", "rpm")}
PICTURE = re.compile(r"^!\[.*\)\n", re.MULTILINE)
NAMED = re.compile(r'^(?:file|trace) = "', re.MULTILINE)
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
    # What the playground's editor is bundled from.
    waiting -= set((ROOT / "docs/play/editor").iterdir())
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
    own = [File(name, str(ROOT), config.site_dir, config.use_directory_urls) for name in names]
    added = [File.generated(config, f"docs/play/{name}", content=content) for name, content in play_files.added()]
    return Files([*theme, *own, *added])


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001
    """`fragment` marks code that is not whole for our tests; readers need no such mark. What can be run, can be run."""
    source = page.file.src_uri
    if play_files.WASM.is_file():
        play = posixpath.relpath("docs/play", posixpath.dirname(source))

        def run_it(text: str) -> str:
            # A tab has no files.
            return "" if NAMED.search(text) else live("Run it", f"{play}/index.html?embed#s={packed(text)}")

        markdown = WHOLE.sub(lambda found: found[0] + run_it(found[1]), markdown)
        markdown = STORY.sub(lambda found: found[0] + run_it(told(found[1], found[2])), markdown)
        if system := TO_TRY.get(source):
            tried = live("Try it: two sliders, and a run for each position", f"{play}/explore.html#{system}")
            markdown = PICTURE.sub(lambda found: found[0] + tried, markdown, count=1)
    return FRAGMENT.sub(r"\1", markdown)


def live(said: str, address: str) -> str:
    """Something that runs where it is read, once it is opened."""
    frame = f'<iframe loading="lazy" title="{said}" src="{address}"></iframe>'
    return f'\n<details class="live"><summary>{said}</summary>{frame}</details>\n'


def told(file: str, options: str) -> str:
    """The scenario of a story, with what its command sets."""
    text = (ROOT / file).read_text(encoding="utf-8")
    for option, quoted, plain in OPTION.findall(options):
        value = quoted or plain
        if option == "scheme":
            text = OWN_SCHEME.sub(f'scheme = "{value}"', text, count=1)
        elif option == "set":
            path, _, given = value.partition("=")
            table, _, key = path.rpartition(".")
            text += f"\n[{table}]\n{key} = {given}\n"
        else:
            pairs = (pair.partition("=") for pair in value.split(","))
            text += "\n[trace]\n" + "".join(f'{key} = "{given}"\n' for key, _, given in pairs)
    return text


def packed(text: str) -> str:
    """A scenario in a link, as docs/play/links.js reads it."""
    scheme = OWN_SCHEME.search(text)
    held = {"text": text, "schemes": [scheme[1] if scheme else "newreno"], "seeds": 3}
    squeezed = zlib.compressobj(9, wbits=-15)
    content = squeezed.compress(json.dumps(held).encode()) + squeezed.flush()
    return base64.urlsafe_b64encode(content).decode().rstrip("=")


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:  # noqa: ARG001
    """A page loads nothing from elsewhere, so that it is whole without a network."""
    if found := ELSEWHERE.search(output):
        raise PluginError(f"{page.file.src_uri} loads something from elsewhere: {found[0]}")
    return output
