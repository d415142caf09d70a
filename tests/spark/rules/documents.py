"""A job's document as `launch spark --dry-run` prints it, and changes of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from launchers.core.spark.conf import Executors, conf_for
from launchers.core.spark.master import read_master

Document = dict[str, Any]
Change = Callable[[Document], None]
FOLDER = "/data/jobs/train-1a2b3c4d-1"


def ours(
    master: str = "spark://host:7077",
    instances: int = 2,
    processes: int = 2,
    gpus: int = 0,
    strategy: str = "",
    deploy_mode: str = "client",
    **given: str,
) -> Document:
    """A document that keeps every rule.

    Args:
        given: Properties, with ``__`` for a dot.
    """
    kind = read_master(master).kind
    environment = {
        "LAUNCH_JOB": "train-1a2b3c4d-1",
        "LAUNCH_WORLD_SIZE": str(instances * processes),
        "LAUNCH_INSTANCES": str(instances),
        "LAUNCH_PROCESSES": str(processes),
        "LAUNCH_PROOF": "exchange",
        "LAUNCH_NONCE": "PLACEHOLDER-NONCE",
        **({"LAUNCH_STRATEGY": strategy} if strategy else {}),
    }
    conf = conf_for(
        Executors(instances, processes, gpus, barrier=strategy == "torch"),
        kind,
        given={key.replace("__", "."): value for key, value in given.items()},
        environment=environment,
        settings={
            "slots.seconds": "300",
            "start.seconds": "120",
            "result": f"{FOLDER}/driver-result.json",
        },
        python="python3",
        driver_python="/usr/bin/python3" if deploy_mode == "client" else "",
        deploy_mode=deploy_mode,
    )
    nonce = {"LAUNCH_NONCE": "PLACEHOLDER-NONCE"} if deploy_mode == "client" else {}
    return {
        "kind": "launch/spark",
        "name": "train-1a2b3c4d-1",
        "master": master,
        "deploy_mode": deploy_mode,
        "conf": conf,
        "files": [],
        "archives": [f"{FOLDER}/code.tar.gz#launch_code"],
        "application": f"{FOLDER}/code/spark_driver.py",
        "arguments": ["train.py", "--epochs", "3"],
        "environment": nonce,
        "driver_python": "/usr/bin/python3",
        "spark_home": "/opt/spark",
        "max_runtime_seconds": None,
        "folder": FOLDER,
    }


def put(key: str, value: Any) -> Change:
    """Sets a key of the document; takes it out where ``value`` is ``...``."""
    return _change(lambda document: document, key, value)


def prop(key: str, value: Any) -> Change:
    """The same of a property."""
    return _change(lambda document: document["conf"], key, value)


def _change(place: Callable[[Document], Document], key: str, value: Any) -> Change:
    def change(document: Document) -> None:
        if value is ...:
            del place(document)[key]
        else:
            place(document)[key] = value

    return change
