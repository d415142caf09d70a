"""Which JVM a driver may end."""

from __future__ import annotations

import pytest
from launch_runtime.spark.jvm_end import owns_process

SUBMITTED = {"PYSPARK_GATEWAY_PORT": "4711"}
OWNED = [
    (SUBMITTED, "client", True),
    (SUBMITTED, "cluster", False),
    ({}, "client", False),
    ({**SUBMITTED, "DATABRICKS_RUNTIME_VERSION": "16.4"}, "client", False),
]


@pytest.mark.parametrize(("environment", "mode", "expected"), OWNED)
def test_only_the_jvm_of_a_spark_submit_of_this_job_is_ended(
    environment: dict[str, str], mode: str, expected: bool
) -> None:
    assert owns_process(environment, mode) is expected
