"""The bench on PostgreSQL: the service beside pgbench on one server, and the same hello."""
