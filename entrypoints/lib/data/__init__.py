"""Data for the ranks: where it comes from, how it is divided, how it reaches a framework."""
