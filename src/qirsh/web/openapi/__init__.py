"""The description of the JSON API, and the reference page made from it."""
