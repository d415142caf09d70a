"""Which Keras a script gets: Keras 2 as tf_keras, or Keras 3. One decision for plan and rank.

Horovod 0.28.1, its last release, works with Keras 2. TensorFlow 2.16 and later bring Keras 3, on
which Horovod's optimizer wrapper silently does nothing; tf-keras is Keras 2 for them.

Pure, and imports nothing but the standard library.
"""

from __future__ import annotations

import re
from typing import Any, Mapping, NamedTuple

AUTO, KERAS_2, KERAS_3 = "auto", "2", "3"
CHOICES = (AUTO, KERAS_2, KERAS_3)
VARIABLE = "LAUNCH_KERAS"
LEGACY = "TF_USE_LEGACY_KERAS"
FIRST_WITH_KERAS_3 = (2, 16)  # of TensorFlow

_TRUE = ("1", "true", "True")  # as TensorFlow reads TF_USE_LEGACY_KERAS


class Installed(NamedTuple):
    """Versions of the ranks' Python. "" for what is not there, None for what nobody knows."""

    tensorflow: str | None = None
    keras: str | None = None
    tf_keras: str | None = None

    @property
    def brings(self) -> str | None:
        """What ``tf.keras`` is by itself: ``2``, ``3``, "" without TensorFlow, None if unknown."""
        if not self.tensorflow:
            return self.tensorflow
        major, minor = numbers(self.tensorflow)
        if (major, minor) < FIRST_WITH_KERAS_3 or (self.keras or "3").startswith("2."):
            return KERAS_2
        return KERAS_3


class Decision(NamedTuple):
    """What was decided.

    Attributes:
        keras: ``2`` (``keras`` is tf_keras), ``3`` (Keras 3 stays), or "" where nothing is to do.
        why: For people, a phrase.
        missing: The package that Keras 2 needs and that is not installed, as pip takes it.
    """

    keras: str
    why: str = ""
    missing: str = ""


def decide(asked: str, use: Any, installed: Installed, environment: Mapping[str, str]) -> Decision:
    """The Keras of a script.

    Args:
        asked: One of ``CHOICES``.
        use: A ``source.Use``.
        installed: What the ranks' Python has.
        environment: The variables that the script will see.
    """
    if installed.brings == "":
        return Decision("")
    if installed.brings == KERAS_2:
        version = short(installed.tensorflow or "")
        return Decision("", f"TensorFlow {version} brings Keras 2 itself")
    keras, why = _wanted(asked, use, environment)
    if keras == KERAS_2 and installed.tf_keras == "":
        missing = requirement(installed.tensorflow or "")
        # Only what was asked for by name is worth a refusal: the script may need neither.
        return Decision(KERAS_2 if asked == KERAS_2 else KERAS_3, why, missing)
    return Decision(keras, why)


def _wanted(asked: str, use: Any, environment: Mapping[str, str]) -> tuple[str, str]:
    if asked in (KERAS_2, KERAS_3):
        return asked, f"--keras {asked}"
    if environment.get(LEGACY):
        keras = KERAS_2 if environment[LEGACY] in _TRUE else KERAS_3
        return keras, f"{LEGACY}={environment[LEGACY]}"
    backend = environment.get("KERAS_BACKEND", "tensorflow")
    if backend not in ("", "tensorflow"):
        return KERAS_3, f"KERAS_BACKEND={backend}"
    if use.new:
        return KERAS_3, f"{use.new}, which only Keras 3 has" if _is_a_name(use.new) else str(
            use.new
        )
    if use.legacy and use.legacy.what == "0":
        return KERAS_3, f"{use.legacy.file}:{use.legacy.line} sets {LEGACY}=0"
    if use.keras and use.horovod:
        return KERAS_2, "Horovod's Keras parts need Keras 2"
    return "", ""


def _is_a_name(place: Any) -> bool:
    return str(place.what).startswith(("imports", "uses"))


def requirement(tensorflow: str) -> str:
    """The tf-keras that fits a TensorFlow, ``tf-keras~=2.18.0``."""
    return f"tf-keras~={short(tensorflow)}.0" if tensorflow else "tf-keras"


def short(version: str) -> str:
    """Major and minor version: ``2.18`` of ``2.18.1``."""
    return ".".join(version.split(".")[:2])


def numbers(version: str) -> tuple[int, int]:
    """Major and minor version as numbers; (0, 0) where they are none."""
    match = re.match(r"(\d+)\.(\d+)", version)
    return (int(match[1]), int(match[2])) if match else (0, 0)
