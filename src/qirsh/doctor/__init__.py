"""Whether this machine, this data and these settings are fit to serve money."""
