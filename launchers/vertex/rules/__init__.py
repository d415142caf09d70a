"""The rules of a CustomJob."""
