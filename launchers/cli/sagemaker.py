"""`launch sagemaker`."""

from launchers.cli.provider_verb import provider_command

command = provider_command(
    "sagemaker",
    "Run an Amazon SageMaker training job and follow it: Horovod ranks by SageMaker's "
    "own MPI distribution.\n\n--dry-run prints the exact CreateTrainingJob request, offline.",
)
