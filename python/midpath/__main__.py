"""`python -m midpath`."""

from midpath.cli import run_main

run_main()
