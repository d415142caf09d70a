"""Machine types and images, with their sources."""
