"""The pace: commands are collected, decided together, and answered after one durable commit."""
