"""Runs the shared training script and notes each picture that a step was really taken with.

A picture's number stands in its first pixel (red + 256 x green). Each rank writes samples-RANK.txt
into its working folder: a line a step, "number:weight number:weight ...". With KILL_AFTER="RANK:N"
that rank is killed within its step after N, with TERM_AFTER it gets SIGTERM then, and with
TERM_IN_VALIDATION="RANK" when it first validates.
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
from lib.tensorflow import stack  # noqa: E402

RANK = os.environ.get("HOROVOD_RANK", "0")
KILLED, _, AFTER = os.environ.get("KILL_AFTER", "").partition(":")
TOLD, _, TOLD_AFTER = os.environ.get("TERM_AFTER", "").partition(":")
TOLD_IN_VALIDATION = os.environ.get("TERM_IN_VALIDATION", "")


def main() -> int:
    stack.import_quietly()
    import tensorflow as tf

    fit_plainly = tf.keras.Model.fit
    taken = 0

    def note(pixels: Any, weights: Any) -> None:
        nonlocal taken
        taken += 1
        if KILLED == RANK and taken > int(AFTER):
            os.kill(os.getpid(), signal.SIGKILL)
        if TOLD == RANK and taken == int(TOLD_AFTER) + 1:
            os.kill(os.getpid(), signal.SIGTERM)
        if pixels.shape[1] < 2:  # pictures without numbers
            return
        numbers = pixels[:, 0].astype(int) + 256 * pixels[:, 1].astype(int)
        with open(f"samples-{RANK}.txt", "a") as file:
            line = " ".join(f"{n}:{w:g}" for n, w in zip(numbers, weights, strict=True))
            file.write(line + "\n")

    def fit_noting(model: Any, *arguments: Any, **more: Any) -> Any:
        step = model.train_step

        def noted(data: Any) -> Any:
            weights = data[2] if len(data) > 2 else tf.ones_like(data[1], tf.float32)
            tf.numpy_function(note, [data[0][:, 0, 0, :], weights], [])
            return step(data)

        model.train_step = noted
        return fit_plainly(model, *arguments, **more)

    tf.keras.Model.fit = fit_noting
    if TOLD_IN_VALIDATION == RANK:
        _be_told_in_validation()
    return train_image_classifier.main()


def _be_told_in_validation() -> None:
    from lib.tensorflow.learner import KerasLearner

    predict = KerasLearner.predict
    told = False

    def predict_told(learner: Any, images: Any) -> Any:
        nonlocal told
        if not told:
            told = True
            os.kill(os.getpid(), signal.SIGTERM)
        return predict(learner, images)

    KerasLearner.predict = predict_told  # type: ignore[method-assign]


if __name__ == "__main__":
    sys.exit(main())
