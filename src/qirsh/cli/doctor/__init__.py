"""`qirsh doctor`."""
