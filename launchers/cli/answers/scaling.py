"""A study of `launch scaling`: what would run, and what was measured."""

from __future__ import annotations

from typing import Annotated, TypedDict

from launchers.cli.answers.problems import ProblemAnswer
from launchers.cli.answers.shape import Time


class PlannedRun(TypedDict):
    """A run that is to be, in the order in which they start."""

    name: Annotated[str, "The job's whole name, as it would be now."]
    world_size: int
    instances: Annotated[int, "Hosts."]
    processes: Annotated[int, "Ranks on each host."]
    gpus: Annotated[int, "GPUs of each host."]
    variant: Annotated[dict[str, str], "What is compared, by name."]
    repeat: Annotated[int, "From 1."]
    arguments: Annotated[list[str], "The script's."]
    machine: Annotated[str | None, "The type of its rented machines; null on this machine."]
    machine_hours_at_most: Annotated[float | None, "Hours of all its machines together."]


class ScalingPlanAnswer(TypedDict):
    """A study that would run."""

    name: str
    folder: Annotated[str, "Where its results would lie."]
    provider: str
    batch: Annotated[str, "`rank` or `total`."]
    batch_text: Annotated[str, "What that means for the script."]
    seed: Annotated[str, "The seeds of the repeats, in words."]
    runs: list[PlannedRun]
    machine_hours_at_most: Annotated[float | None, "Of all runs; null where nothing limits them."]
    cost_at_most: Annotated[float | None, "US dollars by `--price`; null without it."]
    problems: Annotated[list[ProblemAnswer], "Warnings."]


class SpreadAnswer(TypedDict):
    """Over the runs that succeeded."""

    median: float
    low: float
    high: float
    count: Annotated[int, "Of how many runs."]


class EpochAnswer(TypedDict):
    """What a run's output said at the end of an epoch; null for what it did not say."""

    number: Annotated[int, "From 1."]
    seconds: Annotated[float | None, "Of training since the first step; validation left out."]
    images_per_second: Annotated[float | None, "Of the whole job."]
    loss: Annotated[float | None, "Of training."]
    accuracy: Annotated[float | None, "Of training, 0 to 1."]
    validation_loss: float | None
    validation_accuracy: Annotated[float | None, "0 to 1."]


class ScalingRun(TypedDict):
    """One job of the study."""

    repeat: Annotated[int, "From 1; the seed, where the study gives one."]
    job: Annotated[str, "Its name; empty before it is started."]
    state: Annotated[str, "As in `launch status`, or `waiting`, `not started`."]
    reason: Annotated[str, "One line; empty while all is well."]
    epochs: list[EpochAnswer]
    test_accuracy: Annotated[float | None, "Of the result line, 0 to 1."]
    test_loss: float | None
    cost: Annotated[float | None, "US dollars; null where price or time is not known."]
    load: Annotated[float | None, "Cores that other programs kept busy as it began."]


class ScalingRow(TypedDict):
    """All runs of one size; null for what no run said."""

    instances: Annotated[int, "Hosts."]
    processes: Annotated[int, "Ranks on each host."]
    gpus: Annotated[int | None, "GPUs of each host, where the study varies them."]
    variant: Annotated[dict[str, str], "What is compared, by name."]
    world_size: int
    runs: list[ScalingRun]
    epoch_seconds: SpreadAnswer | None
    images_per_second: Annotated[SpreadAnswer | None, "Of the whole job."]
    speed_up: Annotated[SpreadAnswer | None, "Beside the variant's smallest size that succeeded."]
    efficiency: Annotated[SpreadAnswer | None, "Speed-up by how many times larger the world is."]
    loss: Annotated[SpreadAnswer | None, "Of training, last epoch."]
    accuracy: Annotated[SpreadAnswer | None, "Of training, last epoch, 0 to 1."]
    validation_loss: Annotated[SpreadAnswer | None, "Last epoch's, else the result line's."]
    validation_accuracy: Annotated[SpreadAnswer | None, "The same, 0 to 1."]
    cost: Annotated[SpreadAnswer | None, "US dollars a run."]


class ScalingAnswer(TypedDict):
    """A study as far as it is."""

    name: str
    folder: Annotated[str, "Where its results lie."]
    files: Annotated[list[str], "Results and report in that folder."]
    command: Annotated[str, "The command line that began it."]
    provider: str
    machine: Annotated[str, "What it ran on, for people."]
    cores: Annotated[int | None, "That local ranks share; null on a cloud."]
    begun: Time
    batch: Annotated[str, "`rank` or `total`."]
    load: Annotated[list[float] | None, "Lowest and highest of the runs' loads."]
    finished: Annotated[bool, "Whether every run has ended."]
    verdict: Annotated[list[str], "What the figures bear, a sentence each."]
    rows: list[ScalingRow]
