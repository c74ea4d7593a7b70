"""Mutants of the Rust code: what they are, how they are built all at once, and which tests notice them."""
