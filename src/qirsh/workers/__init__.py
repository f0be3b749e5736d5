"""Long-running roles, one a file. They read the store and change things only through the engine."""
