"""Where a job's values came from, in the words of the plan and of its problems."""

from __future__ import annotations

import re
from dataclasses import Field, replace
from functools import cache
from typing import Any

from launchers.core.model.problems import Problem
from launchers.core.spec.job import JobSpec, is_flag
from launchers.core.spec.option import default_of, key_of, option_fields

# A flag, and maybe one word behind it: `--proof exchange`.
_FLAG = re.compile(r"(--[a-z][a-z-]*)(?: [\w.:-]+)?")
DEFAULT = "default"


def told(job: JobSpec, origin: str) -> str:
    """A row's origin, with each flag in it replaced by the file or variable that gave its value
    instead; flags that nobody gave are left out, and ``default`` stands for none at all.

    Args:
        origin: Its parts are parted by commas: ``--instances, --processes``.
    """
    found, flags = [], 0
    for part in origin.split(", "):
        item = _field_of(job, part)
        if item is None:
            found.append(part)
            continue
        flags += 1
        if item.name in job.origins:
            origin = job.origins[item.name]
            found.append(part if is_flag(origin) and " and " not in origin else origin)
        elif getattr(_holder(job, item.name), item.name) != default_of(item):
            found.append(part)
    return ", ".join(dict.fromkeys(found)) or DEFAULT if flags else origin


def placed(job: JobSpec, problem: Problem) -> Problem:
    """``problem``, whose path is a flag, at the file or variable that gave the flag's value."""
    flag, _, name = problem.path.partition(" ")
    item = _flags(job).get(flag) if flag.startswith("--") else None
    origin = job.origins.get(item.name, "") if item else ""
    if item is None or is_flag(origin):
        return problem
    section = "" if hasattr(job, item.name) else f"{job.provider}."
    path = origin if origin.startswith("LAUNCH_") else f"{origin}: {section}{key_of(item)}"
    return replace(problem, path=f"{path}.{name}" if name else path)


def _field_of(job: JobSpec, part: str) -> Field[Any] | None:
    match = _FLAG.fullmatch(part)
    return _flags(job).get(match[1]) if match else None


def _flags(job: JobSpec) -> dict[str, Field[Any]]:
    """The fields of such jobs by their flags."""
    options: Any = type(job.options)
    return _fields(options)


@cache
def _fields(options: Any) -> dict[str, Field[Any]]:
    own = [] if options is type(None) else option_fields(options)
    items = [item for item, _ in (*option_fields(JobSpec), *own)]
    return {flag: item for item in items for flag in item.metadata["flags"]}


def _holder(job: JobSpec, name: str) -> Any:
    return job if hasattr(job, name) else job.options
