"""The laptop side: from the command line to a job definition, and from there to a followed job."""

# The project's name on a package index, as in pyproject.toml.
DISTRIBUTION = "launch-training"
