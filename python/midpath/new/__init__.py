"""What `midpath new` writes: a crate of one's own with a congestion-control scheme, outside Midpath's checkout."""

from midpath.new.scheme import new_scheme

__all__ = ["new_scheme"]
