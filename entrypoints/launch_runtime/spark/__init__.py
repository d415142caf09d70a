"""What runs on a Spark cluster: the driver's side of a job, and each rank's in its executor.

Spark and Horovod are imported inside functions alone, on the driver or an executor, so that the
rest can be read and tested where neither is.
"""
