"""What Spark jobs need, before any job: on the driver's machine, and on the way to the master."""

from __future__ import annotations

import threading
from functools import cached_property, partial

from launchers.core.model.findings import Finding, finding, skipped, well
from launchers.core.model.problems import EXIT_BAD_REQUEST, Problem
from launchers.core.prerequisites import IMPORT_SECONDS, Check, Doctor
from launchers.core.spec.job import JobSpec
from launchers.core.strategies import AUTO, FIRST, named
from launchers.core.strategies.strategy import Strategy
from launchers.machine.python_environment import PythonEnvironment, inspect
from launchers.spark.catalogue import RULES
from launchers.spark.planning.python import driver_problems
from launchers.spark.planning.spark_home import SparkHome, find_spark
from launchers.spark.service import installation
from launchers.spark.service.master import master_problems
from launchers.spark.service.users_conf import ENV_SCRIPT, conf_folder, sets_variable

_NO_SPARK = "Spark was not found"


class SparkDoctor(Doctor):
    """The machine that drivers start from, and its cluster."""

    title = "Apache Spark (launch spark)"
    exit_code = EXIT_BAD_REQUEST

    def checks(self, job: JobSpec, offline: bool) -> list[Check]:
        """Spark is found by the driver's Python, and the rest by Spark."""
        looked = _Looked(job)
        slow = partial(Check, seconds=IMPORT_SECONDS)
        return [
            slow("driver's Python", looked.python),
            slow("Spark", looked.spark),
            slow("Java", looked.java),
            slow("PyArrow", looked.libraries),
            slow("master", partial(looked.master, offline)),
        ]

    def unused(self, job: JobSpec) -> str:
        """See :class:`Doctor`."""
        if getattr(job.options, "master", None):
            return ""
        return "no master in launch.yaml"


class _Looked:
    """One machine. Each method gives the findings of one check, and may block."""

    def __init__(self, job: JobSpec):
        self._job = job
        self._lock = threading.Lock()

    @cached_property
    def _inspected(self) -> tuple[PythonEnvironment, list[Problem], SparkHome, list[Problem]]:
        python, problems = inspect(getattr(self._job.options, "python", None))
        spark, missing = find_spark(getattr(self._job.options, "spark_home", None), python)
        return python, problems, spark, missing

    @property
    def _found(self) -> tuple[PythonEnvironment, list[Problem], SparkHome, list[Problem]]:
        """Looked at once, by whichever check comes first."""
        with self._lock:
            return self._inspected

    @property
    def _strategy(self) -> Strategy:
        asked = self._job.strategy
        return named(FIRST if asked in (None, AUTO) else asked)

    def python(self) -> list[Finding]:
        """Which it is, and whether it can start ranks."""
        python, problems, spark, _ = self._found
        if not problems:
            problems = driver_problems(self._job, python, spark, self._strategy)
        where = f"{python.path} ({python.origin})"
        return _told("driver's Python", problems, f"{where}: {python.described(self._strategy)}")

    def spark(self) -> list[Finding]:
        """Where Spark lies, and whether it can be started."""
        _, _, spark, problems = self._found
        problems = problems or installation.submit_problems(spark.path)
        return _told(
            "Spark", problems, f"{spark.version or 'Spark'} in {spark.path} ({spark.origin})"
        )

    def java(self) -> list[Finding]:
        """The Java that spark-submit would take."""
        _, _, spark, missing = self._found
        if missing:
            return [skipped("Java", _NO_SPARK)]
        if sets_variable(spark.path, "JAVA_HOME"):
            return [well("Java", f"that of {conf_folder(spark.path) / ENV_SCRIPT}")]
        program = installation.java_program()
        version = installation.java_version(program) if program else None
        problems = installation.java_problems(spark.path)
        return _told("Java", problems, f"Java {version} ({program})")

    def libraries(self) -> list[Finding]:
        """What a driver imports besides."""
        python, problems, spark, missing = self._found
        if problems or missing:
            return [skipped("PyArrow", "there is no Python or Spark to look at")]
        wrong = installation.library_problems(python.path, spark.path, self._strategy.name)
        return _told("PyArrow", wrong, f"what horovod.spark imports is in {python.path}")

    def master(self, offline: bool) -> list[Finding]:
        """Whether it answers, and is of the same Spark."""
        _, _, spark, missing = self._found
        master = getattr(self._job.options, "master", None)
        if not master:
            problem = RULES["spark-master"].at("--master", "none", severity="warning")
            return [finding(problem, "master")]
        if offline or missing:
            return [skipped("master", "offline" if offline else _NO_SPARK)]
        return _told("master", master_problems(master, spark.path), f"{master} answers")


def _told(name: str, problems: list[Problem], found: str) -> list[Finding]:
    return [finding(one, name) for one in problems] or [well(name, found)]
