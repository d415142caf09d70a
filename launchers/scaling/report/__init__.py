"""What a study found, for people: a verdict in words, charts, one page."""
