"""What the service counts of itself: plain numbers in memory that its processes share."""
