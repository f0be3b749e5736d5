"""What a scrape of metrics takes, and what callers notice of it."""
