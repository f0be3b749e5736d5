"""Pages of a person: signing in and up, identity, security, settings."""
