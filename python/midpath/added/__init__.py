"""External schemes added to this environment, and the simulator that contains them.

Rust has no stable interface between compiled libraries. So `midpath add` compiles one simulator with all added
crates, and Python uses it instead of Midpath's own.
"""
