"""Gives the script the Keras that it needs: Keras 2 as tf_keras, or Keras 3 with its limits."""

from __future__ import annotations

import importlib
import importlib.util
import os
from typing import MutableMapping

from launch_runtime import environment as env
from launch_runtime import lines
from launch_runtime.keras.decision import (
    AUTO,
    CHOICES,
    KERAS_2,
    KERAS_3,
    LEGACY,
    VARIABLE,
    Decision,
    Installed,
    decide,
    short,
)
from launch_runtime.keras.names import parents_of_new_names
from launch_runtime.keras.source import scan
from launch_runtime.rank import keras_alias, keras_files, keras_refusals
from launch_runtime.rank.refusal import RefusalError
from launch_runtime.rank.reporter import Reporter

# Packages that are TensorFlow, most frequent first.
_TENSORFLOW = (
    "tensorflow",
    "tensorflow-cpu",
    "tensorflow-gpu",
    "tensorflow-rocm",
    "intel-tensorflow",
    "tensorflow-macos",
    "tf-nightly",
)


def settle(
    environment: MutableMapping[str, str],
    source: str,
    script: str,
    reporter: Reporter,
    refuse: keras_refusals.Refuse | None,
    product: str = "Horovod",
) -> None:
    """Decides before the script runs, as the plan has said or, without its word, as it would.

    Imports neither TensorFlow nor Keras.

    Args:
        environment: Gets TF_USE_LEGACY_KERAS, and LAUNCH_KERAS for the script's children.
        source: The working folder of the script.
        script: Its path, absolute.
        reporter: Says what was decided, in rank 0.
        refuse: Ends the rank; None where Horovod's parts need no watch (one rank).
        product: Of the strategy, which gets that Keras too.

    Raises:
        RefusalError: Keras 2 was asked for, and there is none.
        environment.SettingError: LAUNCH_KERAS is none of its words.
    """
    asked = environment.get(VARIABLE) or AUTO
    if asked not in CHOICES:
        raise env.SettingError(f"{VARIABLE}: found {asked!r:.40}; expected auto, 2 or 3")
    use = scan(source, os.path.relpath(script, source))
    decision = Decision("")
    found = Installed()
    if asked != AUTO or use.keras:
        found = installed(source)
        decision = decide(asked, use, found, environment)
    if decision.missing and decision.keras == KERAS_2:
        raise _no_tf_keras(found, decision.missing)
    if decision.missing and reporter.rank == 0:
        reporter.line(
            lines.warning(
                "keras stays Keras 3, on which Horovod's Keras parts do not work; for Keras 2 "
                f"install tf-keras: pip install '{decision.missing}'"
            )
        )
    environment[VARIABLE] = decision.keras or AUTO
    if decision.keras == KERAS_2:
        environment[LEGACY] = "1"
        if reporter.rank == 0:
            version = short(found.tf_keras or "")
            reporter.line(
                lines.message(f"keras is tf_keras {version} for this script and {product}")
            )
    elif asked == KERAS_3 and environment.get(LEGACY):
        environment[LEGACY] = "0"
    _put_in(decision.keras, reporter, refuse)


def in_child(
    environment: MutableMapping[str, str],
    reporter: Reporter,
    refuse: keras_refusals.Refuse | None,
) -> None:
    """The same in a Python process that the script started, as the guard has decided."""
    _put_in(environment.get(VARIABLE, ""), reporter, refuse)


def _put_in(keras: str, reporter: Reporter, refuse: keras_refusals.Refuse | None) -> None:
    if refuse is not None:
        keras_refusals.install(refuse)
    keras_files.watch(reporter.line if reporter.rank == 0 else None)
    if keras == KERAS_2:
        keras_alias.install(parents_of_new_names())


def installed(source: str) -> Installed:
    """What this Python would import now; nothing is imported.

    A ``keras`` that lies in the source folder is the script's own module: it is left alone.
    """
    if not _place("tensorflow") or _is_below(_place("keras"), source):
        return Installed("", "", "")
    tensorflow = next((found for found in map(_version, _TENSORFLOW) if found), None)
    tf_keras = (_version("tf-keras") or "2") if _place("tf_keras") else ""
    return Installed(tensorflow, _version("keras"), tf_keras)


def _place(module: str) -> str:
    try:
        spec = importlib.util.find_spec(module)
    except (ImportError, ValueError):
        return ""
    return (spec.origin or "namespace") if spec else ""


def _is_below(path: str, folder: str) -> bool:
    return os.path.realpath(path).startswith(os.path.realpath(folder) + os.sep) and (
        "site-packages" not in path
    )


def _version(package: str) -> str:
    # Loaded only for scripts that use Keras: it costs every other rank's start 20 ms.
    metadata = importlib.import_module("importlib.metadata")
    try:
        return str(metadata.version(package) or "")
    except metadata.PackageNotFoundError:
        return ""


def _no_tf_keras(found: Installed, missing: str) -> RefusalError:
    version = short(found.tensorflow or "")
    return RefusalError(
        "Keras 2 (--keras 2)",
        f"TensorFlow {version}, which brings Keras 3, without tf-keras",
        "from 2.16 on Keras 2 is a package of its own",
        f"pip install '{missing}', or a line {missing} in the file of --requirements",
    )
