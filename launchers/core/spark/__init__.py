"""What Spark and Databricks share on the laptop's side: which conf a job has, and rules about it.

Pure. How the driver and the ranks use it: ``entrypoints/launch_runtime/spark``.
"""
