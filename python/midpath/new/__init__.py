"""`midpath new`: writes an external crate with a congestion-control scheme."""

from midpath.new.scheme import new_scheme

__all__ = ["new_scheme"]
