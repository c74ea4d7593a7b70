"""Takes pictures of the playground's states, and lists what is wrong with them.

    make web site
    python evidence/lab/report-looks/play.py FOLDER [SITE]

SITE is a built site (target/site). States: first paint, after a run with a comparison, errors under their lines, the
replay, variants, 400 pixels wide, dark; and on pages of the documentation a scenario that runs where it is read, and a
figure with sliders. Needs Chromium. What a program can find it lists, as look.py does; colours and sense are for a
reader.
"""

import base64
import functools
import http.server
import sys
import threading
import time
from pathlib import Path

from chromium import Page
from look import FAULTS

ROOT = Path(__file__).parents[3]
READY = "'ready' in document.documentElement.dataset"
REPORT, REPLAY = (
    f"document.querySelector('#frames [data-kind={kind}]')?.style.height" for kind in ("report", "replay")
)
FRAME = "document.querySelector('#frames [data-kind=replay]')"
PLAY = (71, 123)
WIDE, PHONE = 1280, 400
INRPP, TUTORIAL = "docs/schemes/inrpp.html", "docs/tutorial.html"


class Quiet(http.server.SimpleHTTPRequestHandler):
    """A server that says nothing."""

    def log_message(self, *_: object) -> None:
        """Nothing."""


def until(page: Page, condition: str) -> None:
    """Waits for a condition, and for the page to be painted."""
    for _ in range(600):
        try:
            if page.run(f"Boolean({condition})"):
                break
        except RuntimeError:
            pass  # between two pages
        time.sleep(0.2)
    else:
        raise RuntimeError(f"never: {condition}")
    time.sleep(1.5)


def size(page: Page, width: int, height: int) -> None:
    """The window's, a phone's if it is narrow."""
    shown = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 640}
    page.ask("Emulation.setDeviceMetricsOverride", **shown)


def show(page: Page, address: str, width: int = WIDE, theme: str = "light", height: int = 1000) -> None:
    """Opens an address afresh."""
    size(page, width, height)
    page.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": theme}])
    page.ask("Page.navigate", url="about:blank")
    page.ask("Page.navigate", url=address)


def click(page: Page, button: str) -> None:
    """Clicks a button of the playground."""
    page.run(f"document.getElementById('{button}').click()")


def tick(page: Page, *schemes: str) -> None:
    """Ticks these schemes, and no others."""
    page.run(
        "for (const box of document.querySelectorAll('#schemes input'))"
        f" box.checked = {list(schemes)}.includes(box.value)"
    )


def spoil(page: Page) -> None:
    """Types what is wrong at the start of the scenario."""
    page.run("document.querySelector('.cm-content').focus()")
    page.ask("Input.insertText", text='stop = "1 fortnight"\nqueu.limit = 3\n')
    until(page, "document.querySelector('.error-line')")


def states(page: Page, site: str, folder: Path) -> None:
    """One picture after the other."""
    play = f"{site}/docs/play/index.html"

    def take_screenshot(name: str) -> None:
        # Frames are painted where they are in the window.
        width = int(page.run("innerWidth"))
        size(page, width, int(page.run("document.documentElement.scrollHeight")))
        time.sleep(2)
        page.picture(folder / f"play-{name}.png")
        for fault in page.run(FAULTS):
            print(f"{name}: {fault}")

    show(page, play)
    until(page, READY)
    take_screenshot("first")
    for name, width, theme in (("compared", WIDE, "light"), ("dark", WIDE, "dark"), ("phone", PHONE, "light")):
        show(page, f"{play}?example=inrpp_detour", width, theme)
        until(page, READY)
        tick(page, "newreno", "cubic", "inrpp", "ideal")
        click(page, "run")
        until(page, REPORT)
        time.sleep(2)
        take_screenshot(name)
    spoil(page)
    take_screenshot("errors-phone")
    show(page, play)
    until(page, READY)
    spoil(page)
    take_screenshot("errors")
    show(page, f"{play}?example=bufferbloat")
    until(page, READY)
    click(page, "run")
    until(page, REPORT)
    take_screenshot("variants")
    show(page, f"{play}?example=rpc_fan_out")
    until(page, READY)
    click(page, "run")
    until(page, REPORT)
    take_screenshot("clients")
    show(page, f"{play}?example=inrpp_backpressure")
    until(page, READY)
    click(page, "move")
    until(page, REPLAY)
    # Its first button plays; the frame can be reached by the mouse alone.
    box = page.run(f"(({{ x, y }}) => [x, y])({FRAME}.getBoundingClientRect())")
    for kind in ("mousePressed", "mouseReleased"):
        about = {"x": box[0] + PLAY[0], "y": box[1] + PLAY[1], "button": "left", "clickCount": 1}
        page.ask("Input.dispatchMouseEvent", type=kind, **about)
    time.sleep(4)
    # A canvas in a frame is in the window's picture, and not in one of the whole page.
    shot = page.ask("Page.captureScreenshot", format="png")
    (folder / "play-replay.png").write_bytes(base64.b64decode(shot["data"]))
    for name, address in (("live", TUTORIAL), ("sliders", INRPP)):
        for width in (WIDE, PHONE):
            show(page, f"{site}/{address}", width)
            until(page, "document.querySelector('details.live')")
            page.run("document.querySelector('details.live').open = true")
            page.run("document.querySelector('details.live').scrollIntoView()")
            time.sleep(8)
            page.picture(folder / f"{name}-{width}.png")


def main() -> None:
    """Serves the site, and looks at it."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    site = Path(sys.argv[2]) if len(sys.argv) > 2 else ROOT / "target/site"
    handler = functools.partial(Quiet, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server, Page(site / "none.html") as page:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        states(page, f"http://127.0.0.1:{server.server_port}", folder)
        server.shutdown()


if __name__ == "__main__":
    main()
