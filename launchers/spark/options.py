"""What only `launch spark` has."""

from dataclasses import dataclass
from typing import Annotated

from launchers.core.spec.compound_types import Pairs, Words
from launchers.core.spec.job import JobSpec, ProviderOptions
from launchers.core.spec.limits import Limits
from launchers.core.spec.option import option
from launchers.core.spec.value_types import Choice, Text

CLIENT, CLUSTER = DEPLOY_MODES = ("client", "cluster")
# How long is waited for what, by the names of --limit.
SLOTS, START = "slots", "start"


@dataclass(frozen=True, kw_only=True)
class SparkOptions(ProviderOptions):
    """The keys under ``spark:`` and the flags of `launch spark` alone."""

    master: Annotated[str | None, Text()] = option(
        "--master",
        metavar="URL",
        group="where",
        help="local[N], local-cluster[N,C,M], spark://HOST:PORT, yarn or k8s://HOST:PORT.",
    )
    deploy_mode: Annotated[str, Choice(DEPLOY_MODES)] = option(
        "--deploy-mode",
        metavar="client|cluster",
        group="where",
        default=CLIENT,
        help="Where the driver runs: in this machine's process, or in the cluster.",
    )
    conf: Annotated[
        dict[str, str], Pairs(name_pattern=r"[A-Za-z][A-Za-z0-9._\-/]*", what="KEY=VALUE")
    ] = option(
        "--conf",
        metavar="K=V",
        group="where",
        default={},
        help="A Spark property (repeatable). Flags set those that decide the number of ranks.",
    )
    archives: Annotated[tuple[str, ...], Words()] = option(
        "--archive",
        metavar="FILE[#NAME]",
        group="what",
        key="archives",
        default=(),
        help="An archive that executors unpack as NAME (repeatable). Without NAME it is their "
        "Python environment, of conda-pack or venv-pack.",
    )
    worker_python: Annotated[str | None, Text()] = option(
        "--worker-python",
        metavar="PATH",
        group="what",
        help="The ranks' Python on the executors. Default: the archive's, else the workers' "
        "python3.",
    )
    python: Annotated[str | None, Text()] = option(
        "--python",
        metavar="PATH",
        group="what",
        help="The driver's Python. Default: the active environment's, else the launcher's.",
    )
    spark_home: Annotated[str | None, Text()] = option(
        "--spark-home",
        metavar="DIR",
        group="where",
        rare=True,
        help="The Spark folder. Default: SPARK_HOME, else the driver Python's pyspark, else "
        "what spark-submit on PATH belongs to.",
    )
    limits: Annotated[dict[str, str], Limits(names=(SLOTS, START))] = option(
        "--limit",
        metavar="NAME=TIME",
        default={},
        group="safety",
        rare=True,
        help="How long is waited: slots (for executors, 5m) or start (for Horovod's ranks, 2m; "
        "repeatable).",
    )


SparkJob = JobSpec[SparkOptions]
