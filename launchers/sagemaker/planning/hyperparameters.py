"""The HyperParameters of a request: how the container's toolkit is told what to start.

The toolkit sorts hyperparameters and changes their values on the way to argv (``1.10`` becomes
``1.1``, ``true`` becomes ``True``), so the exact arguments travel as JSON in
``sagemaker_launch_args``. Names that begin with ``sagemaker_`` never reach argv; the unknown ones
land in SM_FRAMEWORK_PARAMS, from where the guard reads them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from launchers.core.analysis.argument_pairs import NUMBER, named
from launchers.core.model.problems import Problem
from launchers.core.planning.plan import Plan
from launchers.core.source.script import Source
from launchers.sagemaker.catalogue import RULES
from launchers.sagemaker.document import (
    CODE_PATH,
    GUARD,
    LAUNCH_ARGS,
    LAUNCH_MODULE,
    LAUNCH_SCRIPT,
    MPI_ENABLED,
    MPI_OPTIONS,
    MPI_PROCESSES_PER_HOST,
    PROGRAM,
    SUBMIT_DIRECTORY,
)


def hyperparameters(plan: Plan, mpi_options: Sequence[str], region: str) -> dict[str, str]:
    """The request's HyperParameters; every value is JSON text, as the SageMaker SDK sends them.

    Args:
        mpi_options: What mpirun is told besides the variables that it hands on.
    """
    exported = [f"-x {name}" for name in plan.environment]
    options = " ".join([*mpi_options, *exported])
    mpi = {
        MPI_ENABLED: "true",
        MPI_PROCESSES_PER_HOST: str(plan.processes),
        MPI_OPTIONS: json.dumps(options),
    }
    return _with_start(plan, region, mpi)


def agents_hyperparameters(plan: Plan, region: str) -> dict[str, str]:
    """The same where our agent starts the ranks, which reads script and arguments from here.

    The toolkit's program is named all the same, as the SageMaker SDK does: whoever sends the
    request without its entry point starts the guard, which refuses to be a job of its own.
    """
    return _with_start(plan, region, {})


def _with_start(plan: Plan, region: str, start: Mapping[str, str]) -> dict[str, str]:
    job = plan.job
    return {
        **_shown(job.arguments),
        PROGRAM: json.dumps(GUARD),
        SUBMIT_DIRECTORY: json.dumps(CODE_PATH),
        "sagemaker_container_log_level": "20",
        "sagemaker_job_name": json.dumps(plan.name),
        "sagemaker_region": json.dumps(region),
        **start,
        **_program(plan.source),
        LAUNCH_ARGS: json.dumps(list(job.arguments), ensure_ascii=False),
    }


def _program(source: Source) -> dict[str, str]:
    name, value = LAUNCH_SCRIPT, source.script
    if source.module:
        name, value = LAUNCH_MODULE, source.module
    return {name: json.dumps(value, ensure_ascii=False)}


def shown_arguments_problems(arguments: Sequence[str]) -> list[Problem]:
    """Arguments that would be read as an instruction to the toolkit."""
    return [
        RULES["argument-reserved"].at(f"-- --{name}", "a name that begins with sagemaker_")
        for name, _ in named(arguments)
        if name.startswith("sagemaker_")
    ]


def _shown(arguments: Sequence[str]) -> dict[str, str]:
    """``--name value`` as hyperparameters, for the console and its search. The guard ignores what
    the toolkit makes of them."""
    return {
        name: value if NUMBER.fullmatch(value) else json.dumps(value, ensure_ascii=False)
        for name, value in named(arguments)
    }
