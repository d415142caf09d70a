"""What Spark promises the driver and the executors of a job, read from its document. Pure but for
a look at the files that it names on this machine.

Source: Spark 3.5 (spark.apache.org/docs/3.5.3), "Spark Standalone Mode" and "Submitting
Applications".
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from launchers.core.model.containers import Conduct, Container
from launchers.core.model.document import mapping, whole_number
from launchers.core.model.problems import LaunchError
from launchers.spark.catalogue import RULES
from launchers.spark.document import CODE, submit_words
from launchers.spark.rehearsed import MASTER_HOST, MASTER_PORT, PYTHON, Rehearsed, rehearsed

DRIVER = "driver"
_DRIVER_PROGRAM = "spark_driver.py"
_START = Path(__file__).with_name("container_start.py")
_LINES = Path(__file__).with_name("container_lines.json")
_START_THERE = f"/launch/{_START.name}"
_CLASS = "org.apache.spark.deploy.{part}.{name}"
_WORKER_CONF, _WORKER_GPUS = "/launch/worker.conf", "/launch/gpus.json"
# What a worker offers is never what keeps an executor off it: its container has a limit of its own.
_WORKER_MEMORY = "1024g"
# Spark tells a driver of a lost executor within seconds; the driver has its ranks ended, and says
# what it saw.
_DRIVER_DECIDES = 30.0
_GRACE = 15.0  # seconds: a driver's own, to have the ranks of other hosts ended


def contract(
    document: Mapping[str, Any], ranks_per_host: int | None = None, serve_code: bool = True
) -> list[Container]:
    """The driver, the master, and a worker for each executor; for a master of ``local`` the driver
    alone, which has the ranks then.

    Args:
        document: The spark-submit request.
        ranks_per_host: Stands for the document's own number of ranks an executor.
        serve_code: Without it the bundle is not put into the job's folder.

    Raises:
        LaunchError: An archive or a file that it names is not on this machine.
    """
    here = rehearsed(document, ranks_per_host)
    mounts = _mounts(here.document)
    driver = _driver(here, mounts, serve_code)
    if not here.executors:
        return [driver]
    workers = [_worker(here, number) for number in range(1, here.executors + 1)]
    return [driver, _master(), *workers]


def conduct(document: Mapping[str, Any]) -> Conduct:
    """How a job on Spark ends: when its driver does. Workers and master stay until then.

    Figures: 30 s in which the driver's own end is waited for after a worker's, since the driver
    says which rank was lost with it; 15 s between SIGTERM and SIGKILL.
    """
    here = rehearsed(document)
    return Conduct.reading(
        _LINES,
        max_runtime=whole_number(document.get("max_runtime_seconds")),
        stop_grace=_GRACE,
        leader_decides=_DRIVER_DECIDES,
        image_needs=(),
        substituted=here.instead,
        unlike=here.unlike,
        recipe="spark",
        places_ranks=True,
        ranks_environment=here.ranks_environment,
    )


def unlike(document: Mapping[str, Any]) -> str:
    """Why containers would not show what a document starts, in a clause; else empty."""
    if is_guarded(document):
        return ""
    return f"it does not start {_DRIVER_PROGRAM}, by which a driver proves its ranks"


def is_guarded(document: Mapping[str, Any]) -> bool:
    """Whether its application is our driver program, which starts the guard in every rank."""
    return os.path.basename(str(document.get("application"))) == _DRIVER_PROGRAM


def _driver(here: Rehearsed, mounts: Mapping[str, str], serve_code: bool) -> Container:
    """spark-submit with the document's own words, on the container's own cluster."""
    document = here.document
    code = _bundle(document)
    start = ["--unpack", code, os.path.dirname(str(document["application"]))] if serve_code else []
    if here.executors:
        start += ["--await", f"{MASTER_HOST}:{MASTER_PORT}"]
    submit = ["spark-submit", *submit_words(document)[1:]]
    return Container(
        name=DRIVER,
        hostname=DRIVER,
        image="",
        entrypoint=(PYTHON, _START_THERE),
        command=(*start, "--", *submit),
        environment={name: str(value) for name, value in mapping(document, "environment").items()},
        files={_START_THERE: _START},
        mounts=mounts,
        code=code if serve_code else "",
        ranks=() if here.executors else tuple(range(here.processes)),
        leader=True,
        gpus=0 if here.executors else here.gpus,
        collected=_collected(here),
        shared=_shared(here),
    )


def _master() -> Container:
    port = str(MASTER_PORT)
    return Container(
        name=MASTER_HOST,
        hostname=MASTER_HOST,
        image="",
        entrypoint=("spark-class", _CLASS.format(part="master", name="Master")),
        command=("--host", MASTER_HOST, "--port", port, "--webui-port", "0"),
        environment={},
        files={},
    )


def _worker(here: Rehearsed, number: int) -> Container:
    """A machine of the cluster, with room for one executor."""
    name, master = f"worker-{number}", f"{MASTER_HOST}:{MASTER_PORT}"
    program = ["spark-class", _CLASS.format(part="worker", name="Worker"), "--host", name]
    program += ["--cores", str(here.cores), "--memory", _WORKER_MEMORY, "--webui-port", "0"]
    program += ["--work-dir", "/tmp/spark"]
    files: dict[str, bytes | Path] = {_START_THERE: _START}
    if here.gpus:
        files.update(_gpus_of(here.gpus))
        program += ["--properties-file", _WORKER_CONF]
    first = (number - 1) * here.processes
    return Container(
        name=name,
        hostname=name,
        image="",
        entrypoint=(PYTHON, _START_THERE),
        command=("--await", master, "--", *program, f"spark://{master}"),
        environment={},
        files=files,
        ranks=tuple(range(first, first + here.processes)),
        gpus=here.gpus,
        shared=_shared(here),
    )


def _gpus_of(count: int) -> dict[str, bytes]:
    """GPUs that a worker offers, whether this machine has them or not: the executors ask for them
    as on the cluster ("Resource Allocation and Configuration Overview")."""
    found = {"componentName": "spark.worker", "resourceName": "gpu"}
    addresses = [str(number) for number in range(count)]
    conf = f"spark.worker.resource.gpu.amount {count}\nspark.worker.resourcesFile {_WORKER_GPUS}\n"
    return {
        _WORKER_CONF: conf.encode(),
        _WORKER_GPUS: json.dumps([{"id": found, "addresses": addresses}]).encode(),
    }


def _archives(document: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Place and name of each archive."""
    texts = document.get("archives") or ()
    return [(place, name) for place, _, name in (str(text).partition("#") for text in texts)]


def _bundle(document: Mapping[str, Any]) -> str:
    """Where the document has the bundle."""
    found = (place for place, name in _archives(document) if name == CODE)
    return next(found, f"{document.get('folder')}/code.tar.gz")


def _mounts(document: Mapping[str, Any]) -> dict[str, str]:
    """Files and archives of this machine, where the driver looks for them."""
    bundle = _bundle(document)
    files = [f"$.files: {place}" for place in document.get("files") or ()]
    named = [f"$.archives: {place}" for place, _ in _archives(document) if place != bundle]
    problems, mounts = [], {}
    for where, _, place in (text.partition(": ") for text in (*files, *named)):
        if os.path.isfile(place):
            mounts[place] = place
        else:
            problems.append(RULES["spark-rehearsal-file"].at(where, place))
    if problems:
        raise LaunchError(problems)
    return mounts


def _shared(here: Rehearsed) -> tuple[str, ...]:
    """The job's folder, and the checkpoints' where it is another: driver and executors see both."""
    checkpoints = here.ranks_environment.get("LAUNCH_CHECKPOINT_DIR", "")
    apart = os.path.isabs(checkpoints) and not checkpoints.startswith(f"{here.folder}/")
    return (here.folder, checkpoints) if apart else (here.folder,)


def _collected(here: Rehearsed) -> dict[str, str]:
    model = here.ranks_environment.get("LAUNCH_MODEL_DIR", "")
    return {"model": model} if os.path.isabs(model) else {}
