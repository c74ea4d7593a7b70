"""A laboratory of network namespaces: real TCP through a real router on this machine.

`midpath lab rpm` builds it, measures, and takes it down. Nothing here is imported by the rest of the package.
"""
