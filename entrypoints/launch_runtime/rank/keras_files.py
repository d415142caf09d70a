"""Names the Keras that wrote a model, and the Keras that is needed to read one."""

from __future__ import annotations

import functools
import os
import sys
from typing import Any, Callable

from launch_runtime import keras_source, lines
from launch_runtime.rank import after_import

Say = Callable[[str], None]  # prints a line


def watch(say: Say | None) -> None:
    """From now on saving a model says once a process and format which Keras wrote it, and a
    ``.keras`` file of the other Keras that cannot be loaded says so.

    Args:
        say: None for a rank that is silent.
    """
    after_import.call(
        {
            f"{package}.src.saving.saving_api": functools.partial(_wrap, package, say)
            for package in ("keras", "tf_keras")
        }
    )


def _wrap(package: str, say: Say | None, module: Any) -> None:
    save, load = module.save_model, module.load_model
    told: set[str] = set()

    @functools.wraps(save)
    def save_model(model: Any, filepath: Any, *rest: Any, **named: Any) -> Any:
        result = save(model, filepath, *rest, **named)
        kind = _kind(filepath, named)
        if say is not None and kind not in told:
            told.add(kind)
            name = os.path.basename(str(filepath).rstrip("/"))
            say(lines.message(f"{name} was saved by {_written_by(package)}, as {kind}"))
        return result

    @functools.wraps(load)
    def load_model(filepath: Any, *rest: Any, **named: Any) -> Any:
        try:
            return load(filepath, *rest, **named)
        except Exception as error:
            text = _other_keras(package, filepath)
            if text:
                raise ValueError(text) from error
            raise

    module.save_model, module.load_model = save_model, load_model


def _kind(filepath: Any, named: Any) -> str:
    format_of_flag = {"keras": ".keras", "h5": "HDF5", "tf": "a SavedModel"}
    if named.get("save_format") in format_of_flag:
        return format_of_flag[named["save_format"]]
    ending = os.path.splitext(str(filepath))[1]
    return {".keras": ".keras", ".h5": "HDF5", ".hdf5": "HDF5"}.get(ending, "a SavedModel")


def _written_by(package: str) -> str:
    version = str(getattr(sys.modules.get(package), "__version__", ""))
    if package == "tf_keras":
        return f"Keras 2 (tf_keras {version})"
    return f"Keras {version}".strip()


def _other_keras(package: str, filepath: Any) -> str:
    """Why the file could not be loaded, where it is another Keras's; else ""."""
    try:
        version = keras_source.version_of_file(os.fspath(filepath))
    except TypeError:
        return ""
    is_2 = version.partition(".")[0] in ("1", "2")
    if not version or is_2 == (package == "tf_keras"):
        return ""
    if is_2:
        return (
            f"{filepath} was written by Keras {version}, and this is Keras 3: run the job with "
            "--keras 2, or write the model again with Keras 3"
        )
    return (
        f"{filepath} was written by Keras {version}, and keras is tf_keras (Keras 2) in this job: "
        "--keras 3 keeps Keras 3"
    )
