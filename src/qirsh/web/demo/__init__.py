"""What only the demo shows."""
