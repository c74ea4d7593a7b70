"""Takes pictures of each kind of report, wide, on a phone, in the dark and on paper, and lists what is wrong with them.

    python evidence/lab/report-looks/look.py FOLDER           makes the reports in FOLDER, then their pictures
    python evidence/lab/report-looks/look.py FOLDER --pages   takes the pictures of reports that are there already

Needs Chromium. Pages of PDF become pictures if pypdfium2 is there (`pip install pypdfium2 pillow`). What a program can
find it lists: a page wider than its window or paper, text that is cut off, text on text. Colours and sense are for a
reader to judge.
"""

import argparse
import importlib
import importlib.util
import re
import subprocess
import sys
from pathlib import Path

from chromium import Page

pypdfium2 = importlib.import_module("pypdfium2") if importlib.util.find_spec("pypdfium2") else None

ROOT = Path(__file__).parents[3]
SCHEMES = "newreno,cubic,dctcp,cubic+rpm,fcp,mircc,inrpp"
LIMITS, LOADS = "queue.limit=2ms,5ms,10ms,20ms,50ms,100ms", "workload.0.arrivals.load=50%,70%,90%"
VARIED = ["--vary", LIMITS, "--vary", LOADS]
# What makes each report. The what-if scenario is that of the page.
REPORTS = {
    "comparison": ["compare", ROOT / "examples/abilene.toml", "--schemes", SCHEMES, "--seeds", "2"],
    "sweep": ["sweep", ROOT / "examples/buffers.toml", *VARIED, "--schemes", "cubic,dctcp,fcp", "--seeds", "3"],
    "failures": ["failures", "net.toml", "--schemes", "cubic,cubic+rpm", "--seeds", "5"],
    "variants": ["compare", "net.toml", "--schemes", "cubic,cubic+rpm", "--seeds", "3", "--no-ideal"],
    "series": ["run", ROOT / "examples/inrpp_backpressure.toml"],
}
LOOKS = {
    "wide": (1280, "light"),
    "phone": (400, "light"),
    "dark": (1280, "dark"),
    "phone-dark": (400, "dark"),
}
# Gives a line for each fault of the page. Text may be cut in boxes that scroll, and nowhere else.
FAULTS_IN = """(() => {
  const faults = [], width = ROOM;
  const over = document.documentElement.scrollWidth - Math.max(width, document.documentElement.clientWidth);
  if (over > 0) faults.push(`the page is ${over} px wider than its window`);
  for (const element of document.querySelectorAll("main *")) {
    if (element.closest(".scroll, pre, .plot, option")) continue;
    const box = element.getBoundingClientRect();
    if (box.width && (box.right > width + 1 || box.left < -1))
      faults.push(`<${element.tagName.toLowerCase()} class="${element.className}"> leaves the window at the side`);
  }
  for (const plot of document.querySelectorAll(".plot")) {
    const frame = plot.getBoundingClientRect();
    if (plot.querySelector(".main-svg").getBoundingClientRect().width > frame.width + 1)
      faults.push(`${plot.id} is wider than its card`);
    const texts = [...plot.querySelectorAll("svg text")]
      .filter(text => text.textContent.trim() && getComputedStyle(text).visibility !== "hidden")
      .map(text => ({ said: text.textContent, box: text.getBoundingClientRect(), turn: text.getScreenCTM() }))
      .filter(({ box }) => box.width > 0);
    for (const { said, box } of texts)
      if (box.left < frame.left - 1 || box.right > frame.right + 1
        || box.top < frame.top - 1 || box.bottom > frame.bottom + 1)
        faults.push(`${plot.id}: "${said}" is cut off`);
    // Boxes of slanted texts say nothing of the texts.
    const level = texts.filter(({ turn }) => Math.abs(turn.a * turn.b) < 1e-6);
    level.forEach(({ said, box }, at) => {
      for (const { said: other, box: its } of level.slice(at + 1)) {
        const wide = Math.round(Math.min(box.right, its.right) - Math.max(box.left, its.left));
        const high = Math.round(Math.min(box.bottom, its.bottom) - Math.max(box.top, its.top));
        if (wide > 2 && high > 4) faults.push(`${plot.id}: "${said}" and "${other}" overlap by ${wide} × ${high} px`);
      }
    });
  }
  return faults;
})()"""
FAULTS = FAULTS_IN.replace("ROOM", "document.documentElement.clientWidth")
# The same, of the page as it makes ready to be printed, where nothing can be scrolled.
ON_PAPER = """(() => {
  dispatchEvent(new Event("beforeprint"));
  const faults = FAULTS;
  for (const box of document.querySelectorAll(".scroll")) {
    const over = box.scrollWidth - box.clientWidth;
    if (over > 1) faults.push(`the table ${box.firstElementChild.id} is ${over} px too wide`);
  }
  dispatchEvent(new Event("afterprint"));
  return faults;
})()""".replace("FAULTS", FAULTS_IN.replace("ROOM", 'document.querySelector("main").getBoundingClientRect().right'))


def main() -> int:
    """Makes reports and pictures; ends with 1 if a program finds a fault."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pages", action="store_true", help="the reports are there already")
    parser.add_argument("--only", help="one report")
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    names = [asked.only] if asked.only else list(REPORTS)
    if not asked.pages:
        for name in names:
            make(name, asked.folder)
    faults = [f"{name}, {fault}" for name in names for fault in look(name, asked.folder)]
    print("\n".join(faults) or "no faults that a program can find")
    return 1 if faults else 0


def make(name: str, folder: Path) -> None:
    """Runs what the report is of, and writes it."""
    page = (ROOT / "docs" / "what-if.md").read_text(encoding="utf-8")
    net = re.search(r'^```toml title="net.toml"\n(.*?)^```$', page, re.MULTILINE | re.DOTALL)
    assert net, "docs/what-if.md has no net.toml any more"
    (folder / "net.toml").write_text(net[1], encoding="utf-8")
    midpath = [sys.executable, "-m", "midpath"]
    for command in ([*REPORTS[name], "--out", name], ["report", name]):
        subprocess.run([*midpath, *command], cwd=folder, check=True, stdout=subprocess.DEVNULL)


def look(name: str, folder: Path) -> list[str]:
    """Takes a report's pictures, and gives its faults, each with the look that has it."""
    faults = []
    with Page(folder / name / "report.html") as page:
        for kind, (width, theme) in LOOKS.items():
            page.show(width, theme)
            page.picture(folder / f"{name}-{kind}.png")
            faults += [f"{kind}: {fault}" for fault in page.run(FAULTS)]
        # A reader in the dark prints, too: on white paper.
        for theme in ("light", "dark"):
            page.show(1280, theme)
            file = folder / f"{name}-print-{theme}.pdf"
            page.pdf(file)
            pictures(file)
        faults += [f"print: {fault}" for fault in page.run(ON_PAPER)]
    return faults


def pictures(file: Path) -> None:
    """A PNG of each page of a PDF."""
    if pypdfium2 is None:
        return
    for number, page in enumerate(pypdfium2.PdfDocument(file), 1):
        page.render(scale=1.5).to_pil().save(file.with_name(f"{file.stem}-{number}.png"))


if __name__ == "__main__":
    sys.exit(main())
