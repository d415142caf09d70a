"""The job of one run: the study's job with a point's sizes and compared values, its share of the
batch, and the seed of its repeat."""

from __future__ import annotations

import dataclasses
from dataclasses import replace
from typing import Any

from launchers.core.model.problems import LaunchError, Problem
from launchers.core.provider import Provider
from launchers.core.reading.wrong_values import shown
from launchers.core.source.script import JobSource
from launchers.core.spec.job import JobSpec
from launchers.core.spec.option import option_fields
from launchers.core.spec.value_types import ValueType
from launchers.scaling import arguments as script_arguments
from launchers.scaling.catalogue import RULES
from launchers.scaling.grid import Point
from launchers.scaling.planned import Wanted

SIZES = ("instances", "processes", "gpus")
# The tag or label that makes a job of the same point another job.
REPEAT_TAG = "scaling-repeat"


def sized(provider: Provider, job: JobSpec, point: Point, problems: list[Problem]) -> JobSpec:
    """The job of that point; what of the compared values is wrong goes to ``problems``."""
    sizes = {name: value for name in SIZES if (value := getattr(point, name)) is not None}
    origins = {**job.origins, **{name: f"--{name}" for name in sizes}}
    job = replace(job, **sizes, origins=origins)
    for name, text in point.variant:
        option = option_with_flag(provider, name)
        if option is None:
            arguments = script_arguments.compared(job.arguments, name, text)
            job = replace(job, arguments=arguments)
            continue
        item, kind = option
        try:
            given = {"true": True, "false": False}.get(text, text)
            try:
                value = kind.parse(text)
            except ValueError:
                value = kind.parse(given)
        except ValueError:
            found, path = shown(text, name, repr), f"--compare {name}"
            problem = RULES["scaling-compare"].at(path, found, kind.expected)
            if problem not in problems:
                problems.append(problem)
            continue
        job = _with_field(job, item.name, value)
    return job


def option_with_flag(provider: Provider, name: str) -> tuple[Any, ValueType] | None:
    """The job's field that has the flag ``--NAME`` on that provider."""
    definer = provider.definer
    for item, kind in option_fields(JobSpec, definer.unused) + option_fields(definer.options):
        if f"--{name}" in item.metadata["flags"]:
            return item, kind
    return None


def _with_field(job: JobSpec, name: str, value: Any) -> JobSpec:
    """The job with a field of its own, or of its provider; a mapping is added to what is there."""
    own = name in {one.name for one in dataclasses.fields(job)}
    holder = job if own else job.options
    before = getattr(holder, name)
    if isinstance(value, dict):
        value = {**(before or {}), **value}
    job = job if own else replace(job, options=replace(job.options, **{name: value}))
    changes = {name: value} if own else {}
    return replace(job, **changes, origins={**job.origins, name: "--compare"})


def with_shares(
    provider: Provider, jobs: list[tuple[Point, JobSpec]], wanted: Wanted, source: JobSource
) -> list[tuple[Point, JobSpec]]:
    """The jobs in which each rank has its share of one total batch.

    Raises:
        LaunchError: The batch is not given, or does not divide.
    """
    sizes = [provider.definer.plan(job, source).world_size for _, job in jobs]
    name = wanted.batch_argument
    problems = dict.fromkeys(
        one
        for _, job in jobs
        for one in script_arguments.batch_problems(job.arguments, name, sizes)
    )
    if problems:
        raise LaunchError(problems)
    return [
        (point, replace(job, arguments=script_arguments.rank_batch(job.arguments, name, size)))
        for (point, job), size in zip(jobs, sizes, strict=True)
    ]


def repeated(provider: Provider, job: JobSpec, repeat: int, seed: str) -> JobSpec:
    """The job of that repeat.

    Args:
        repeat: From 1; also the seed.
        seed: The script's argument that takes the seed, or an empty string.
    """
    arguments = job.arguments
    if seed:
        arguments = script_arguments.with_value(arguments, seed, str(repeat))
    # The same job again is the same job, where jobs are paid for.
    tags = {**job.tags, REPEAT_TAG: str(repeat)} if provider.charges_money else job.tags
    return replace(job, arguments=arguments, tags=tags)
