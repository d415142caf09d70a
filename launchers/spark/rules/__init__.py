"""The rules of a Spark job's document."""
