"""A laboratory of network namespaces: real TCP through a real router on this machine.

`midpath lab rpm` builds it, measures, and removes it. The rest of the package imports nothing from here.
"""
