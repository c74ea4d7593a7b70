"""Terminals that do not support all of our characters."""

from __future__ import annotations

import codecs
import io
import sys

# What is written for characters that an encoding lacks.
PLAIN = {
    "\N{NO-BREAK SPACE}": " ", "±": "+-", "×": "x", "–": "-", "µ": "u", "…": "...", "→": "->", "§": "section ",
}  # fmt: skip


def speak_any_encoding() -> None:
    """Lets output go on where the terminal's encoding lacks a character: its nearest plain text is written."""
    codecs.register_error("midpath", _plain)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.encoding.lower().replace("-", "") != "utf8":
            stream.reconfigure(errors="midpath")


def _plain(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(PLAIN.get(char, "?") for char in error.object[error.start : error.end]), error.end
