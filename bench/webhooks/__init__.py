"""What webhooks cost, what payments lose by them, and when they arrive."""
