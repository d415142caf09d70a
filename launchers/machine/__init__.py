"""This machine's processes and devices."""
