"""A job's lines: tags, stamps, evidence, noise."""
