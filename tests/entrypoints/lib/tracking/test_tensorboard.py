"""What TensorBoard reads of a run."""

from __future__ import annotations

import sys
import types
from collections.abc import Sequence
from pathlib import Path

import pytest

from entrypoints.lib.tracking import tensorboard
from entrypoints.lib.tracking.records import record
from entrypoints.lib.tracking.sender import Sender
from entrypoints.lib.tracking.tensorboard import EventFile


def test_tensorboard_reads_what_a_run_has_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    # As where TensorFlow is not installed: the package then has file functions of its own.
    name = "tensorboard.compat.notf"
    monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    loader = pytest.importorskip("tensorboard.backend.event_processing.event_file_loader")
    sender = Sender(EventFile(str(tmp_path)), "0123456789abcdef", say=lambda line: None)
    sender.begin({"epochs": 2}, {"launch.provider": "local"})
    sender.metrics(10, {"loss": 0.5, "accuracy": 0.25})
    sender.metrics(20, {"loss": 0.125})
    sender.tags({"launch.proof.world": "world size 2: 1 host x 2 ranks"})
    sender.file("/models/model.keras")
    sender.end()
    (path,) = tmp_path.iterdir()
    scalars, texts = [], {}
    for event in loader.EventFileLoader(str(path)).Load():
        for value in event.summary.value:
            if value.metadata.plugin_data.plugin_name == "scalars":
                scalars.append((value.tag, event.step, value.tensor.float_val[0]))
            else:
                texts.setdefault(value.tag, []).append(value.tensor.string_val[0].decode())
    assert scalars == [("loss", 10, 0.5), ("accuracy", 10, 0.25), ("loss", 20, 0.125)]
    assert "| epochs | 2 |" in texts["parameters"][0]
    assert "| launch.provider | local |" in texts["tags"][0]
    assert "world size 2" in texts["tags"][1]


def test_after_a_writer_has_failed_another_one_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    made: list[Sequence[str]] = []

    class Writer:
        """The first one fails, and fails again as it is closed."""

        def __init__(self, folder: str):
            made.append([])
            self._fails = len(made) == 1

        def scalar(self, name: str, *_: object) -> None:
            made[-1] = [*made[-1], name]

        def flush(self) -> None:
            if self._fails:
                raise OSError(28, "No space left on device")

        close = flush

    monkeypatch.setattr(tensorboard, "_Writer", Writer)
    sink = EventFile(str(tmp_path))
    metrics = [record("metrics", steps=1, values={"loss": 0.5})]
    with pytest.raises(OSError, match="No space"):
        sink.send(metrics)
    sink.send(metrics)
    sink.send([record("end", status="FINISHED")])
    assert made == [["loss"], ["loss"]]
