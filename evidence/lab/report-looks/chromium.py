"""A headless Chromium behind a pipe: opens a page, changes how it is looked at, takes pictures of it."""

from __future__ import annotations

import base64
import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--hide-scrollbars",
    "--remote-debugging-pipe",
]  # fmt: skip


# The browser reads commands from file descriptor 3, and answers on 4; ours may be any, these two among them.
LAUNCH = """
import fcntl, os, sys
high = [fcntl.fcntl(int(fd), fcntl.F_DUPFD, 10) for fd in sys.argv[1:3]]
os.dup2(high[0], 3)
os.dup2(high[1], 4)
os.execv(sys.argv[3], sys.argv[3:])
"""


def find() -> str | None:
    """The browser's path, if this machine has one."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


class Page:
    """One page in a browser of its own, told by the DevTools protocol over a pipe; used in a `with`."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.numbers = itertools.count(1)
        # What the console has of errors, of the page, its workers and its frames.
        self.errors: list[str] = []

    def __enter__(self) -> Page:
        self.profile = tempfile.TemporaryDirectory()
        theirs_in, ours_out = os.pipe()
        ours_in, theirs_out = os.pipe()
        launch = [sys.executable, "-c", LAUNCH, str(theirs_in), str(theirs_out)]
        command = [*launch, str(find()), *FLAGS, f"--user-data-dir={self.profile.name}", "about:blank"]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.browser = subprocess.Popen(command, pass_fds=(theirs_in, theirs_out), **quiet)
        os.close(theirs_in)
        os.close(theirs_out)
        self.commands, self.answers = os.fdopen(ours_out, "wb", 0), os.fdopen(ours_in, "rb")
        self.session: str | None = None
        try:
            self._attach()
        except RuntimeError:
            self.__exit__()
            raise
        return self

    def _attach(self) -> None:
        """From here on commands go to the page, and no more to the browser."""
        target = next(t for t in self.ask("Target.getTargets")["targetInfos"] if t["type"] == "page")
        attached = self.ask("Target.attachToTarget", targetId=target["targetId"], flatten=True)
        self.session = attached["sessionId"]
        self.ask("Page.enable")
        self._listen(self.session)

    def _listen(self, session: str | None) -> None:
        """Errors of a page, a worker or a frame, and of those that it starts."""
        for method in ("Runtime.enable", "Log.enable"):
            self._tell(method, session)
        shown = {"autoAttach": True, "waitForDebuggerOnStart": False, "flatten": True}
        self._tell("Target.setAutoAttach", session, **shown)

    def _note(self, event: dict[str, Any]) -> None:
        """Keeps what is wrong."""
        method, about = event.get("method"), event.get("params", {})
        if method == "Target.attachedToTarget":
            self._listen(about["sessionId"])
        elif method == "Runtime.exceptionThrown":
            found = about["exceptionDetails"]
            self.errors.append(found.get("exception", {}).get("description") or found["text"])
        elif method == "Log.entryAdded" and about["entry"]["level"] == "error":
            self.errors.append(f"{about['entry']['text']} {about['entry'].get('url', '')}".strip())
        elif method == "Runtime.consoleAPICalled" and about["type"] in ("error", "assert"):
            self.errors.append(" ".join(str(one.get("value", one.get("description"))) for one in about["args"]))

    def __exit__(self, *_: object) -> None:
        self.commands.close()
        self.browser.wait(timeout=20)
        self.answers.close()
        self.profile.cleanup()

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        """One command and its answer; of what else the browser says meanwhile, errors are kept."""
        number = self._tell(method, self.session, **parameters)
        while True:
            answer = self._message()
            self._note(answer)
            if answer.get("id") == number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def _tell(self, method: str, session: str | None, **parameters: Any) -> int:
        """A command, and its number."""
        number = next(self.numbers)
        message = {"id": number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        self.commands.write(json.dumps(message).encode() + b"\0")
        return number

    def _message(self) -> dict[str, Any]:
        text = bytearray()
        while (byte := self.answers.read(1)) != b"\0":
            if not byte:
                raise RuntimeError("the browser has gone")
            text += byte
        return json.loads(text)

    def show(self, width: int, theme: str) -> None:
        """Loads the page into a window of this width, a phone's if it is narrow, and waits until all is drawn."""
        phone = width < 640
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=phone)
        self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": theme}])
        answer = self.ask("Page.navigate", url=self.file.resolve().as_uri())
        if "errorText" in answer:
            raise RuntimeError(f"{self.file}: {answer['errorText']}")
        self.settle()

    def settle(self) -> None:
        """Waits until the page is loaded and has been painted, a report's figures too."""
        self.run(
            "new Promise(done => { const wait = () => document.readyState === 'complete'"
            " && (!document.getElementById('report-data') || 'drawn' in document.documentElement.dataset)"
            " ? requestAnimationFrame(() => setTimeout(done, 150)) : setTimeout(wait, 20); wait(); })"
        )

    def run(self, script: str) -> Any:
        """What an expression of JavaScript gives on the page."""
        done = self.ask("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in done:
            raise RuntimeError(done["exceptionDetails"])
        return done["result"].get("value")

    def picture(self, file: Path, clip: dict[str, float] | None = None) -> None:
        """The whole page as PNG, or a part of it, as a rectangle of the page."""
        size = self.ask("Page.getLayoutMetrics")["cssContentSize"]
        whole = {"x": 0, "y": 0, "width": size["width"], "height": size["height"]}
        clip = {key: (clip or {}).get(key, value) for key, value in whole.items()} | {"scale": 1}
        shot = self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)
        file.write_bytes(base64.b64decode(shot["data"]))

    def pdf(self, file: Path) -> None:
        """The page as its reader prints it: A4, with the browser's margins, and backgrounds left out as they are."""
        printed = self.ask("Page.printToPDF", paperWidth=8.27, paperHeight=11.69, printBackground=False)
        file.write_bytes(base64.b64decode(printed["data"]))
