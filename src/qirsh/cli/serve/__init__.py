"""`qirsh serve`."""
