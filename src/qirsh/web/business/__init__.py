"""Pages of a person's businesses and their API keys."""
