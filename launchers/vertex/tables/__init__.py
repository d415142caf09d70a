"""Machine types and locations, with their sources."""
