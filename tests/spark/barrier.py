"""A driver whose job is a barrier stage; it prints some lines and ends as spark_driver.py does."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "entrypoints"))

from launch_runtime.spark import jvm_end
from pyspark.sql import SparkSession


def meet(rows: Iterator[int]) -> Iterator[int]:
    from pyspark import BarrierTaskContext

    BarrierTaskContext.get().barrier()
    yield sum(rows)


session = SparkSession.builder.getOrCreate()
stage = session.sparkContext.parallelize(range(2), 2).barrier()
print("met", stage.mapPartitions(meet).collect())
for number in range(3000):
    print("line", number)
jvm_end.end(session, 0)
