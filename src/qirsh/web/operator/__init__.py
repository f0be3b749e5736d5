"""For the people who run the service."""
