"""`launch scaling`: a study's flags, its course and what is shown of it."""
