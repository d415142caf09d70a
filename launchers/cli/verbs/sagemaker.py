"""`launch sagemaker`."""

from launchers.cli.verbs.run import provider_command

command = provider_command(
    "sagemaker",
    "Run an Amazon SageMaker training job and follow it: Horovod ranks by SageMaker's "
    "own MPI distribution.\n\n--dry-run prints the exact CreateTrainingJob request, offline.",
)
