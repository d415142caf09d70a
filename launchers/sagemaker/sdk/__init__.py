"""Notebooks, and the SageMaker SDK's estimator."""
