"""Requests for rehearsals on a small machine, and scripts for their ranks."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.cli.command import Answer, Launch
from tests.keras_2 import KERAS_2

# 2 hosts of a machine without GPUs.
SMALL = ("--instances", "2", "--gpus", "0", "--machine", "ml.c5.xlarge")

# Initialises Horovod and tells what a rank sees.
TELLS = (
    KERAS_2
    + """\
import json, os, sys
import horovod.tensorflow as hvd

hvd.init()
names = json.loads(os.environ.get("TELL", "[]"))
seen = {"rank": hvd.rank(), "argv": sys.argv[1:], "cwd": os.path.basename(os.getcwd())}
seen["environment"] = {name: os.environ.get(name) for name in names}
seen["host"] = open("/etc/hostname").read().strip()
os.write(1, b"seen " + json.dumps(seen).encode() + b"\\n")  # one piece stays one line
"""
)

# Trains until it is ended, so that a test can break something meanwhile.
LASTS = (
    KERAS_2
    + """\
import time
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
deadline = time.time() + 600
while time.time() < deadline:
    hvd.allreduce(tf.constant([0.0]), name="step")
    time.sleep(0.05)
"""
)

# Counts epochs in a checkpoint; in its first life it stays in the third until it is killed.
RESUMES = (
    KERAS_2
    + """\
import os, time
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
path = os.path.join(os.environ["LAUNCH_CHECKPOINT_DIR"], "epoch")
done = int(open(path).read()) if os.path.exists(path) else 0
resumed = done > 0
while done < 6:
    done += 1
    hvd.allreduce(tf.constant([0.0]), name="step")
    if hvd.rank() == 0:
        print(f"progress: epoch {done}/6, step 1/1, 1 images/s, loss 0.1", flush=True)
        with open(path, "w") as file:
            file.write(str(done))
    while done == 3 and not resumed:
        hvd.allreduce(tf.constant([0.0]), name="step")
        time.sleep(0.05)
"""
)


def request(launch: Launch, image: str, *words: str, script: str = "") -> dict[str, Any]:
    """What `launch sagemaker --dry-run` prints for a small job."""
    given = (script,) if script else ()
    flags, found, arguments = _split(words)
    answer = launch(
        "sagemaker", *given, *SMALL, "--image", image, *flags, "--dry-run", *found, *arguments
    )
    assert answer.code == 0, answer.err
    document: dict[str, Any] = answer.json
    return document


def _split(words: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    if "--" not in words:
        return words, (), ()
    at = words.index("--")
    return words[:at], ("--",), words[at + 1 :]


def foreign(
    image: str, ranks: int = 1, hyperparameters: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """A request as the SageMaker SDK 2.x sends it: the code in S3, the user's script started."""
    return {
        "TrainingJobName": "from-elsewhere",
        "AlgorithmSpecification": {"TrainingImage": image, "TrainingInputMode": "File"},
        "RoleArn": "arn:aws:iam::111122223333:role/SageMaker",
        "OutputDataConfig": {"S3OutputPath": "s3://my-bucket/out"},
        "ResourceConfig": {
            "InstanceType": "ml.c5.xlarge",
            "InstanceCount": 2,
            "VolumeSizeInGB": 30,
        },
        "StoppingCondition": {"MaxRuntimeInSeconds": 3600},
        "HyperParameters": {
            "sagemaker_program": '"train.py"',
            "sagemaker_submit_directory": '"s3://my-bucket/job/source/sourcedir.tar.gz"',
            "sagemaker_container_log_level": "20",
            "sagemaker_job_name": '"from-elsewhere"',
            "sagemaker_region": '"us-east-1"',
            "sagemaker_mpi_enabled": "true",
            "sagemaker_mpi_num_of_processes_per_host": str(ranks),
            **(hyperparameters or {}),
        },
    }


def rehearse(launch: Launch, document: dict[str, Any], *words: str) -> Answer:
    """`launch rehearse` of the document, with its answer as JSON."""
    path = launch.write("job.json", json.dumps(document))
    return launch("rehearse", str(path), *words, "--json")


def source(launch: Launch, script: str) -> Path:
    """A source folder whose ``train.py`` is ``script``."""
    return launch.write("source/train.py", script).parent


def seen_by_ranks(answer: Answer) -> list[dict[str, Any]]:
    """What the ranks of :data:`TELLS` told, by rank; lines go to stderr beside ``--json``."""
    found = [
        json.loads(line.partition("seen ")[2])
        for line in answer.err.splitlines()
        if "seen {" in line
    ]
    return sorted(found, key=lambda seen: int(seen["rank"]))
