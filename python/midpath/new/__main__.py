"""`python -m midpath.new DIRECTORY`: see `midpath.new.origin`."""

import sys
from pathlib import Path

from midpath.errors import UsageError
from midpath.new.origin import connect

if __name__ == "__main__":
    try:
        connect(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
    except UsageError as error:
        sys.exit(f"midpath: {error}")
