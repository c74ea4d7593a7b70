"""Schemes of crates outside that were added to this environment, and the simulator that has them.

Rust has no stable interface between compiled libraries. So `midpath add` compiles one simulator with all crates that
were added, and Python runs it in place of Midpath's own.
"""
