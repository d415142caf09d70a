"""What would stop a job before its first rank: here, and on the way to the cluster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from launchers.core.model.problems import Problem
from launchers.core.system import require_linux
from launchers.machine.supervised.preflight import folder_problems
from launchers.spark.service.installation import java_problems, python_problems, submit_problems
from launchers.spark.service.master import master_problems


def preflight(document: Mapping[str, Any]) -> list[Problem]:
    """Folders with room, spark-submit, Java, the driver's Python, a master that answers. Blocks
    for seconds."""
    require_linux("running spark-submit")
    return [
        *folder_problems([document["folder"]]),
        *submit_problems(document["spark_home"]),
        *java_problems(document["spark_home"]),
        *python_problems(document),
        *master_problems(document["master"], document["spark_home"]),
    ]
