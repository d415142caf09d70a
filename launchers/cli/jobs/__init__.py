"""From a command to a job: submit, follow, sweep, look up, rehearse."""
