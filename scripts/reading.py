"""Lists the pages by how hard their prose is to read: the Flesch-Kincaid grade, and the share of long sentences.

    python scripts/reading.py                   README, CONTRIBUTING and docs/, hardest first
    python scripts/reading.py --beside HEAD~3   a table of before and after, where a page's grade has moved

The grade is 0.39 words per sentence + 11.8 syllables per word - 15.59 (Kincaid et al., 1975): years of school. It
knows nothing of our field's words, so compare a page with itself. Code, tables, headings and pictures do not count;
what stands in `code` counts as one short word. Syllables are groups of vowels, without a silent e: within a few
percent of a dictionary over a whole page, and in need of none.
"""

import argparse
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
# Longer sentences are read twice, by a rule of thumb of plain-English guides.
LONG = 30
# A grade that has moved by less than this tells of other content, not of other sentences.
MOVED = 0.4
# Written by scripts or lists by nature.
LEFT_OUT = {"docs/command.md", "docs/scenario.md", "docs/glossary.md", "docs/gallery.md", "docs/api.md"}

REMOVED = re.compile(
    r"```[\s\S]*?```"  # code
    r"|^ *\|.*$"  # tables
    r"|^#.*$"  # headings
    r"|!\[[^\]]*\]\([^)]*\)"  # pictures
    r"|<[^>]+>"
    r"|^    \S.*$",  # equations
    re.MULTILINE,
)
SENTENCE = re.compile(r"(?<=[.!?:;])[\"*)_]*\s+(?=[\"*(_A-Z`])|\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )")
WORD = re.compile(r"[A-Za-zÀ-ÿ]+(?:['’-][A-Za-zÀ-ÿ]+)*")
VOWELS = re.compile(r"[aeiouyà-öø-ÿ]+")
# The e of "rate" and "rates" is silent; that of "table" and "agree" is not.
SILENT = re.compile(r"(?<![aeiouyl])es?$|(?<=[aeiouy]l)es?$|(?<=[^aeiouytd])ed$")


@dataclass(frozen=True)
class Reading:
    """How a text reads."""

    sentences: int
    words: int
    grade: float
    long_share: float


def reading(markdown: str) -> Reading | None:
    """How the prose of a page reads; None if it has none."""
    text = REMOVED.sub("\n\n", markdown)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"`[^`]*`", "code", text)
    found = [words for sentence in SENTENCE.split(text) if len(words := WORD.findall(sentence)) > 1]
    if not found:
        return None
    words = [word for sentence in found for word in sentence]
    syllables = sum(map(syllables_of, words)) / len(words)
    grade = 0.39 * len(words) / len(found) + 11.8 * syllables - 15.59
    return Reading(len(found), len(words), grade, sum(len(s) > LONG for s in found) / len(found))


def syllables_of(word: str) -> int:
    """How many syllables a word has, nearly."""
    return max(1, len(VOWELS.findall(SILENT.sub("", word.lower()))))


def pages() -> dict[str, str]:
    """The pages that people wrote, by path."""
    files = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    named = {file.relative_to(ROOT).as_posix(): file for file in files}
    return {name: file.read_text(encoding="utf-8") for name, file in named.items() if name not in LEFT_OUT}


def at(revision: str, name: str) -> str | None:
    """A page as it was at a revision."""
    done = subprocess.run(["git", "show", f"{revision}:{name}"], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else None


def main() -> None:
    """Prints the list, or the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--beside", metavar="REVISION")
    asked = parser.parse_args()
    now = {name: found for name, text in pages().items() if (found := reading(text))}
    if not asked.beside:
        for name, found in sorted(now.items(), key=lambda item: -item[1].grade):
            print(f"{found.grade:5.1f}  {found.long_share:4.0%} long  {found.words:6,} words  {name}")
        return
    print("| page | grade before | now | sentences above 30 words before | now |\n|---|---|---|---|---|")
    for name, found in now.items():
        text = at(asked.beside, name)
        before = reading(text) if text is not None and text != pages()[name] else None
        if before and abs(before.grade - found.grade) >= MOVED:
            shares = f"{before.long_share:.0%} | {found.long_share:.0%}"
            print(f"| {name} | {before.grade:.1f} | {found.grade:.1f} | {shares} |")


if __name__ == "__main__":
    main()
