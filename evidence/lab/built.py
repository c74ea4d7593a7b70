"""The wheel of this checkout, for checks that install it where nothing else is."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def wheel(out: Path) -> Path:
    """Builds it into `out`."""
    maturin = shutil.which("maturin", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    command = [str(maturin), "build", "--release", "--quiet", "--out", str(out)]
    subprocess.run(command, cwd=ROOT, check=True, stdout=sys.stderr)
    (found,) = out.glob("*.whl")
    return found
