"""Where data comes from and where checkpoints and the model go: flags, then the environment.

Sources of the names: SM_* from the SageMaker training toolkit's container contract, AIP_* from
Vertex AI's "environment variables for special Cloud Storage directories", LAUNCH_* from the
launcher.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Mapping

CHECKPOINT_VARIABLES = ("LAUNCH_CHECKPOINT_DIR", "AIP_CHECKPOINT_DIR")
MODEL_VARIABLES = ("SM_MODEL_DIR", "AIP_MODEL_DIR", "LAUNCH_MODEL_DIR")
# Input channels in the order in which they are tried; the launcher keeps CODE for the source.
FIRST_CHANNELS = ("SM_CHANNEL_TRAINING", "SM_CHANNEL_TRAIN")
CODE_CHANNEL = "SM_CHANNEL_CODE"
TEST_CHANNELS = ("SM_CHANNEL_TEST", "SM_CHANNEL_VALIDATION")
INSTALLED_FASHION_MNIST = "/usr/share/datasets/fashion-mnist"  # Debian: dataset-fashion-mnist
BUCKET_MOUNT = "/gcs"  # Vertex AI mounts every bucket of the project there


@dataclass(frozen=True)
class Place:
    """A folder and the flag or variable that named it, for messages."""

    path: str
    named_by: str


def checkpoint_folder(flag: str | None, environment: Mapping[str, str]) -> Place | None:
    """The folder for checkpoints, or None where nothing names one."""
    return _first("--checkpoint-dir", flag, CHECKPOINT_VARIABLES, environment)


def model_folder(flag: str | None, environment: Mapping[str, str]) -> Place | None:
    """The folder for the trained model, or None where nothing names one."""
    return _first("--model-dir", flag, MODEL_VARIABLES, environment)


def data_folders(flag: str | None, environment: Mapping[str, str]) -> list[Place]:
    """The folders in which a published data set's own files are looked for, in order.

    A flag is the only one: what a user names is not silently replaced by something else.
    """
    if flag:
        return [Place(on_this_machine(flag), "--data-dir")]
    return [Place(path, name) for name, path in channels(environment)]


def data_place(
    behind: str | None, flag: str | None, environment: Mapping[str, str]
) -> Place | None:
    """The one place of the data: behind ``--data``'s colon, else ``--data-dir``, else the first
    input channel; None where nothing names one."""
    for path, named_by in ((behind, "--data"), (flag, "--data-dir"), *_by_name(environment)):
        if path:
            return Place(on_this_machine(path), named_by)
    return None


def test_place(training: Place, environment: Mapping[str, str]) -> Place | None:
    """The input channel of the pictures to test on, beside a training channel; else None."""
    if not training.named_by.startswith("SM_CHANNEL_"):
        return None
    return _first("", None, TEST_CHANNELS, environment)


def _by_name(environment: Mapping[str, str]) -> list[tuple[str, str]]:
    return [(path, name) for name, path in channels(environment) if name not in TEST_CHANNELS]


def channels(environment: Mapping[str, str]) -> list[tuple[str, str]]:
    """SageMaker's input channels as (variable, folder), the training channels first."""
    others = sorted(
        name
        for name in environment
        if name.startswith("SM_CHANNEL_") and name not in (*FIRST_CHANNELS, CODE_CHANNEL)
    )
    in_order = FIRST_CHANNELS + tuple(others)
    return [(name, environment[name]) for name in in_order if environment.get(name)]


def on_this_machine(path: str) -> str:
    """gs://bucket/folder as the mounted /gcs/bucket/folder where that bucket is mounted."""
    if not path.startswith("gs://"):
        return path
    mounted = os.path.join(BUCKET_MOUNT, path[len("gs://") :])
    bucket = os.path.join(BUCKET_MOUNT, path[len("gs://") :].split("/", 1)[0])
    return mounted if os.path.isdir(bucket) else path


def _first(
    flag_name: str,
    flag: str | None,
    variables: tuple[str, ...],
    environment: Mapping[str, str],
) -> Place | None:
    if flag:
        return Place(on_this_machine(flag), flag_name)
    for name in variables:
        if environment.get(name):
            return Place(on_this_machine(environment[name]), name)
    return None
