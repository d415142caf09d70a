"""`launch vertex`: a Vertex AI CustomJob whose ranks our agent starts, without ssh."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from launchers.core.model.document import document_text
from launchers.core.model.jobs import Examined, JobDefinition, Plain
from launchers.core.model.problems import Problem
from launchers.core.planning.plan import Plan
from launchers.core.planning.render import render
from launchers.core.provider import Provider
from launchers.core.roles import Catalogue, Contract, Definer, Importer, Reader
from launchers.core.source.script import JobSource
from launchers.core.spec.job import JobSpec
from launchers.core.wrappings.spec import Wrapping
from launchers.vertex.document import MOUNT, OUR_LABELS, bundle_place, is_ours, mounted, script_of
from launchers.vertex.extra import SDK
from launchers.vertex.options import VertexOptions
from launchers.vertex.planning.decide import make_plan
from launchers.vertex.planning.flags import KNOCK_ON_ERRORS
from launchers.vertex.planning.plan import VertexPlan
from launchers.vertex.planning.request import with_request
from launchers.vertex.rules.dependencies import DEPENDS_ON

if TYPE_CHECKING:
    from launchers.core.model.containers import Conduct, Container


# Variables of one run, which don't make it another job.
_NOT_THE_JOB = ("LAUNCH_JOB", "LAUNCH_CHECKPOINT_DIR", "LAUNCH_NONCE", "LAUNCH_TAGS")


class VertexDefiner(Definer):
    """Makes and checks CustomJobs."""

    options = VertexOptions
    knock_on_errors = KNOCK_ON_ERRORS

    def plan(self, job: JobSpec, source: JobSource) -> Plan:
        """See :func:`launchers.vertex.planning.decide.make_plan`."""
        return make_plan(job, source)

    def render(self, plan: Plan) -> JobDefinition:
        """The CustomJob."""
        assert isinstance(plan, VertexPlan)
        return render(
            "vertex",
            "custom_job.json.j2",
            plan,
            amended=lambda document: with_request(document, plan.request),
        )

    def identity(self, definition: JobDefinition) -> Mapping[str, Any]:
        """The CustomJob without its name, our labels, service account, bucket, nonce and the
        folders of output and checkpoints. Project and location are no part of it."""
        document = json.loads(definition.text)
        document.pop("displayName")
        for key in ("serviceAccount", "baseOutputDirectory"):
            document["jobSpec"].pop(key, None)
        for key in ("experiment", "experimentRun"):
            if key in document["jobSpec"]:
                document["jobSpec"][key] = document["jobSpec"][key].rpartition("/")[2]
        document["labels"] = {
            name: value
            for name, value in document["labels"].items()
            if not name.startswith(OUR_LABELS)
        }
        for pool in document["jobSpec"]["workerPoolSpecs"]:
            container = pool.get("containerSpec", {})
            container["env"] = [
                item for item in container.get("env", ()) if item["name"] not in _NOT_THE_JOB
            ]
        text = json.dumps(document)
        place = mounted(bundle_place(definition.document))
        bucket = place.removeprefix(MOUNT).partition("/")[0]
        text = text.replace(f"{MOUNT}{bucket}/launch/", f"{MOUNT}/launch/")
        identity: dict[str, Any] = json.loads(text)
        return identity

    def check(self, definition: JobDefinition) -> list[Problem]:
        """See :mod:`launchers.vertex.rules.document`."""
        from launchers.vertex.rules import document as rules

        problems = rules.check(definition.document, allowed_values=frozenset(definition.allowed))
        location = definition.destination.get("location")
        return problems + (rules.check_location(definition.document, location) if location else [])


class VertexReader(Reader):
    """Reads CustomJobs that another tool made."""

    document_title = "CustomJob"
    depends_on = DEPENDS_ON

    @property
    def wrappings(self) -> Sequence[Wrapping]:
        """See :mod:`launchers.vertex.wrappings`."""
        from launchers.vertex.wrappings.catalogue import WRAPPINGS

        return WRAPPINGS

    def recognises(self, document: Mapping[str, Any]) -> bool:
        """See :func:`launchers.vertex.rules.document.recognises`."""
        from launchers.vertex.rules.document import recognises

        return recognises(document)

    def examine(self, document: Mapping[str, Any], world_size: int | None = None) -> Examined:
        """See :mod:`launchers.vertex.rules.document`. What gcloud and the client send is read
        as the CustomJob that it stands for."""
        from launchers.vertex.rules import document as rules
        from launchers.vertex.rules.starts import carried_strategy

        job = rules.as_custom_job(document)
        world, carried = rules.world(job), rules.carried_world_size(job)
        name = job.get("displayName")
        definition = JobDefinition(
            provider="vertex",
            name=name if isinstance(name, str) and name else "job",
            world_size=carried or world_size or world.started or 0,
            text=document_text(job),
            document=job,
            strategy=carried_strategy(job),
        )
        problems = tuple(rules.check_as_given(document, world_size))
        program = rules.program_of(job)
        script, started = script_of(job), world.started
        alone = rules.plain_program_of(job) if world.alone else ()
        return Examined(
            definition=definition,
            problems=problems,
            started=started,
            carried=carried,
            script=script,
            program=program,
            because=world.because,
            plain=Plain(alone, world.because, world.alone) if alone else None,
        )


class VertexCatalogue(Catalogue):
    """Compute Engine's machine types that Vertex AI rents out."""

    may_go = ("accelerator", "needs", "memory_gib", "vcpus", "gpu_memory_gib")

    def machine_rows(self, gpus: int | None = None) -> list[dict[str, Any]]:
        """See :mod:`launchers.vertex.tables.machines`."""
        from launchers.vertex.tables.machines import table_rows

        return table_rows(gpus)

    def regions(self) -> Sequence[str]:
        """See :mod:`launchers.vertex.tables.locations`."""
        from launchers.vertex.tables.locations import load

        return load()


class VertexContract(Contract):
    """What a replica of a CustomJob can rely on."""

    def containers(
        self,
        definition: JobDefinition,
        ranks_per_host: int | None = None,
        serve_code: bool = True,
    ) -> list[Container]:
        """See :mod:`launchers.vertex.contract`."""
        from launchers.vertex.contract import contract

        return contract(definition.document, ranks_per_host, serve_code)

    def conduct(self, definition: JobDefinition) -> Conduct:
        """See :mod:`launchers.vertex.contract`."""
        from launchers.vertex.contract import conduct

        return conduct(definition.document)

    def is_guarded(self, definition: JobDefinition) -> bool:
        """Whether the first pool starts our agent."""
        return is_ours(definition.document)


class AIPlatformImporter(Importer):
    """Reads the training jobs of the AI Platform, which was shut down on 2025-01-31."""

    service_title = "AI Platform Training"

    def imported(
        self, config: Mapping[str, Any], words: Sequence[str], arguments: Sequence[str] | None
    ) -> tuple[dict[str, Any], list[Problem]]:
        """See :mod:`launchers.vertex.ai_platform.convert`; ``words`` are gcloud's."""
        from launchers.vertex.ai_platform.convert import convert
        from launchers.vertex.ai_platform.input import read_words

        flags, problems = read_words(words)
        values, found = convert(config, flags, arguments)
        return values, problems + found


VERTEX = Provider(
    name="vertex",
    title="Google Vertex AI",
    about="Run a Vertex AI CustomJob and follow it: ranks on several replicas, started by "
    "our agent without ssh.\n\n--dry-run prints the exact CustomJob, offline.",
    examples=(
        "launch vertex train.py --instances 2 --gpus 4 --image IMAGE --dry-run",
        "launch vertex train.py --instances 2 --gpus 4 --image IMAGE -- --epochs 3",
    ),
    charges_money=True,
    definer=VertexDefiner(),
    service_class="launchers.vertex.service.cloud:VertexService",
    extra=SDK,
    contract=VertexContract(),
    reader=VertexReader(),
    catalogue=VertexCatalogue(),
    importer=AIPlatformImporter(),
)
