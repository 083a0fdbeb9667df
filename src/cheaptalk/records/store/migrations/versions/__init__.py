"""Schema migrations of the store, oldest first."""
