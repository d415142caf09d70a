"""The service's own resources besides a CustomJob's request: what it answers about one, a tuning
job, a neural architecture search, a training pipeline.

Source: Vertex AI's REST reference, projects.locations.customJobs, .hyperparameterTuningJobs,
.nasJobs, .trainingPipelines; the schemas in gs://google-cloud-aiplatform/schema/trainingjob.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from launchers.core.wrappings.places import Places, joined
from launchers.core.wrappings.spec import Look, Spec, Wrapping
from launchers.core.wrappings.texts import matching, with_unknowns
from launchers.vertex.wrappings.custom_jobs import (
    custom_job,
    is_job_spec,
    under,
    whole_numbers,
    without,
)

# What the service adds to a job.
_ANSWERED = frozenset(
    {"name", "state", "createTime", "startTime", "endTime", "updateTime", "error"}
    | {"webAccessUris", "satisfiesPzs", "satisfiesPzi"}
)
_LISTS = ("customJobs", "hyperparameterTuningJobs", "trainingPipelines")
_TRIALS = ("trialJobSpec", "searchTrialJobSpec", "trainTrialJobSpec")
_TASK, _INPUTS = "trainingTaskDefinition", "trainingTaskInputs"


class Described(Wrapping):
    """What the service answers about a CustomJob: describe, get, or a page of a list."""

    def specs(self, node: Mapping[str, Any], place: str, look: Look) -> Sequence[Spec] | None:
        """See :class:`launchers.core.wrappings.spec.Wrapping`."""
        for name in _LISTS:
            if isinstance(node.get(name), list):
                return look(node[name], joined(place, name))
        if not under(node, "jobSpec") or not under(node, "state"):
            return None
        return [Spec("vertex", without(node, _ANSWERED), Places(place), "a job's description")]

    def lacking(self, node: Mapping[str, Any]) -> str:
        """See :class:`launchers.core.wrappings.spec.Wrapping`; of a list it gets the entries."""
        runs = under(node, "containerSpec") or under(node, "pythonPackageSpec")
        if not runs or not under(node, "machineSpec"):
            return ""
        return (
            "a worker pool without its job, as the SDK's worker_pool_specs lists them; "
            '{"workerPoolSpecs": [...]} around the list makes the job'
        )


class TuningJob(Wrapping):
    """A HyperparameterTuningJob or NasJob, whose trials are CustomJobs; gcloud's configuration of
    one."""

    def specs(self, node: Mapping[str, Any], place: str, look: Look) -> Sequence[Spec] | None:
        """See :class:`launchers.core.wrappings.spec.Wrapping`."""
        found = [
            custom_job(node[key], joined(place, key), "a trial of a tuning job", node, place, "it")
            for key in (under(node, name) for name in _TRIALS)
            if key and is_job_spec(node[key])
        ]
        for name in ("nasJobSpec", "multiTrialAlgorithmSpec", "searchTrialSpec", "trainTrialSpec"):
            key = under(node, name)
            if key and isinstance(node[key], Mapping):
                found += self.specs(node[key], joined(place, key), look) or []
        return found or None


class TrainingPipeline(Wrapping):
    """A TrainingPipeline, whose inputs are a jobSpec or a tuning job."""

    def specs(self, node: Mapping[str, Any], place: str, look: Look) -> Sequence[Spec] | None:
        """See :class:`launchers.core.wrappings.spec.Wrapping`."""
        key = under(node, _INPUTS)
        if not key or not isinstance(node[key], Mapping):
            return None
        inputs, where = whole_numbers(node[key]), joined(place, key)
        if is_job_spec(inputs):
            return [custom_job(inputs, where, "a TrainingPipeline", node, place, "the pipeline")]
        found = TuningJob().specs(inputs, where, look) or []
        return [
            custom_job(spec.document["jobSpec"], spec.place, spec.kind, node, place, "it")
            for spec in found
        ]

    def lacking(self, node: Mapping[str, Any]) -> str:
        """See :class:`launchers.core.wrappings.spec.Wrapping`."""
        task = under(node, _TASK)
        if not task:
            return ""
        name = str(node[task]).rpartition("/")[2]
        return f"a TrainingPipeline of the task {name}, which runs no code of yours"


class Call(Wrapping):
    """Steps of Google Cloud's Workflows that create a CustomJob or a tuning job."""

    def specs(self, node: Mapping[str, Any], place: str, look: Look) -> Sequence[Spec] | None:
        """See :class:`launchers.core.wrappings.spec.Wrapping`."""
        return list(_calls(node, place, look)) if _is_workflow(node) else None

    def lacking(self, node: Mapping[str, Any]) -> str:
        """See :class:`launchers.core.wrappings.spec.Wrapping`."""
        if not _is_workflow(node):
            return ""
        return (
            "a workflow without a step that calls "
            "googleapis.aiplatform.v1.projects.locations.customJobs.create"
        )


def _is_workflow(node: Mapping[str, Any]) -> bool:
    main = node.get("main")
    return isinstance(main, Mapping) and isinstance(main.get("steps"), list)


def _calls(node: Any, place: str, look: Look) -> list[Spec]:
    if isinstance(node, list):
        parts = [(item, joined(place, index)) for index, item in enumerate(node)]
    elif isinstance(node, Mapping):
        call, args = str(node.get("call", "")), node.get("args")
        body = args.get("body") if isinstance(args, Mapping) else None
        if "aiplatform" in call and call.endswith("Jobs.create") and isinstance(body, Mapping):
            known = with_unknowns(body, matching(r"^\$\{.*\}$"))
            return look(known, joined(place, "args", "body")) or []
        parts = [(item, joined(place, str(key))) for key, item in node.items()]
    else:
        return []
    return [spec for part, where in parts for spec in _calls(part, where, look)]
