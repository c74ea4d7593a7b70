"""A headless Chromium, for tests that look at a page."""

import shutil
import subprocess
import tempfile

FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--virtual-time-budget=8000",
]  # fmt: skip


def find():
    """The browser's path, if this machine has one."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


def look(page, *more):
    """Opens a page and gives what the browser prints."""
    with tempfile.TemporaryDirectory() as profile:
        command = [find(), *FLAGS, f"--user-data-dir={profile}", *more, page.resolve().as_uri()]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout
