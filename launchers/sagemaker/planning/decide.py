"""From a JobSpec to the plan of a training job. Pure: tables, the environment, the source and the
job itself are all that is read."""

from __future__ import annotations

from launchers.core.analysis.keras_choice import choose_keras
from launchers.core.analysis.strategy_choice import choose_strategy
from launchers.core.credentials.search import problems_in_arguments
from launchers.core.model.problems import Problem
from launchers.core.planning.gpu_pinning import choose_pinning
from launchers.core.planning.machine_choice import rank_problems
from launchers.core.planning.plan import StrategyChoice
from launchers.core.rules.environment import problems_in_names
from launchers.core.rules.hangs import problems_in_hangs
from launchers.core.rules.secrets import problems_in_secrets
from launchers.core.source.script import JobSource
from launchers.core.strategies import FIRST, NAMES
from launchers.sagemaker.catalogue import RULES
from launchers.sagemaker.options import SageMakerJob
from launchers.sagemaker.planning.account import Account, account_of
from launchers.sagemaker.planning.flags import problems_in_flags
from launchers.sagemaker.planning.framework import package_of
from launchers.sagemaker.planning.hyperparameters import shown_arguments_problems
from launchers.sagemaker.planning.image_choice import choose_image
from launchers.sagemaker.planning.machine_choice import MachineChoice, choose_machine
from launchers.sagemaker.planning.plan import SageMakerPlan
from launchers.sagemaker.planning.request import request_of

# What a training job starts: the first by MPI, the others by our agent.
STRATEGIES = NAMES


def make_plan(job: SageMakerJob, source: JobSource) -> SageMakerPlan:
    """Every default decided."""
    machine = choose_machine(job)
    strategy = choose_strategy(job, source, machine.gpus, STRATEGIES)
    processes = strategy.processes
    account = account_of(job)
    package = package_of(strategy.strategy, source)
    image = choose_image(job, machine, account, strategy.strategy, package)
    world_size = job.instances * processes
    keras = choose_keras(job, source, image.stack(), world_size, strategy=strategy.strategy)
    request = request_of(job)
    return SageMakerPlan(
        job=job,
        source=source,
        processes=processes,
        gpus=machine.gpus,
        strategy=strategy,
        pinning=choose_pinning(
            job, source.bundle.texts, machine.gpus, "the machine has no GPU", strategy.strategy
        ),
        account=account,
        machine=machine,
        image=image,
        keras=keras,
        request=request,
        problems=(
            *source.problems,
            *source.requirements_problems,
            *machine.problems,
            *image.problems,
            *keras.problems,
            *request.problems,
            *_problems(job, strategy, machine, account),
            *_mpi_options(job, strategy),
            *strategy.problems,
        ),
    )


def _problems(
    job: SageMakerJob, strategy: StrategyChoice, machine: MachineChoice, account: Account
) -> list[Problem]:
    return [
        *problems_in_names(job.environment, strategy=strategy.strategy),
        *problems_in_arguments(job.arguments, "--", frozenset(job.allow_values)),
        *shown_arguments_problems(job.arguments),
        *problems_in_secrets(job.secrets, "aws", environment=job.environment),
        *_isolation(job),
        *problems_in_flags(job, account),
        *rank_problems(strategy.processes, machine.gpus),
        *problems_in_hangs(job, has_agent=strategy.strategy.name != FIRST),
    ]


def _mpi_options(job: SageMakerJob, strategy: StrategyChoice) -> list[Problem]:
    if not job.options.mpi_options or strategy.name == FIRST:
        return []
    found = f"with {strategy.strategy.title}, whose ranks our agent starts"
    return [RULES["mpi-option-unused"].at("--mpi-option", found)]


def _isolation(job: SageMakerJob) -> list[Problem]:
    if not job.options.isolate:
        return []
    refused = [("--secret", job.secrets), ("--requirements", job.requirements)]
    return [
        RULES["isolation"].at("--isolate", f"together with {flag}")
        for flag, value in refused
        if value
    ]
