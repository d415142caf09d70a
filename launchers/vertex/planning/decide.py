"""From a JobSpec to the plan of a CustomJob. Pure: tables, the environment, the source and the job
itself are all that is read."""

from __future__ import annotations

from launchers.core.analysis.keras_choice import choose_keras, stack_of_image
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
from launchers.vertex.options import VertexJob
from launchers.vertex.planning.account import Account, account_of
from launchers.vertex.planning.flags import problems_in_flags
from launchers.vertex.planning.image_choice import choose_image
from launchers.vertex.planning.machine_choice import MachineChoice, choose_machine
from launchers.vertex.planning.plan import VertexPlan
from launchers.vertex.planning.request import request_of


def make_plan(job: VertexJob, source: JobSource) -> VertexPlan:
    """Every default decided."""
    machine = choose_machine(job)
    strategy = choose_strategy(job, source, machine.gpus)
    processes = strategy.processes
    account = account_of(job)
    image = choose_image(job, strategy.strategy)
    keras = choose_keras(
        job,
        source,
        stack_of_image(image.uri),
        job.instances * processes,
        strategy=strategy.strategy,
    )
    request = request_of(job)
    return VertexPlan(
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
            *keras.problems,
            *request.problems,
            *machine.problems,
            *image.problems,
            *_problems(job, strategy, machine, account),
            *strategy.problems,
        ),
    )


def _problems(
    job: VertexJob, strategy: StrategyChoice, machine: MachineChoice, account: Account
) -> list[Problem]:
    return [
        *problems_in_names(job.environment, strategy=strategy.strategy),
        *problems_in_arguments(job.arguments, "--", frozenset(job.allow_values)),
        *problems_in_secrets(job.secrets, "google", environment=job.environment),
        *problems_in_flags(job, account),
        *rank_problems(strategy.processes, machine.gpus),
        *problems_in_hangs(job),
    ]
