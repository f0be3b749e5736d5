"""`qirsh demo`."""
