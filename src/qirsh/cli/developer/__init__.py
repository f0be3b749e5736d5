"""What developers of shops type: events on their own machine, and events to try."""
