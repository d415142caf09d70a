"""From a LocalJob to a job on this machine: hosts that are simulated, ranks that are real."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from launchers.core.analysis.keras_choice import KerasChoice, Stack, choose_keras
from launchers.core.analysis.strategy_choice import choose_strategy
from launchers.core.model.jobs import Placeholder
from launchers.core.model.problems import Problem, errors
from launchers.core.paths import is_elsewhere, shortest
from launchers.core.planning.gpu_pinning import choose_pinning
from launchers.core.planning.machine_choice import rank_problems
from launchers.core.planning.plan import Plan, Row, counted
from launchers.core.planning.rank_environment import rank_environment
from launchers.core.planning.rows import (
    checkpoints_row,
    hang_rows,
    limits_rows,
    proof_row,
    requirements_rows,
    source_rows,
)
from launchers.core.records import nonce
from launchers.core.rules.environment import problems_in_names
from launchers.core.rules.hangs import problems_in_hangs
from launchers.core.rules.secrets import HERE, problems_in_secrets, with_whole_paths
from launchers.core.source.script import JobSource, Source
from launchers.core.spec import limits
from launchers.core.spec.value_types import format_duration
from launchers.core.strategies import FIRST
from launchers.core.strategies.strategy import Strategy
from launchers.local.catalogue import RULES
from launchers.local.credentials import credential_problems
from launchers.local.job_folder import JobFolder
from launchers.local.options import LocalJob
from launchers.local.script_mode import (
    PREFIX,
    RESERVED,
    Naming,
    ScriptMode,
    Simulated,
    named_variables,
    script_mode,
)
from launchers.machine.devices import share_of, visible_gpus
from launchers.machine.python_environment import PythonEnvironment, inspect
from launchers.machine.supervised.folder import output_root

_FOR_TORCH = (
    "name one with --python PATH, or build it there, after torch: HOROVOD_WITH_PYTORCH=1 "
    "HOROVOD_WITH_GLOO=1 pip install --no-build-isolation horovod"
)


@dataclass(frozen=True, kw_only=True)
class LocalPlan(Plan):
    """What templates/local needs besides.

    Attributes:
        devices: The GPUs of this machine that the hosts share.
        script_words: See :func:`launchers.local.script_mode.named_variables`.
    """

    job: LocalJob
    python: PythonEnvironment
    keras: KerasChoice
    devices: list[str]
    script_words: Mapping[str, Naming]

    @property
    def folder(self) -> JobFolder:
        """The job's own."""
        return JobFolder(output_root(self.job.output_path) / self.name)

    @property
    def checkpoints(self) -> str:
        """The folder of the checkpoints, or their address in an object store as it was given."""
        place = self._checkpoint_place(str(self.folder.checkpoints))
        return place if is_elsewhere(place) else os.path.abspath(os.path.expanduser(place))

    @property
    def environment(self) -> Mapping[str, str]:
        """The variables of every rank."""
        return {
            **self.script_mode.environment,
            **rank_environment(
                self,
                self.checkpoints,
                provider="local",
                secrets=with_whole_paths(self.job.secrets),
            ),
            "LAUNCH_MODEL_DIR": str(self.folder.model),
            **self.keras.variables,
            **limits.variables(self.job.options.limits),
        }

    @property
    def script_mode(self) -> ScriptMode:
        """What a script that was written for SageMaker's script mode finds."""
        return script_mode(
            self.source,
            self.script_words,
            Simulated(self._host_names(), self.gpus, self.folder, self.name),
            self.job.arguments,
            self.job.options.channels,
            self.job.environment,
        )

    @property
    def hosts(self) -> Sequence[Mapping[str, Any]]:
        """The simulated hosts: name, global ranks, and what only those ranks see."""
        variables = self.script_mode.hosts
        return [
            {
                "name": name,
                "ranks": list(range(index * self.processes, (index + 1) * self.processes)),
                "environment": {
                    "CUDA_VISIBLE_DEVICES": ",".join(share_of(self.devices, index, self.gpus)),
                    **variables.get(name, {}),
                },
            }
            for index, name in enumerate(self._host_names())
        ]

    def _host_names(self) -> list[str]:
        return [f"host-{index + 1}" for index in range(self.instances)]

    @property
    def program(self) -> Mapping[str, str]:
        """The script or the module, under the document's word for it."""
        source = self.source
        return {"module": source.module} if source.module else {"script": source.script}

    @property
    def requirements(self) -> str | None:
        """The file of ``--requirements``."""
        return str(self.source.requirements) if self.source.requirements else None

    @property
    def placeholders(self) -> tuple[Placeholder, ...]:
        """The nonce."""
        return (nonce.placeholder("$.environment.LAUNCH_NONCE"),)

    def _rows(self) -> Sequence[Row]:
        pinned = f"{self.gpus} a host, pinned by {self.pinning.by}"
        text = pinned if self.gpus else "none, ranks run on the CPU"
        limit = self.job.max_runtime
        limit_rows = [Row("time limit", format_duration(limit), "--max-runtime")] if limit else []
        output = "model, logs, --output-path" if self.job.output_path else "model, logs"
        return [
            Row("ranks", self.layout, "--instances, --processes"),
            proof_row(self),
            *source_rows(self, "nothing besides this shell's"),
            *self.keras.rows,
            *self.script_mode.rows,
            Row(
                "python",
                self.python.described(self.strategy.strategy),
                f"{self.python.path}, {self.python.origin}",
            ),
            *self.strategy.rows,
            Row("GPUs", text, self._gpu_origin()),
            *requirements_rows(self, "installed for this job alone"),
            *limit_rows,
            *limits_rows(self.job.options.limits),
            *hang_rows(self),
            checkpoints_row(self, self.checkpoints),
            Row("output", str(self.folder.path), output),
        ]

    def _gpu_origin(self) -> str:
        given = "--gpus" if self.job.gpus is not None else ""
        return ", ".join(filter(None, (given, self.pinning.why if self.gpus else "")))


def make_plan(job: LocalJob, source: JobSource) -> LocalPlan:
    """Every default decided. Asks the ranks' Python for its versions; starts nothing else and
    changes nothing."""
    python, python_problems = inspect(job.options.python)
    devices = visible_gpus()
    gpus = job.gpus if job.gpus is not None else len(devices) // job.instances
    strategy = choose_strategy(job, source, gpus)
    processes = strategy.processes
    world_size = strategy.strategy.world_size(job.instances, processes, gpus)
    keras = choose_keras(job, source, _stack(python), world_size, os.environ, strategy.strategy)
    plan = LocalPlan(
        job=job,
        source=source,
        processes=processes,
        gpus=gpus,
        strategy=strategy,
        pinning=choose_pinning(
            job, source.bundle.texts, gpus, "the ranks see no GPU", strategy.strategy
        ),
        python=python,
        keras=keras,
        devices=devices,
        script_words=named_variables(source),
    )
    no_script = [_no_script(job, source)] if source.shared and job.script is None else []
    # Where no strategy is known, none has a library that could be missing.
    unknown = no_script or not strategy.known or errors(strategy.problems)
    problems = (
        *source.problems,
        *no_script,
        *source.requirements_problems,
        *python_problems,
        *_gpu_problems(job, gpus, processes, len(devices), strategy.strategy),
        *problems_in_names(
            job.environment,
            free=lambda name: name.startswith(PREFIX) and name != RESERVED,
            strategy=strategy.strategy,
        ),
        *([] if python_problems or unknown else _library_problems(python, source, plan)),
        *plan.script_mode.problems,
        *problems_in_secrets(job.secrets, HERE, "aws", environment=job.environment),
        *credential_problems(job, source),
        *problems_in_hangs(job),
        *keras.problems,
        *strategy.problems,
    )
    return replace(plan, problems=problems)


def _stack(python: PythonEnvironment) -> Stack:
    if not python.tensorflow:
        return Stack()  # it may have TensorFlow under the name of another package
    return Stack(python.tensorflow, python.keras or "", python.tf_keras or "")


def _no_script(job: LocalJob, shared: Source) -> Problem:
    """In the clouds the shared script is the default; here nobody means to train on digits who
    only left a word out."""
    in_file = ", or put `script: train.py` into the file" if job.files else ""
    return RULES["script-missing"].at(
        "SCRIPT",
        "none",
        "the training script to run",
        f"`launch {job.verb or 'local'} train.py` runs yours{in_file}; `launch init` writes one to "
        f"begin with; the shared classifier is {shortest(shared.folder / shared.script)}",
    )


def _gpu_problems(
    job: LocalJob, gpus: int, processes: int, visible: int, strategy: Strategy
) -> list[Problem]:
    problems = []
    if gpus * job.instances > visible:
        problems.append(
            RULES["local-gpus"].at(
                "--gpus",
                f"{counted(job.instances, 'host')} x {counted(gpus, 'GPU')}",
                f"at most {counted(visible, 'GPU')}, which this machine shows",
                f"--gpus {visible // job.instances}",
            )
        )
    problems += rank_problems(processes, gpus, ", or --gpus 0 for the CPU")
    if processes < gpus and not strategy.one_a_host:
        problems.append(
            RULES["ranks-below-gpus"].at(
                "--processes",
                f"{processes} ranks on {gpus} GPUs",
                "one rank a GPU",
                f"{gpus - processes} stay idle on each host",
            )
        )
    return problems


def _library_problems(python: PythonEnvironment, source: Source, plan: LocalPlan) -> list[Problem]:
    """What the ranks' Python lacks of what their strategy needs."""
    strategy = plan.strategy.strategy
    if not strategy.library or python.version_of(strategy.package):
        return []
    if strategy.name != FIRST:
        found = f"{python.path} ({python.origin}) has no {strategy.library}"
        expected = f"a Python with {strategy.library}"
        fix = f"name one with --python PATH, or {strategy.install}"
        return [RULES["local-no-library"].at("--python", found, expected, fix)]
    script = source.folder / source.script
    text = script.read_text(errors="replace") if script.is_file() else ""
    if plan.world_size == 1 and not source.shared and "horovod" not in text:
        return []
    found = f"{python.path} ({python.origin}) has no Horovod"
    if "torch" in text and "tensorflow" not in text:
        # `make demo` builds Horovod for TensorFlow alone.
        return [RULES["local-no-horovod"].at("--python", found, fix=_FOR_TORCH)]
    return [RULES["local-no-horovod"].at("--python", found)]
