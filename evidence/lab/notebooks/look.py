"""Opens the notebooks' pages of the site in a headless Chromium, wide and on a phone, and counts what they show.

    make site && python evidence/lab/notebooks/look.py > evidence/lab/notebooks/RESULTS.md

Exit code 1 if a figure does not load, a page is wider than its window, or a script or a file of it fails.
Needs Chromium.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "report-looks"))

from chromium import Page

ROOT = Path(__file__).parents[3]
SITE = ROOT / "target" / "site" / "docs" / "notebooks"
SOURCES = sorted((ROOT / "notebooks").glob("*.py"))
WIDTHS = {"wide": 1280, "phone": 400}
# Runs before the page's own scripts.
LISTEN = """window.failures = [];
addEventListener("error", (one) => failures.push(one.message || one.target.src || one.target.href), true);"""
SHOWN = """(() => {
  const within = document.querySelector("article");
  const images = [...within.querySelectorAll("img")];
  return {
    title: within.querySelector("h1").innerText.replace("¶", "").trim(),
    code: within.querySelectorAll("pre").length,
    tables: within.querySelectorAll("table").length,
    images: images.length,
    loaded: images.filter((one) => one.complete && one.naturalWidth > 0 && one.clientWidth > 0).length,
    over: document.documentElement.scrollWidth - document.documentElement.clientWidth,
    failures: window.failures,
  };
})()"""


def faults(shown: dict) -> list[str]:
    """What is wrong with a page as it is shown."""
    found = [f"fails: {one}" for one in shown["failures"]]
    if shown["loaded"] < shown["images"]:
        found.append(f"{shown['images'] - shown['loaded']} figures do not load")
    if shown["over"] > 0:
        found.append(f"{shown['over']} px wider than the window")
    if not shown["code"]:
        found.append("no code")
    return found


def look(file: Path) -> tuple[dict, list[str]]:
    """What a page shows when it is wide, and all that is wrong with it."""
    wrong, first = [], {}
    with Page(file) as page:
        page.ask("Page.addScriptToEvaluateOnNewDocument", source=LISTEN)
        for name, width in WIDTHS.items():
            page.show(width, "light")
            shown = page.run(SHOWN)
            first = first or shown
            wrong += [f"{name}: {fault}" for fault in faults(shown)]
    return first, wrong


def main() -> int:
    """Prints the page."""
    print("# The notebooks' pages in a browser\n")
    print("`python evidence/lab/notebooks/look.py` opens each page of the site in a headless Chromium, ", end="")
    print(f"{' and '.join(f'{width} px' for width in WIDTHS.values())} wide.\n")
    print("| page | blocks of code and output | tables | figures, loaded | wrong |\n|---|---|---|---|---|")
    failed = not SOURCES
    for source in SOURCES:
        shown, wrong = look(SITE / f"{source.stem}.html")
        failed |= bool(wrong)
        figures = f"{shown['images']}, {shown['loaded']}"
        print(f"| {shown['title']} | {shown['code']} | {shown['tables']} | {figures} | {'; '.join(wrong) or '–'} |")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
