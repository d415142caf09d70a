"""`launch vertex`."""

from launchers.cli.verbs.run import provider_command

command = provider_command(
    "vertex",
    "Run a Vertex AI CustomJob and follow it: Horovod ranks on several replicas, started by "
    "our agent without ssh.\n\n--dry-run prints the exact CustomJob, offline.",
)
