"""`launch sagemaker`: an Amazon SageMaker training job, with its own MPI distribution or our
agent."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from launchers.core.model.document import at, document_text, mapping, whole_number
from launchers.core.model.jobs import Examined, JobDefinition, Plain
from launchers.core.model.problems import Problem
from launchers.core.planning.plan import Plan
from launchers.core.planning.render import render
from launchers.core.provider import Provider
from launchers.core.roles import Catalogue, Contract, Definer, Reader
from launchers.core.source.script import JobSource
from launchers.core.spec.job import JobSpec
from launchers.core.strategies import said_by
from launchers.core.wrappings.spec import Wrapping
from launchers.sagemaker.document import (
    GUARD,
    LAUNCH_SCRIPT,
    PROGRAM,
    code_place,
    hyperparameter,
    program,
)
from launchers.sagemaker.extra import SDK
from launchers.sagemaker.options import SageMakerOptions
from launchers.sagemaker.planning.decide import STRATEGIES, make_plan
from launchers.sagemaker.planning.plan import SageMakerPlan
from launchers.sagemaker.planning.request import with_request
from launchers.sagemaker.rules.dependencies import DEPENDS_ON
from launchers.sagemaker.rules.document import KNOCK_ON_ERRORS, check

if TYPE_CHECKING:
    from launchers.core.model.chatter import Chatter
    from launchers.core.model.containers import Conduct, Container

# Keys that no other service's documents have.
_SIGNS = (
    "AlgorithmSpecification",
    "TrainingJobName",
    "HyperParameters",
    "InputDataConfig",
    "ResourceConfig",
    "RoleArn",
)


# How the toolkit tells a program of the other hosts (sagemaker-training: environment.py; the
# PyTorch module: training.py).
_TOLD = (
    "SM_HOSTS",
    "SM_CURRENT_HOST",
    "SM_RESOURCE_CONFIG",
    "SM_TRAINING_ENV",
    "resourceconfig",
    "MASTER_ADDR",
    "sagemaker_training",
)


class SageMakerDefiner(Definer):
    """Makes and checks CreateTrainingJob requests."""

    options = SageMakerOptions
    strategies = STRATEGIES
    knock_on_errors = KNOCK_ON_ERRORS

    def plan(self, job: JobSpec, source: JobSource) -> Plan:
        """See :func:`launchers.sagemaker.planning.decide.make_plan`."""
        return make_plan(job, source)

    def render(self, plan: Plan) -> JobDefinition:
        """The CreateTrainingJob request."""
        assert isinstance(plan, SageMakerPlan)
        return render(
            "sagemaker",
            "training_job.json.j2",
            plan,
            amended=lambda document: with_request(document, plan.request),
        )

    def identity(self, definition: JobDefinition) -> Mapping[str, Any]:
        """The request without name, role, bucket, region, nonce and the folder of the
        checkpoints."""
        document = json.loads(definition.text)
        for key in ("TrainingJobName", "RoleArn", "CheckpointConfig"):
            document.pop(key, None)
        for key in ("sagemaker_job_name", "sagemaker_region"):
            document["HyperParameters"].pop(key, None)
        for key in ("LAUNCH_JOB", "LAUNCH_NONCE", "LAUNCH_TAGS"):
            document["Environment"].pop(key, None)
        bucket = _code_bucket(definition.document)
        text = json.dumps(document).replace(f"s3://{bucket}/launch/", "s3:///launch/")
        identity: dict[str, Any] = json.loads(text)
        return identity

    def check(self, definition: JobDefinition) -> list[Problem]:
        """See :mod:`launchers.sagemaker.rules.document`."""
        problems = check(definition.document, allowed_values=frozenset(definition.allowed))
        if any(one.path == "the region" for one in definition.placeholders):
            # An assumed region is nothing that the image or the role must agree with.
            return [one for one in problems if one.rule not in ("image-other-region",)]
        return problems


class SageMakerReader(Reader):
    """Reads CreateTrainingJob requests that another tool made."""

    document_title = "CreateTrainingJob request"
    depends_on = DEPENDS_ON

    @property
    def wrappings(self) -> Sequence[Wrapping]:
        """See :mod:`launchers.sagemaker.wrappings`."""
        from launchers.sagemaker.wrappings.catalogue import WRAPPINGS

        return WRAPPINGS

    def recognises(self, document: Mapping[str, Any]) -> bool:
        """Whether it has one of the keys that only a CreateTrainingJob request has."""
        return any(key in document for key in _SIGNS)

    def examine(self, document: Mapping[str, Any], world_size: int | None = None) -> Examined:
        """See :mod:`launchers.sagemaker.rules.document`."""
        from launchers.sagemaker.starts.read import start_of
        from launchers.sagemaker.starts.ways import strategy_of

        start = start_of(document)
        carried = whole_number(at(document, "Environment", "LAUNCH_WORLD_SIZE"))
        script = hyperparameter(document, LAUNCH_SCRIPT)
        name = document.get("TrainingJobName")
        definition = JobDefinition(
            provider="sagemaker",
            name=name if isinstance(name, str) else "job",
            world_size=carried or world_size or start.meant or int(bool(start.once)),
            text=document_text(document),
            document=document,
            strategy=said_by(mapping(document, "Environment")) or strategy_of(document),
        )
        problems = tuple(check(document, world_size))
        runs = program(document)
        return Examined(
            definition,
            problems,
            start.ranks,
            carried,
            script,
            runs,
            because=start.because,
            plain=Plain((start.once,), start.because, told=_TOLD)
            if start.once and carried is None
            else None,
            horovods=frozenset({"image-horovod"}),
        )


class SageMakerCatalogue(Catalogue):
    """SageMaker's instance types."""

    may_go = ("local_nvme_gb", "regions", "efa", "memory_gib", "vcpus", "gpu_memory_gib")

    def machine_rows(self, gpus: int | None = None) -> list[dict[str, Any]]:
        """See :mod:`launchers.sagemaker.tables.machines`."""
        from launchers.sagemaker.tables.machines import table_rows

        return table_rows(gpus)

    def regions(self) -> Sequence[str]:
        """Those with AWS's training images."""
        from launchers.sagemaker.tables.images import load

        return sorted(load()["registries"])


class SageMakerContract(Contract):
    """What SageMaker's training containers can rely on."""

    def containers(
        self,
        definition: JobDefinition,
        ranks_per_host: int | None = None,
        serve_code: bool = True,
    ) -> list[Container]:
        """See :mod:`launchers.sagemaker.contract`."""
        from launchers.sagemaker.contract import contract

        return contract(definition.document, ranks_per_host, serve_code)

    def conduct(self, definition: JobDefinition) -> Conduct:
        """See :mod:`launchers.sagemaker.contract`."""
        from launchers.sagemaker.contract import conduct

        return conduct(definition.document)

    def unlike(self, definition: JobDefinition) -> str:
        """See :mod:`launchers.sagemaker.contract`."""
        from launchers.sagemaker.contract import unlike

        return unlike(definition.document)

    def chatter(self) -> Chatter:
        """Of AWS's toolkit, ssh and mpirun: chatter.json."""
        from launchers.core.model.chatter import Chatter

        return Chatter.read(Path(__file__).with_name("chatter.json"))

    def is_guarded(self, definition: JobDefinition) -> bool:
        """Whether the request's program is the guard."""
        return bool(hyperparameter(definition.document, PROGRAM) == GUARD)


SAGEMAKER = Provider(
    name="sagemaker",
    title="Amazon SageMaker",
    about="Run an Amazon SageMaker training job and follow it: Horovod ranks by SageMaker's "
    "own MPI distribution, those of PyTorch and the others by our agent."
    "\n\n--dry-run prints the exact CreateTrainingJob request, offline.",
    examples=(
        "launch sagemaker train.py --instances 2 --gpus 4 --dry-run",
        "launch sagemaker train.py --instances 2 --gpus 4 --spot -- --epochs 3",
    ),
    charges_money=True,
    definer=SageMakerDefiner(),
    service_class="launchers.sagemaker.service.cloud:SageMakerService",
    extra=SDK,
    contract=SageMakerContract(),
    reader=SageMakerReader(),
    catalogue=SageMakerCatalogue(),
)


def _code_bucket(document: Mapping[str, Any]) -> str:
    return code_place(document).removeprefix("s3://").partition("/")[0]
