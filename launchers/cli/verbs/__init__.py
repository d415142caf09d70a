"""One module a verb; only the one that was asked for is imported."""
