"""Checkpoints: a file each, whole or absent, that a later run checks before it trusts it.

There is one after each epoch, and where it is asked for one after every so many steps.

A checkpoint is a NumPy archive (.npz) of plain arrays: the model's weights and the optimizer's
variables in their order, and a JSON text that says what they belong to. A zip archive carries a
CRC of every member, and nothing in it is unpickled, so a file from a bucket cannot run code here.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
import zlib
from dataclasses import dataclass, field
from typing import Any, Mapping, Sequence

import numpy as np

from . import storage
from .arrays import Array
from .errors import TrainingError

FORMAT = 1
# What reading a damaged archive raises; RuntimeError where a bit says that a member is encrypted.
_DAMAGE = (
    *(ValueError, KeyError, TypeError, EOFError, RuntimeError),
    *(zipfile.BadZipFile, zlib.error),
)
NAME_PATTERN = re.compile(r"checkpoint-(\d{5,})(?:-step-(\d{7,}))?\.npz")


@dataclass(frozen=True)
class Checkpoint:
    """The state of a training run between two steps.

    Attributes:
        epoch: Epochs done; the next one to train has this number, counted from 0.
        steps: Optimizer steps done.
        identity: What weights and optimizer state belong to; a run with another one cannot use
            them.
        settings: What else the run was started with; a difference is worth a line.
        history: One entry an epoch, as in metrics.json.
        weights: The model's arrays, in the order of ``model.weights``.
        optimizer: The optimizer's arrays, in the order of its ``variables``.
        step: Steps of the next epoch that are done too; 0 right after an epoch.
        data: Where reading the training data stands, as the data set says it; empty for the
            beginning of the next epoch, as in checkpoints of earlier versions.
    """

    epoch: int
    steps: int
    identity: Mapping[str, Any]
    settings: Mapping[str, Any]
    history: Sequence[Mapping[str, Any]] = field(default_factory=list)
    weights: Sequence[Array] = field(default_factory=list)
    optimizer: Sequence[Array] = field(default_factory=list)
    step: int = 0
    data: Mapping[str, Any] = field(default_factory=dict)

    def size_in_bytes(self) -> int:
        """About the size of its file."""
        return sum(int(array.nbytes) for array in [*self.weights, *self.optimizer]) + 4096


def save(folder: str, checkpoint: Checkpoint, keep: int) -> str:
    """Writes ``checkpoint`` into ``folder``, then removes all but the newest ``keep``.

    Returns:
        The path of the new file.

    Raises:
        TrainingError: The disk is full or the folder cannot be written. The checkpoints that were
            there are whole and still there.
    """
    path = path_in(folder, checkpoint.epoch, checkpoint.step)
    try:
        storage.write_whole(path, _as_bytes(checkpoint))
        for _, old in found_in(folder)[:-keep]:
            storage.remove(old)
    except OSError as error:
        raise TrainingError(
            f"{path}: the checkpoint cannot be written: {error}. Earlier checkpoints are whole; "
            "make room there and start again to go on from the newest."
        ) from error
    return path


def path_in(folder: str, epoch: int, step: int = 0) -> str:
    """Where the checkpoint after ``epoch`` epochs, and ``step`` steps of the next, lies."""
    within = f"-step-{step:07d}" if step else ""
    return storage.join(folder, f"checkpoint-{epoch:05d}{within}.npz")


def found_in(folder: str) -> list[tuple[tuple[int, int], str]]:
    """((epochs done, steps of the next), path) of every checkpoint in ``folder``, newest last.

    Raises:
        OSError: The folder cannot be read.
    """
    matches = ((NAME_PATTERN.fullmatch(name), name) for name in storage.names(folder))
    return sorted(
        ((int(match.group(1)), int(match.group(2) or 0)), storage.join(folder, name))
        for match, name in matches
        if match
    )


def load_newest(folder: str) -> Checkpoint | None:
    """The newest checkpoint in ``folder``, or None where there is none.

    Raises:
        TrainingError: It is damaged or cannot be read. An older one is not taken silently: that is
            for the user to decide.
    """
    try:
        found = found_in(folder)
        if not found:
            return None
        content = storage.read(found[-1][1])
    except OSError as error:
        raise TrainingError(
            f"{folder}: checkpoints cannot be read: {error}. Give another folder with "
            "--checkpoint-dir."
        ) from error
    path = found[-1][1]
    try:
        return _read(content)
    except _DAMAGE as error:
        before = f"go on from {found[-2][1]}" if len(found) > 1 else "start over"
        raise TrainingError(
            f"{path}: the checkpoint is damaged ({type(error).__name__}: {error}). Delete this "
            f"file to {before}, or give another folder with --checkpoint-dir."
        ) from error


def check_fits(found: Checkpoint, folder: str, ours: Checkpoint) -> None:
    """Passes when a run with the state ``ours`` can go on from ``found``.

    Raises:
        TrainingError: It belongs to something else; the message names each difference.
    """
    unlike = differences(found.identity, ours.identity)
    if not unlike and _shapes(found) != _shapes(ours):
        unlike = ["its arrays have other shapes, as from another version of this script"]
    if unlike:
        raise TrainingError(
            f"{path_in(folder, found.epoch, found.step)}: this checkpoint is from another "
            f"training: "
            f"{'; '.join(unlike)}. Start with what it was written with, give another folder with "
            "--checkpoint-dir, or delete it to start over."
        )


def differences(theirs: Mapping[str, Any], ours: Mapping[str, Any]) -> list[str]:
    """Each name whose values differ, as "model is mlp there and cnn here"."""
    return [
        f"{name} is {theirs.get(name)} there and {ours.get(name)} here"
        for name in sorted({*theirs, *ours})
        if theirs.get(name) != ours.get(name)
    ]


def _shapes(checkpoint: Checkpoint) -> list[list[tuple[int, ...]]]:
    groups = (checkpoint.weights, checkpoint.optimizer)
    return [[array.shape for array in group] for group in groups]


def _as_bytes(checkpoint: Checkpoint) -> bytes:
    about = {
        "format": FORMAT,
        "epoch": checkpoint.epoch,
        "steps": checkpoint.steps,
        "step": checkpoint.step,
        "data": dict(checkpoint.data),
        "identity": dict(checkpoint.identity),
        "settings": dict(checkpoint.settings),
        "history": [dict(entry) for entry in checkpoint.history],
        "weights": len(checkpoint.weights),
        "optimizer": len(checkpoint.optimizer),
    }
    arrays: dict[str, Array] = {"about": np.array(json.dumps(about, sort_keys=True))}
    for kind, values in (("weights", checkpoint.weights), ("optimizer", checkpoint.optimizer)):
        arrays.update({f"{kind}/{i:05d}": value for i, value in enumerate(values)})
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def _read(content: bytes) -> Checkpoint:
    with np.load(io.BytesIO(content), allow_pickle=False) as archive:
        about = json.loads(str(archive["about"]))
        if about["format"] != FORMAT:
            raise ValueError(f"format {about['format']}, expected {FORMAT}")
        arrays = {
            kind: [archive[f"{kind}/{i:05d}"] for i in range(about[kind])]
            for kind in ("weights", "optimizer")
        }
    return Checkpoint(
        epoch=int(about["epoch"]),
        steps=int(about["steps"]),
        identity=about["identity"],
        settings=about["settings"],
        history=about["history"],
        weights=arrays["weights"],
        optimizer=arrays["optimizer"],
        step=int(about.get("step", 0)),
        data=about.get("data", {}),
    )
