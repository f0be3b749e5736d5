"""Load on this machine: the service beside a bare hello on the same server. Run as `python -m bench`."""
