"""`launch local`."""

from launchers.cli.verbs.run import provider_command

command = provider_command(
    "local",
    "Run a job on this machine: N simulated hosts, real Horovod ranks, the agent and guard of "
    "the clouds.\n\nWithout SCRIPT it trains the shared image classifier on real digits.",
)
