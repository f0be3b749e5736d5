"""The command line: what operators and newcomers type."""
