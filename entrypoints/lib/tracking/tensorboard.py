"""Event files for TensorBoard, by the writer of the tensorboard package.

TensorFlow brings that package, and PyTorch's SummaryWriter is the same writer. ``tf.summary`` isn't
used: with it in the sender's thread a rank was seen to end by SIGSEGV (TensorFlow 2.18.1).
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import sys
import time
from typing import Any, Mapping, Sequence

from .. import places, storage
from ..errors import TrainingError
from .records import BEGIN, END, FILE, METRICS, Record

VERTEX_FOLDER = "AIP_TENSORBOARD_LOG_DIR"
# Where SageMaker's TensorBoardOutputConfig looks unless its LocalPath says another folder.
SAGEMAKER_FOLDER = "/opt/ml/output/tensorboard"
FOLDER = "tensorboard"


def find(
    environment: Mapping[str, str],
    model_folder: str | None,
    sagemaker: str = SAGEMAKER_FOLDER,
) -> str:
    """The folder that the service names, else ``tensorboard`` in the folder of the model.

    Raises:
        TrainingError: There is none.
    """
    given = environment.get(VERTEX_FOLDER)
    if given:
        return places.on_this_machine(given)
    if os.path.isdir(sagemaker):
        return sagemaker
    if model_folder is None:
        raise TrainingError(
            "--track tensorboard: no folder for its files; give --model-dir, in which "
            f"{FOLDER} is made then"
        )
    return storage.join(model_folder, FOLDER)


def require_writer() -> None:
    """Passes where event files can be written.

    Raises:
        TrainingError: The tensorboard package is not there.
    """
    if importlib.util.find_spec("tensorboard") is not None:
        return
    raise TrainingError(
        f"--track tensorboard: {sys.executable} has no tensorboard. pip install tensorboard, or "
        "name it in the file of --requirements."
    )


class EventFile:
    """A :class:`lib.tracking.sender.Sink`: one more file in ``folder``."""

    def __init__(self, folder: str):
        self._folder = folder
        self._write: _Writer | None = None
        self.title = f"TensorBoard in {folder}"
        self.link = self.title

    def about(self) -> Mapping[str, Any]:
        """See :class:`lib.tracking.sender.Sink`."""
        return {"kept": "tensorboard", "folder": self._folder}

    def send(self, records: Sequence[Record]) -> None:
        """See :class:`lib.tracking.sender.Sink`."""
        write = self._write = self._write or _Writer(self._folder)
        try:
            for one in records:
                _put(write, one)
            write.flush()
            if records[-1]["what"] == END:
                write.close()
                self._write = None
        except Exception:
            # A writer that has failed once fails always: another attempt begins another file.
            self._write = None
            with contextlib.suppress(Exception):
                write.close()
            raise


def _put(write: _Writer, one: Record) -> None:
    if one["what"] == METRICS:
        for name, value in one["values"].items():
            write.scalar(name, value, one["steps"], one["at"] / 1000)
    elif one["what"] == BEGIN:
        write.text("parameters", _table(one["parameters"]))
        write.text("tags", _table(one["tags"]))
    elif one["what"] not in (END, FILE):
        write.text("tags", _table(one["tags"]))


class _Writer:
    def __init__(self, folder: str):
        from tensorboard.compat.proto import event_pb2, summary_pb2
        from tensorboard.plugins.text import metadata as text_metadata
        from tensorboard.summary.writer.event_file_writer import EventFileWriter

        self._event, self._summary, self._text = event_pb2, summary_pb2, text_metadata
        self._writer = EventFileWriter(folder)

    def scalar(self, name: str, value: float, step: int, seconds: float) -> None:
        value_ = self._summary.Summary.Value(tag=name, simple_value=value)
        self._add(value_, step, seconds)

    def text(self, name: str, text: str) -> None:
        from tensorboard.compat.proto import tensor_pb2, tensor_shape_pb2, types_pb2

        tensor = tensor_pb2.TensorProto(
            dtype=types_pb2.DT_STRING,
            string_val=[text.encode("utf-8")],
            tensor_shape=tensor_shape_pb2.TensorShapeProto(),
        )
        about = self._text.create_summary_metadata(display_name=name, description="")
        value = self._summary.Summary.Value(tag=name, metadata=about, tensor=tensor)
        self._add(value, 0, None)

    def flush(self) -> None:
        self._writer.flush()

    def close(self) -> None:
        self._writer.close()

    def _add(self, value: Any, step: int, seconds: float | None) -> None:
        summary = self._summary.Summary(value=[value])
        self._writer.add_event(
            self._event.Event(wall_time=seconds or time.time(), step=step, summary=summary)
        )


def _table(values: Mapping[str, str]) -> str:
    """Markdown, which TensorBoard draws."""
    rows = [f"| {name} | {text} |" for name, text in sorted(values.items())]
    return "\n".join(["| name | value |", "| --- | --- |", *rows])
