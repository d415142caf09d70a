"""The same training at several sizes, and whether the larger ones are worth it."""
