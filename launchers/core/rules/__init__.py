"""The rules that every provider shares."""
