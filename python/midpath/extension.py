"""The simulator: what Rust compiled, or what `midpath add` built in its place. Everything else has it from here.

`from midpath import …` anywhere else would be an import of the package's top.
"""

from midpath import _midpath

__all__ = ["_midpath"]
