"""Load on this machine: the service beside a bare hello, and on PostgreSQL beside pgbench. Run as `python -m bench`."""
