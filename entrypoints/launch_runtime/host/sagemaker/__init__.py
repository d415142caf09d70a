"""A host of a SageMaker training job: what its agent finds below /opt/ml, and leaves there.

The request starts the agent itself (ContainerEntrypoint), so no toolkit of the image takes part:
what the toolkit would do for a script is done here.
"""
