"""A laboratory of network namespaces: scenarios on this machine's TCP, with RPM at routers, or on Midpath's nodes.

The rest of the package imports nothing from here.
"""
