"""`launch local`: the provider whose machine is this one."""

from __future__ import annotations

from typing import Any

from launchers.core.model.jobs import JobDefinition
from launchers.core.model.problems import Problem
from launchers.core.planning.plan import Plan
from launchers.core.planning.render import render
from launchers.core.provider import Provider
from launchers.core.roles import Definer
from launchers.core.source.script import JobSource
from launchers.core.spec.job import JobSpec
from launchers.local.options import LocalOptions
from launchers.local.plan import make_plan
from launchers.local.rules import check

# Variables of one run, which don't make it another job.
_NOT_THE_JOB = (
    "LAUNCH_JOB",
    "LAUNCH_CHECKPOINT_DIR",
    "LAUNCH_MODEL_DIR",
    "LAUNCH_NONCE",
    "LAUNCH_TAGS",
)


class LocalDefiner(Definer):
    """Makes and checks the documents that :mod:`launchers.local.supervisor` runs."""

    options = LocalOptions
    unused = frozenset({"machine", "image", "spot", "max_wait", "region", "bucket", "tags"})
    sends_source = False

    def plan(self, job: JobSpec, source: JobSource) -> Plan:
        """See :func:`launchers.local.plan.make_plan`."""
        return make_plan(job, source)

    def render(self, plan: Plan) -> JobDefinition:
        """The document that the supervisor runs."""
        return render("local", "job.json.j2", plan, nulls=True)

    def identity(self, definition: JobDefinition) -> dict[str, Any]:
        """The document without the name, the folders that carry it, and the nonce."""
        document = dict(definition.document)
        for key in ("name", "folder", "port"):
            del document[key]
        own_folder = definition.document["folder"]
        document["environment"] = {
            key: value
            for key, value in _without_folder(document["environment"], own_folder).items()
            if key not in _NOT_THE_JOB
        }
        document["hosts"] = [
            {**host, "environment": _without_folder(host["environment"], own_folder)}
            for host in document["hosts"]
        ]
        return document

    def check(self, definition: JobDefinition) -> list[Problem]:
        """See :mod:`launchers.local.rules`."""
        return check(definition)


def _without_folder(environment: dict[str, str], folder: str) -> dict[str, str]:
    """Without the variables that name the job's folder (SM_MODEL_DIR and its like)."""
    return {name: value for name, value in environment.items() if folder not in value}


LOCAL = Provider(
    name="local",
    title="this machine",
    about="Run a job on this machine: N simulated hosts, real ranks, the agent and guard "
    "of the clouds.\n\nSCRIPT or -m MODULE is needed here or in launch.yaml; the shared image "
    "classifier, which the clouds train without one, runs by its path.",
    examples=(
        "launch local train.py --instances 2 --processes 2 -- --epochs 3",
        "launch local -m trainer.task --source src --dry-run",
    ),
    charges_money=False,
    runs_here=True,
    definer=LocalDefiner(),
    service_class="launchers.local.service:LocalService",
)
