"""The memory: one narrow interface, and the engines that keep it."""
