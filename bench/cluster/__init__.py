"""PostgreSQL on three nodes under Patroni, and two servers of Qirsh, all on this machine: `make cluster`."""
