"""The user's files: where they lie, what is left out, the bundle that travels."""
