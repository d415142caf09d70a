"""From a JobSpec to a job on this machine: hosts that are simulated, ranks that are real."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from launchers.core.analysis.keras_choice import Stack, choose_keras
from launchers.core.model.problems import Problem
from launchers.core.planning.gpu_pinning import pinning
from launchers.core.planning.machine_choice import rank_problems
from launchers.core.planning.plan import Plan, Row, counted, layout
from launchers.core.planning.rank_environment import rank_environment
from launchers.core.planning.rows import proof_row, requirements_rows, source_rows
from launchers.core.records import nonce
from launchers.core.records.ledger import data_folder
from launchers.core.rules.environment import problems_in_names
from launchers.core.rules.secrets import HERE, problems_in_secrets, with_whole_paths
from launchers.core.source.script import Source, bundle_of, locate, requirements_file, user_files
from launchers.core.spec.job import JobSpec
from launchers.core.spec.value_types import format_duration
from launchers.local.job_folder import JobFolder
from launchers.local.python_environment import PythonEnvironment, inspect
from launchers.local.script_mode import PREFIX, RESERVED, ScriptMode, Simulated, script_mode
from launchers.machine.devices import share_of, visible_gpus


@dataclass(frozen=True)
class Host:
    """One simulated host: its name, its global ranks, and what only its ranks see."""

    name: str
    ranks: tuple[int, ...]
    environment: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class LocalPlan(Plan):
    """What templates/local needs besides."""

    python: str
    source: str
    script: str
    module: str
    requirements: str | None
    folder: str
    hosts: tuple[Host, ...] = field(default_factory=tuple)


def make_plan(job: JobSpec) -> LocalPlan:
    """Every default decided. Reads the source folder and asks the ranks' Python for its versions;
    starts nothing else and changes nothing."""
    source, problems = locate(job)
    if source.shared and job.script is None:
        problems.append(_no_script(job, source))
    requirements, more = requirements_file(job)
    problems += more
    python, more = inspect(job.options.python)
    problems += more
    devices = visible_gpus()
    gpus = job.gpus if job.gpus is not None else len(devices) // job.instances
    processes = job.processes or gpus or 1
    problems += _gpu_problems(job, gpus, processes, len(devices))
    problems += problems_in_names(
        job.environment, free=lambda name: name.startswith(PREFIX) and name != RESERVED
    )
    pin = pinning(job, gpus, "the ranks see no GPU")
    folder = JobFolder(output_root(job) / (job.full_name or "NAME"))
    checkpoints = job.checkpoint or job.checkpoint_folder or str(folder.checkpoints)
    if not more:
        problems += _horovod_problems(python, source, job.instances * processes)
    sagemaker = script_mode(
        source,
        user_files(bundle_of(job)),
        Simulated(_host_names(job.instances), gpus, folder, job.full_name or "NAME"),
        job.arguments,
        job.options.channels,
        job.environment,
    )
    problems += sagemaker.problems
    environment = {
        **sagemaker.environment,
        **rank_environment(
            job,
            processes,
            pin[0],
            os.path.abspath(os.path.expanduser(checkpoints)),
            with_whole_paths(job.secrets),
        ),
        "LAUNCH_MODEL_DIR": str(folder.model),
    }
    problems += problems_in_secrets(job.secrets, HERE, "aws", environment=job.environment)
    keras = choose_keras(job, source, _stack(python), job.instances * processes, os.environ)
    problems += keras.problems
    return LocalPlan(
        job=job,
        name=job.full_name or "NAME",
        instances=job.instances,
        processes=processes,
        gpus=gpus,
        environment={**environment, **keras.variables},
        python=python.path,
        source=str(source.folder),
        script=source.script,
        module=source.module,
        requirements=str(requirements) if requirements else None,
        folder=str(folder.path),
        hosts=_hosts(job.instances, processes, devices, gpus, sagemaker),
        problems=tuple(problems),
        placeholders=(nonce.placeholder("$.environment.LAUNCH_NONCE"),),
        rows=keras.shown(
            _rows(job, source, python, processes, gpus, pin, folder, environment, sagemaker)
        ),
    )


def _stack(python: PythonEnvironment) -> Stack:
    if not python.tensorflow:
        return Stack()  # it may have TensorFlow under the name of another package
    return Stack(python.tensorflow, python.keras or "", python.tf_keras or "")


def _no_script(job: JobSpec, shared: Source) -> Problem:
    """In the clouds the shared script is the default; here nobody means to train on digits who
    only left a word out."""
    in_file = ", or put `script: train.py` into the file" if job.origins else ""
    return Problem(
        "SCRIPT",
        "none",
        "the training script to run",
        f"`launch local train.py` runs yours{in_file}; `launch init` writes one to begin with; "
        f"the shared classifier is {_shortest(shared.folder / shared.script)}",
        rule="script-missing",
    )


def _shortest(path: Path) -> str:
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)


def output_root(job: JobSpec) -> Path:
    """The folder in which the job's own folder is made."""
    if job.output_path:
        return Path(os.path.abspath(os.path.expanduser(job.output_path)))
    return data_folder() / "jobs"


def _host_names(instances: int) -> list[str]:
    return [f"host-{index + 1}" for index in range(instances)]


def _hosts(
    instances: int, processes: int, devices: list[str], gpus: int, sagemaker: ScriptMode
) -> tuple[Host, ...]:
    return tuple(
        Host(
            name=name,
            ranks=tuple(range(index * processes, (index + 1) * processes)),
            environment={
                "CUDA_VISIBLE_DEVICES": ",".join(share_of(devices, index, gpus)),
                **sagemaker.hosts.get(name, {}),
            },
        )
        for index, name in enumerate(_host_names(instances))
    )


def _gpu_problems(job: JobSpec, gpus: int, processes: int, visible: int) -> list[Problem]:
    problems = []
    if gpus * job.instances > visible:
        problems.append(
            Problem(
                "--gpus",
                f"{counted(job.instances, 'host')} x {counted(gpus, 'GPU')}",
                f"at most {counted(visible, 'GPU')}, which this machine shows",
                f"--gpus {visible // job.instances}",
                rule="local-gpus",
            )
        )
    problems += rank_problems(processes, gpus, ", or --gpus 0 for the CPU")
    if processes < gpus:
        problems.append(
            Problem(
                "--processes",
                f"{processes} ranks on {gpus} GPUs",
                "one rank a GPU",
                f"{gpus - processes} stay idle on each host",
                "warning",
                rule="ranks-below-gpus",
            )
        )
    return problems


def _horovod_problems(python: PythonEnvironment, source: Source, world_size: int) -> list[Problem]:
    if python.horovod:
        return []
    script = source.folder / source.script
    uses = source.shared or (script.is_file() and "horovod" in script.read_text(errors="replace"))
    if world_size == 1 and not uses:
        return []
    return [
        Problem(
            "--python",
            f"{python.path} ({python.origin}) has no Horovod",
            "a Python with Horovod",
            "name one with --python PATH, or run `make demo` in a clone of launch and use its "
            ".venv/bin/python (it compiles Horovod, minutes)",
            rule="local-no-horovod",
        )
    ]


def _rows(
    job: JobSpec,
    source: Source,
    python: PythonEnvironment,
    processes: int,
    gpus: int,
    pin: tuple[str, str],
    folder: JobFolder,
    environment: Mapping[str, str],
    sagemaker: ScriptMode,
) -> tuple[Row, ...]:
    gpu_text = f"{gpus} a host, pinned by {pin[0]}" if gpus else "none, ranks run on the CPU"
    rows = [
        Row("ranks", layout(job.instances, processes)),
        proof_row(job, job.instances * processes),
        *source_rows(job, source, "nothing besides this shell's"),
        *sagemaker.rows,
        Row("python", python.described(), f"{python.path}, {python.origin}"),
        Row("GPUs", gpu_text, pin[1] if gpus else ""),
    ]
    rows += requirements_rows(job, source, "installed for this job alone")
    if job.max_runtime:
        rows.append(Row("time limit", format_duration(job.max_runtime)))
    kept = f"kept from {job.checkpoint_of}" if job.checkpoint_of else ""
    rows.append(Row("checkpoints", environment["LAUNCH_CHECKPOINT_DIR"], kept))
    rows.append(Row("output", str(folder.path), "model, logs"))
    return tuple(rows)
