"""The PostgreSQL engine: any number of processes."""
