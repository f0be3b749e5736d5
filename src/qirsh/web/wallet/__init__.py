"""Pages of a person's money."""
