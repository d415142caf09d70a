"""From a SparkJob to its plan. Asks the driver's Python for its versions; starts nothing else and
changes nothing."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from dataclasses import replace

from launchers.core.analysis.keras_choice import Stack, choose_keras
from launchers.core.analysis.spark_runners import problems_of_runners
from launchers.core.analysis.strategy_choice import choose_strategy
from launchers.core.credentials.search import problems_in_arguments, problems_in_environment
from launchers.core.model.problems import Problem, Severity, errors
from launchers.core.paths import is_elsewhere
from launchers.core.planning.gpu_pinning import choose_pinning
from launchers.core.planning.machine_choice import rank_problems
from launchers.core.planning.plan import counted
from launchers.core.rules.environment import problems_in_names
from launchers.core.rules.secrets import HERE, problems_in_secrets
from launchers.core.source.script import JobSource
from launchers.core.spark import keys
from launchers.core.spark.conf import Executors, task_cpus_of
from launchers.core.spark.conf_rules import problems_in_conf
from launchers.core.spark.master import Master, read_master
from launchers.core.spec.job import is_flag
from launchers.core.spec.value_types import format_duration
from launchers.core.strategies.strategy import Strategy
from launchers.machine.python_environment import PythonEnvironment, inspect
from launchers.machine.supervised.folder import output_root
from launchers.spark.catalogue import RULES
from launchers.spark.options import SparkJob
from launchers.spark.planning.archives import read_archives
from launchers.spark.planning.plan import SparkPlan
from launchers.spark.planning.python import WorkerPython, choose_worker_python, driver_problems
from launchers.spark.planning.request import given_conf
from launchers.spark.planning.spark_home import find_spark
from launchers.spark.rules.masters import problems_in_master, problems_in_upload
from launchers.spark.rules.paths import problems_in_place

# What the driver program starts: the two that Spark has a way for.
STRATEGIES = ("horovod", "torch")


def make_plan(job: SparkJob, source: JobSource) -> SparkPlan:
    """Every default decided."""
    named = read_master(job.options.master or "")
    kind = named.kind if named else None
    # Something to go on with, so that all mistakes are told at once.
    master = named or Master(job.options.master or "", "standalone")
    python, python_problems = inspect(job.options.python)
    spark, spark_problems = find_spark(job.options.spark_home, python)
    gpus = job.gpus or 0
    strategy = choose_strategy(job, source, gpus, STRATEGIES)
    archives, archive_problems = read_archives(job.options.archives, kind)
    workers = choose_worker_python(job, kind, archives, python)
    conf = given_conf(job, master)
    executors = Executors(
        job.instances,
        strategy.processes,
        gpus,
        task_cpus_of(conf),
        barrier=strategy.name == "torch",
    )
    keras = choose_keras(
        job,
        source,
        _stack(workers, python),
        executors.world_size,
        strategy=strategy.strategy,
    )
    plan = SparkPlan(
        job=job,
        source=source,
        processes=strategy.processes,
        gpus=gpus,
        strategy=strategy,
        pinning=choose_pinning(
            job, source.bundle.texts, gpus, "the ranks have no GPU", strategy.strategy
        ),
        master=master,
        executors=executors,
        python=python,
        worker_python=workers,
        spark=spark,
        archives=archives,
        keras=keras,
    )
    no_script = [_no_script(job)] if source.shared and job.script is None else []
    # Where no strategy is known, none has a library that could be missing.
    unknown = no_script or not strategy.known or errors(strategy.problems)
    unfit = python_problems or spark_problems or unknown
    problems = (
        *source.problems,
        *no_script,
        *_master_problems(job, executors, conf),
        *python_problems,
        *spark_problems,
        *([] if unfit else driver_problems(job, python, spark, strategy.strategy)),
        *archive_problems,
        *_flag_problems(job, master),
        *_upload_problems(plan, conf),
        *_place_problems(plan),
        *_gpu_problems(gpus, strategy.processes, strategy.strategy),
        *problems_in_names(job.environment, strategy=strategy.strategy),
        *problems_in_conf(
            conf, executors, kind, allowed=job.allow_values, environment=job.environment
        ),
        *problems_in_environment(job.environment, "--env ", frozenset(job.allow_values)),
        *problems_in_arguments(job.arguments, "--", frozenset(job.allow_values)),
        *problems_in_secrets(job.secrets, HERE, "aws", "google", environment=job.environment),
        *keras.problems,
        *strategy.problems,
        *problems_of_runners(source.bundle.texts),
    )
    return replace(plan, problems=problems)


def _stack(workers: WorkerPython, driver: PythonEnvironment) -> Stack:
    """What is known of the ranks' Python: the driver's, where they have the same."""
    if not workers.is_drivers or not driver.tensorflow:
        return Stack()
    return Stack(driver.tensorflow, driver.keras or "", driver.tf_keras or "")


def _no_script(job: SparkJob) -> Problem:
    in_file = ", or put `script: train.py` into the file" if job.files else ""
    return RULES["script-missing"].at(
        "SCRIPT", "none", "the training script to run", f"name it: launch spark train.py{in_file}"
    )


def _master_problems(job: SparkJob, executors: Executors, conf: Mapping[str, str]) -> list[Problem]:
    if not job.options.master:
        return [RULES["spark-master"].at("--master", "none")]
    return problems_in_master(job.options.master, job.options.deploy_mode, executors, conf)


def _flag_problems(job: SparkJob, master: Master) -> list[Problem]:
    """What the common flags ask for and Spark has no way to do."""
    problems = []
    if job.requirements:
        problems.append(RULES["spark-requirements"].at("--requirements", job.requirements))
    if job.hang_after:
        found = f"--hang-after {format_duration(job.hang_after)}"
        problems.append(RULES["spark-hangs"].at("--hang-after", found))
    # A file that serves other providers may name an image for them.
    if job.image and master.kind != "kubernetes" and is_flag(job.origins.get("image", "")):
        found = f"{job.image} with --master {master.text}"
        problems.append(RULES["spark-image-place"].at("--image", found))
    other = job.options.conf.get(keys.CONTAINER_IMAGE, job.image)
    if master.kind == "kubernetes" and job.image and other != job.image:
        found = f"{job.image}, and --conf {keys.CONTAINER_IMAGE} is {other}"
        fix = f"leave --conf {keys.CONTAINER_IMAGE} out"
        problems.append(RULES["spark-conf-flag"].at("--image", found, "one image", fix))
    return problems


def _upload_problems(plan: SparkPlan, conf: Mapping[str, str]) -> list[Problem]:
    # The job's folder has no name yet.
    own = (os.path.basename(plan.application), plan.folder.bundle.name)
    files = (*own, *(one.place for one in plan.archives))
    return problems_in_upload(plan.master.text, plan.job.options.deploy_mode, conf, files)


def _place_problems(plan: SparkPlan) -> list[Problem]:
    """Where checkpoints and output lie: in a folder, and one that the executors see."""
    job, root = plan.job, output_root(plan.job.output_path)
    if job.output_path and is_elsewhere(job.output_path):
        return [RULES["spark-output"].at("--output-path", job.output_path)]
    problems = problems_in_place("--output-path" if job.output_path else "LAUNCH_HOME", str(root))
    here = plan.master.kind in ("local", "local-cluster") or _is_this_machine(plan.master.text)
    if not here and not job.output_path:
        found = f"not given, so {root} on this machine"
        # A driver in the cluster writes the job's result there, which nobody here would ever read.
        severity: Severity = "error" if plan.in_cluster else "warning"
        problems.append(RULES["spark-place"].at("--output-path", found, severity=severity))
    return problems


def _is_this_machine(master: str) -> bool:
    """Whether a standalone cluster's masters are, so that its workers may well be."""
    hosts = [part.rpartition(":")[0] for part in master.removeprefix("spark://").split(",")]
    own = ("localhost", "[::1]", socket.gethostname())
    return all(host in own or host.startswith("127.") for host in hosts)


def _gpu_problems(gpus: int, processes: int, strategy: Strategy) -> list[Problem]:
    problems = rank_problems(processes, gpus, ", or --gpus 0 for the CPU")
    if processes < gpus and not strategy.one_a_host:
        found = f"{processes} ranks on {counted(gpus, 'GPU')}"
        fix = f"{gpus - processes} stay idle in each executor"
        problems.append(RULES["ranks-below-gpus"].at("--processes", found, "one rank a GPU", fix))
    return problems
