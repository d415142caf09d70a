"""TensorFlow, imported with the settings that it needs and without its noise.

It reads its environment when it is imported.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import sys
import time
from typing import Iterator, MutableMapping

from ..errors import TrainingError, first_line

# Lines that TensorFlow writes on every machine when it is imported, whatever TF_CPP_MIN_LOG_LEVEL
# says (seen with 2.18.1; tensorflow/tensorflow issue 62075 has them from 2.14 on).
NOISE = re.compile(
    rb"Unable to register cu(FFT|DNN|BLAS) factory"
    rb"|All log messages before absl::InitializeLog\(\) is called"
)
NOISE_WITHOUT_A_GPU = re.compile(rb"failed call to cuInit")
# Keras 2 compares the first five steps with the callbacks between them. Ours wait there for the
# other ranks, which on a short step takes longer than the step; nobody can do anything about it.
CALLBACK_TIMES = re.compile(r"Callback method `on_\w+` is slow compared to the batch time")
NVIDIA_DEVICE = "/dev/nvidiactl"
SECONDS_FOR_FILTER_TO_END = 2.0


def prepare_environment(environment: MutableMapping[str, str]) -> None:
    """Settings that TensorFlow reads when it is imported; what the user has set stays.

    Horovod's Keras optimizer fails on Keras 3, so tf.keras has to be tf-keras from 2.16 on; up
    to 2.15 TensorFlow does not look at that variable and brings its own Keras 2.
    """
    environment["TF_USE_LEGACY_KERAS"] = "1"
    environment.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")


def import_tensorflow() -> None:
    """Imports TensorFlow and its Keras, and counts the GPUs. Takes seconds.

    Raises:
        TrainingError: It is missing, or its Keras is.
    """
    prepare_environment(os.environ)
    with known_noise_dropped():
        try:
            import tensorflow

            tensorflow.keras.optimizers  # noqa: B018 - loads tf-keras, which may be missing
        except ImportError as error:
            raise TrainingError(
                f"TensorFlow cannot be imported in {sys.executable}: {first_line(error)}. Install "
                "tensorflow and, from 2.16 on, the tf-keras of the same version."
            ) from error
        tensorflow.config.list_physical_devices("GPU")
    drop_callback_times(tensorflow.get_logger())


def drop_callback_times(logger: logging.Logger) -> None:
    """No word on the time that callbacks take, whatever else TensorFlow logs; safe to repeat."""
    logger.addFilter(_is_worth_saying)


def _is_worth_saying(record: logging.LogRecord) -> bool:
    return not CALLBACK_TIMES.search(record.getMessage())


@contextlib.contextmanager
def known_noise_dropped() -> Iterator[None]:
    """Standard error passes through a small process that drops the lines in NOISE.

    C++ code writes there, so sys.stderr is the wrong place; and a process, not a thread or a
    file, so that the last words of an import that aborts still come out.
    """
    sys.stderr.flush()
    reader, writer = os.pipe()
    original = os.dup(2)
    child = os.fork()
    if child == 0:
        try:
            os.close(writer)
            _pass_on(reader, original)
        finally:
            os._exit(0)
    os.close(reader)
    os.dup2(writer, 2)
    os.close(writer)
    try:
        yield
    finally:
        sys.stderr.flush()
        os.dup2(original, 2)
        os.close(original)
        _await(child)


def _pass_on(reader: int, target: int) -> None:
    """Whole lines from ``reader`` to ``target`` but for the noise; ends with the last writer."""
    pending = b""
    while True:
        chunk = os.read(reader, 65536)
        lines = (pending + chunk).splitlines(keepends=True)
        complete = bool(not chunk or (lines and lines[-1].endswith(b"\n")))
        pending = b"" if complete or not lines else lines.pop()
        for line in lines:
            if not is_noise(line, gpu_present=os.path.exists(NVIDIA_DEVICE)):
                os.write(target, line)
        if not chunk:
            return


def is_noise(line: bytes, gpu_present: bool) -> bool:
    """Whether a line on standard error says nothing to anyone on such a machine."""
    return bool(NOISE.search(line) or (not gpu_present and NOISE_WITHOUT_A_GPU.search(line)))


def _await(child: int) -> None:
    """Waits for the filter, unless something that an import started still holds its pipe."""
    deadline = time.monotonic() + SECONDS_FOR_FILTER_TO_END
    while time.monotonic() < deadline:
        if os.waitpid(child, os.WNOHANG)[0]:
            return
        time.sleep(0.002)
