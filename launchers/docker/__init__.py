"""The Docker engine."""
