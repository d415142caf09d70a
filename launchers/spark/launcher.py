"""`launch spark`: ranks as tasks on Spark's executors, started by one driver program."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from launchers.core.model.jobs import Examined, JobDefinition
from launchers.core.model.problems import Problem
from launchers.core.planning.plan import Plan
from launchers.core.planning.render import render
from launchers.core.provider import Provider
from launchers.core.roles import Contract, Definer, Reader
from launchers.core.source.script import JobSource
from launchers.core.spark import keys
from launchers.core.spec.job import JobSpec
from launchers.spark.document import submit_line
from launchers.spark.options import SparkOptions
from launchers.spark.planning.decide import STRATEGIES, make_plan

if TYPE_CHECKING:
    from launchers.core.model.chatter import Chatter
    from launchers.core.model.containers import Conduct, Container

# Variables of one run, which don't make it another job.
_NOT_THE_JOB = (
    "LAUNCH_JOB",
    "LAUNCH_CHECKPOINT_DIR",
    "LAUNCH_MODEL_DIR",
    "LAUNCH_NONCE",
    "LAUNCH_TAGS",
)


class SparkDefiner(Definer):
    """Makes and checks the requests that :mod:`launchers.spark.service` hands to spark-submit."""

    options = SparkOptions
    unused = frozenset({"machine", "spot", "max_wait", "region", "bucket", "tags", "hang_action"})
    strategies = STRATEGIES

    def plan(self, job: JobSpec, source: JobSource) -> Plan:
        """See :func:`launchers.spark.planning.decide.make_plan`."""
        return make_plan(job, source)

    def render(self, plan: Plan) -> JobDefinition:
        """The request."""
        return render("spark", "job.json.j2", plan, nulls=True)

    def identity(self, definition: JobDefinition) -> Mapping[str, Any]:
        """The request without the name, the folders that carry it, and the nonce."""
        document = dict(definition.document)
        for key in ("name", "folder", "application", "environment"):
            del document[key]
        own_folder = definition.document["folder"]
        document["archives"] = [
            place for place in document["archives"] if not place.startswith(f"{own_folder}/")
        ]
        document["conf"] = {
            name: value for name, value in document["conf"].items() if _is_the_jobs(name)
        }
        return document

    def check(self, definition: JobDefinition) -> list[Problem]:
        """See :mod:`launchers.spark.rules.document`."""
        from launchers.spark.rules.document import check

        return check(definition.document, frozenset(definition.allowed))

    def command_line(self, definition: JobDefinition) -> str:
        """The spark-submit line."""
        return submit_line(definition.document)


class SparkReader(Reader):
    """Reads documents of this provider, as they were printed or changed by hand."""

    document_title = "request of launch spark"

    def recognises(self, document: Mapping[str, Any]) -> bool:
        """See :func:`launchers.spark.rules.document.recognises`."""
        from launchers.spark.rules.document import recognises

        return recognises(document)

    def examine(self, document: Mapping[str, Any], world_size: int | None = None) -> Examined:
        """See :mod:`launchers.spark.rules.reading`."""
        from launchers.spark.rules.reading import examined

        return examined(document, world_size)


def _is_the_jobs(name: str) -> bool:
    """Whether a property makes a job another one."""
    result = f"{keys.OURS}{keys.RESULT}"
    return name != result and name.rpartition(".")[2] not in _NOT_THE_JOB


class SparkContract(Contract):
    """What the driver and the executors of a job can rely on."""

    def containers(
        self,
        definition: JobDefinition,
        ranks_per_host: int | None = None,
        serve_code: bool = True,
    ) -> list[Container]:
        """See :mod:`launchers.spark.contract`."""
        from launchers.spark.contract import contract

        return contract(definition.document, ranks_per_host, serve_code)

    def conduct(self, definition: JobDefinition) -> Conduct:
        """See :mod:`launchers.spark.contract`."""
        from launchers.spark.contract import conduct

        return conduct(definition.document)

    def unlike(self, definition: JobDefinition) -> str:
        """See :mod:`launchers.spark.contract`."""
        from launchers.spark.contract import unlike

        return unlike(definition.document)

    def chatter(self) -> Chatter:
        """Of Spark's master, workers and driver: chatter.json."""
        from launchers.core.model.chatter import Chatter

        return Chatter.read(Path(__file__).with_name("chatter.json"))

    def is_guarded(self, definition: JobDefinition) -> bool:
        """Whether the request's application is our driver program."""
        from launchers.spark.contract import is_guarded

        return is_guarded(definition.document)


SPARK = Provider(
    name="spark",
    title="Apache Spark",
    about="Run a job's ranks as tasks on Spark's executors: spark-submit starts our driver, which "
    "starts the guard in every rank.\n\nInstances are executors, processes their ranks.",
    examples=(
        "launch spark train.py --master spark://HOST:7077 --instances 2 -- --epochs 3",
        "launch spark train.py --master 'local[2]' --processes 2 --dry-run",
    ),
    charges_money=False,
    definer=SparkDefiner(),
    reader=SparkReader(),
    service_class="launchers.spark.service.cluster:SparkService",
    contract=SparkContract(),
)
