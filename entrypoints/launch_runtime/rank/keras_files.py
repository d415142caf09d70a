"""Names the Keras that wrote a model, and the Keras that is needed to read one."""

from __future__ import annotations

import functools
import os
import sys
import tempfile
from typing import Any, Callable

from launch_runtime import lines
from launch_runtime.keras.names import version_of_file
from launch_runtime.rank.import_hook import OnImport, when_imported

Say = Callable[[str], None]  # prints a line

# What writes a model, below the package, and the format that it writes. They lie below the
# functions that warn of old formats, so that a warning still names the script's line.
_WRITERS = (
    ("tf_keras", "src.saving.saving_lib", "save_model", ".keras"),
    ("tf_keras", "src.saving.legacy.hdf5_format", "save_model_to_hdf5", "HDF5"),
    ("tf_keras", "src.saving.legacy.saved_model.save", "save", "a SavedModel"),
    ("keras", "src.saving.saving_lib", "save_model", ".keras"),
    ("keras", "src.legacy.saving.legacy_h5_format", "save_model_to_hdf5", "HDF5"),
)


def watch(say: Say | None) -> None:
    """From now on saving a model says once a process and format which Keras wrote it, and a
    ``.keras`` file of the other Keras that cannot be loaded says so.

    Args:
        say: None for a rank that is silent.
    """
    watchers: dict[str, OnImport] = {
        f"{package}.src.saving.saving_api": functools.partial(_wrap_reader, package)
        for package in ("keras", "tf_keras")
    }
    if say is not None:
        for package, module, name, kind in _WRITERS:
            watcher = functools.partial(_wrap_writer, package, name, kind, say)
            watchers[f"{package}.{module}"] = watcher
    when_imported(watchers)


def _wrap_writer(package: str, name: str, kind: str, say: Say, module: Any) -> None:
    write = getattr(module, name, None)
    if write is None:
        return
    told = False

    @functools.wraps(write)
    def writer(model: Any, filepath: Any, *rest: Any, **named: Any) -> Any:
        nonlocal told
        result = write(model, filepath, *rest, **named)
        if not told and not _is_passing(filepath):
            told = True
            file = os.path.basename(str(filepath).rstrip("/"))
            say(lines.message(f"{file} was saved by {_written_by(package)}, as {kind}"))
        return result

    setattr(module, name, writer)


def _is_passing(filepath: Any) -> bool:
    """Whether a file lies in a temporary folder of its own, as where a model is pickled."""
    folder = os.path.dirname(str(filepath))
    temporary = os.path.dirname(folder) == tempfile.gettempdir()
    return temporary and os.path.basename(folder).startswith(tempfile.gettempprefix())


def _wrap_reader(package: str, module: Any) -> None:
    load = module.load_model

    @functools.wraps(load)
    def load_model(filepath: Any, *rest: Any, **named: Any) -> Any:
        try:
            return load(filepath, *rest, **named)
        except Exception as error:
            text = _other_keras(package, filepath)
            if text:
                raise ValueError(text) from error
            raise

    module.load_model = load_model


def _written_by(package: str) -> str:
    version = str(getattr(sys.modules.get(package), "__version__", ""))
    if package == "tf_keras":
        return f"Keras 2 (tf_keras {version})"
    return f"Keras {version}".strip()


def _other_keras(package: str, filepath: Any) -> str:
    """Why the file could not be loaded, where it is another Keras's; else ""."""
    try:
        version = version_of_file(os.fspath(filepath))
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
