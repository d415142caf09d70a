"""The provider whose hosts are Spark's executors."""
