"""The commands that simulate, compare and report; `midpath.cli` adds those of the other houses."""
