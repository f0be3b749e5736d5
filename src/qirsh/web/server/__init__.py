"""From the socket to the handler: connections, uploads, the router, probes."""
