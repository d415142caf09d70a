"""Runs the jobs: spark-submit as a process of this machine, and what it leaves behind."""
