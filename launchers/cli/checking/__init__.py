"""`launch check`: which files, what is found in each, and what of that is ignored."""
