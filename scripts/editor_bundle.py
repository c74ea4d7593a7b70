"""Bundles the playground's editor again, with npm: docs/play/editor.min.js.gz, of docs/play/editor.

    python scripts/editor_bundle.py

The versions are in docs/play/editor/package.json. All of it is MIT.
"""

import gzip
import shutil
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "docs/play/editor"
BUNDLE = ROOT / "docs/play/editor.min.js.gz"


def main() -> None:
    """Bundles it."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        for file in SOURCE.iterdir():
            shutil.copy(file, folder)
        subprocess.run(["npm", "install", "--no-audit", "--no-fund"], cwd=folder, check=True)
        licence = (folder / "node_modules/@codemirror/view/LICENSE").read_text(encoding="utf-8")
        banner = f"--banner:js=/* CodeMirror 6, Lezer and what they use.\n{licence} */"
        options = ["--bundle", "--minify", "--format=esm", "--legal-comments=none", banner, "--outfile=out.js"]
        subprocess.run(["npx", "esbuild", "editor.js", *options], cwd=folder, check=True)
        packed = gzip.compress((folder / "out.js").read_bytes(), 9, mtime=0)
    BUNDLE.write_bytes(packed)
    print(f"{BUNDLE.relative_to(ROOT)}: {len(packed) / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
