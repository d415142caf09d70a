"""The driver program of a job on Spark: starts our guard in every rank, and ends with one verdict.

    spark-submit ... spark_driver.py SCRIPT|-m MODULE [ARGUMENTS...]

It waits for the executors' slots, looks at what they have, starts the ranks there
(``horovod.spark.run``, or TorchDistributor), prints their lines, and counts their results. What it
is told stands in Spark's configuration (launch_runtime/spark/settings.py).
"""

from __future__ import annotations

import os
import sys

# In a cluster's deploy mode this file comes alone, and the bundle is unpacked where it is started.
FOLDERS = (os.path.dirname(os.path.abspath(__file__)), os.path.abspath("launch_code"))
ENTRYPOINTS = next(
    (one for one in FOLDERS if os.path.isdir(os.path.join(one, "launch_runtime"))), FOLDERS[0]
)
sys.path.insert(0, ENTRYPOINTS)

from launch_runtime.spark.driver import main  # noqa: E402

if __name__ == "__main__":
    main(sys.argv[1:], ENTRYPOINTS)
