"""The names of Spark's properties that this house sets or reads.

Source: Spark 3.5, "Configuration", "Running Spark on YARN", "Running Spark on Kubernetes" and
"Spark Standalone Mode" (spark.apache.org/docs/3.5.3).
"""

from __future__ import annotations

# Who runs the executors, where the driver runs, and under which name.
MASTER = "spark.master"
REMOTE = "spark.remote"
DEPLOY_MODE = "spark.submit.deployMode"
APP_NAME = "spark.app.name"

# How many ranks there are: executors, their cores, the cores of a task.
EXECUTOR_INSTANCES = "spark.executor.instances"
EXECUTOR_CORES = "spark.executor.cores"
EXECUTOR_MEMORY = "spark.executor.memory"
CORES_MAX = "spark.cores.max"
TASK_CPUS = "spark.task.cpus"
DYNAMIC_ALLOCATION = "spark.dynamicAllocation.enabled"

# How often what failed is started anew.
TASK_FAILURES = "spark.task.maxFailures"
STAGE_ATTEMPTS = "spark.stage.maxConsecutiveAttempts"
APP_ATTEMPTS = "spark.yarn.maxAppAttempts"
SUPERVISE = "spark.driver.supervise"
SPECULATION = "spark.speculation"
# Spark refuses to start with it where a task is tried once (HealthTracker).
EXCLUSION = "spark.excludeOnFailure.enabled"

# How long SparkContext waits for executors, and a barrier stage for slots.
REGISTERED_SECONDS = "spark.scheduler.maxRegisteredResourcesWaitingTime"
BARRIER_INTERVAL = "spark.scheduler.barrier.maxConcurrentTasksCheck.interval"
BARRIER_FAILURES = "spark.scheduler.barrier.maxConcurrentTasksCheck.maxFailures"

# GPUs, one a task.
EXECUTOR_GPUS = "spark.executor.resource.gpu.amount"
TASK_GPUS = "spark.task.resource.gpu.amount"
GPU_DISCOVERY = "spark.executor.resource.gpu.discoveryScript"
GPU_VENDOR = "spark.executor.resource.gpu.vendor"

# Which Python runs.
PYTHON = "spark.pyspark.python"
DRIVER_PYTHON = "spark.pyspark.driver.python"

# Variables: of executors, and of a driver in cluster mode.
EXECUTOR_ENV = "spark.executorEnv."
DRIVER_ENV = {"yarn": "spark.yarn.appMasterEnv.", "kubernetes": "spark.kubernetes.driverEnv."}
# Whether spark-submit stays until a driver in the cluster has ended.
WAIT = {
    "yarn": "spark.yarn.submit.waitAppCompletion",
    "kubernetes": "spark.kubernetes.submission.waitAppCompletion",
}

CONTAINER_IMAGE = "spark.kubernetes.container.image"
# A store by which spark-submit brings files of its machine to a driver in the cluster.
UPLOAD_PATH = "spark.kubernetes.file.upload.path"
REDACTION = "spark.redaction.regex"
ARCHIVES = "spark.archives"
YARN_ARCHIVES = "spark.yarn.dist.archives"

# What the driver program reads for itself (entrypoints/launch_runtime/spark).
OURS = "spark.launch."
EXECUTABLE = "executable"
GPUS = "gpus"
SLOTS_SECONDS = "slots.seconds"
START_SECONDS = "start.seconds"
RESULT = "result"


def variable_of(key: str) -> str:
    """The variable that a property sets in a driver or an executor; empty where it sets none."""
    for prefix in (EXECUTOR_ENV, *DRIVER_ENV.values()):
        if key.startswith(prefix):
            return key.removeprefix(prefix)
    return ""
