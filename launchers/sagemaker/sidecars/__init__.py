"""What SageMaker's containers reach beside themselves, for the rehearsal."""
