"""Vertex AI CustomJobs: Horovod ranks on several replicas, started by our agent without ssh."""
