"""The plan of a dry run."""

from __future__ import annotations

from typing import Annotated, Any, TypedDict

from launchers.cli.answers.problems import ProblemAnswer


class PlanRow(TypedDict):
    """A line of the plan, as it is shown."""

    label: Annotated[str, "Empty where it goes on with the row before."]
    text: str
    origin: Annotated[str, "Where the value came from; empty where that is plain."]


class PlanPlaceholder(TypedDict):
    """A value that only the account knows."""

    path: Annotated[str, "Where it stands in the document."]
    value: Annotated[str, "What stands there instead."]
    fill: Annotated[str, "The flag, or the step of a submission, that gives the real one."]
    at_sending: Annotated[bool, "Whether the launcher fills it by itself when the job is sent."]


class PlanBundle(TypedDict):
    """The source that would travel."""

    files: int
    bytes: int
    sha256: Annotated[str, "Of the uncompressed tar stream."]
    left_out: Annotated[list[str], "What is not sent, in words."]


class PlanAnswer(TypedDict):
    """What the job will be."""

    name: Annotated[str, "The job's whole name."]
    provider: str
    read_from: Annotated[str, "`from flags`, `from launch.yaml and flags`."]
    world_size: Annotated[int, "Ranks of the whole job."]
    instances: Annotated[int, "Hosts."]
    processes: Annotated[int, "Ranks on each host."]
    gpus: Annotated[int, "GPUs of each host."]
    strategy: Annotated[str, "By what the ranks train together."]
    rows: Annotated[list[PlanRow], "Every decision, with where it came from."]
    placeholders: list[PlanPlaceholder]
    problems: Annotated[list[ProblemAnswer], "Warnings; an error is an answer of its own."]
    bundle: Annotated[PlanBundle | None, "Null where the source runs in its own folder."]


class DryRun(TypedDict):
    """One job: what was decided, and the document that would be sent."""

    plan: PlanAnswer
    document: Annotated[dict[str, Any], "The provider's request, as `--dry-run` prints it."]


DryRunAnswer = DryRun | list[DryRun]
