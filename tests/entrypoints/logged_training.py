"""Runs the shared training script and notes each picture that a step was really taken with.

A picture's number stands in its first pixel (red + 256 x green). Each rank writes samples-RANK.txt
into its working folder: a line a step, "number:weight number:weight ...". With KILL_AFTER="RANK:N"
that rank is killed within its step after N.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

# Not beside this file: tests have folders by the names of packages.
sys.path[0] = str(Path(__file__).parents[2] / "entrypoints")

import train_image_classifier  # noqa: E402
from lib import stack  # noqa: E402

RANK = os.environ.get("HOROVOD_RANK", "0")
KILLED, _, AFTER = os.environ.get("KILL_AFTER", "").partition(":")


def main() -> int:
    stack.import_quietly()
    import tensorflow as tf
    from lib import training

    compile_plainly = training.compile_distributed
    taken = 0

    def note(pixels: Any, weights: Any) -> None:
        nonlocal taken
        taken += 1
        if KILLED == RANK and taken > int(AFTER):
            os.kill(os.getpid(), signal.SIGKILL)
        numbers = pixels[:, 0].astype(int) + 256 * pixels[:, 1].astype(int)
        with open(f"samples-{RANK}.txt", "a") as file:
            line = " ".join(f"{n}:{w:g}" for n, w in zip(numbers, weights, strict=True))
            file.write(line + "\n")

    def compile_noting(model: Any, *arguments: Any, **more: Any) -> None:
        compile_plainly(model, *arguments, **more)
        step = model.train_step

        def noted(data: Any) -> Any:
            weights = data[2] if len(data) > 2 else tf.ones_like(data[1], tf.float32)
            tf.numpy_function(note, [data[0][:, 0, 0, :], weights], [])
            return step(data)

        model.train_step = noted

    training.compile_distributed = compile_noting
    return train_image_classifier.main()


if __name__ == "__main__":
    sys.exit(main())
