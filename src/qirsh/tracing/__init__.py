"""What the service tells of each request, batch and webhook: spans, for those who asked for them."""
