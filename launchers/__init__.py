"""The laptop side: from the command line to a job definition, and from there to a followed job."""
