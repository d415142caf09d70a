"""The training stack: TensorFlow and Horovod, imported with the settings that they need.

TensorFlow reads its environment when it is imported and its thread and memory settings when it
first computes, so the order here matters.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
import time
from typing import Any, Iterator, Mapping, MutableMapping

from .errors import TrainingError

# Lines that TensorFlow writes on every machine when it is imported, whatever TF_CPP_MIN_LOG_LEVEL
# says (seen with 2.18.1; tensorflow/tensorflow issue 62075 has them from 2.14 on).
NOISE = re.compile(
    rb"Unable to register cu(FFT|DNN|BLAS) factory"
    rb"|All log messages before absl::InitializeLog\(\) is called"
)
NOISE_WITHOUT_A_GPU = re.compile(rb"failed call to cuInit")
NVIDIA_DEVICE = "/dev/nvidiactl"
SECONDS_FOR_FILTER_TO_END = 2.0


def prepare_environment(environment: MutableMapping[str, str]) -> None:
    """Settings that TensorFlow reads when it is imported; what the user has set stays.

    Horovod's Keras optimizer fails on Keras 3, so tf.keras has to be tf-keras from 2.16 on; up
    to 2.15 TensorFlow does not look at that variable and brings its own Keras 2.
    """
    environment["TF_USE_LEGACY_KERAS"] = "1"
    environment.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")


def import_quietly() -> None:
    """Imports TensorFlow and Horovod's Keras binding, and counts the GPUs. Takes seconds.

    Raises:
        TrainingError: One of them is missing or does not fit the others.
    """
    prepare_environment(os.environ)
    with known_noise_dropped():
        try:
            import tensorflow

            tensorflow.keras.optimizers  # noqa: B018 - loads tf-keras, which may be missing
        except ImportError as error:
            raise TrainingError(
                f"TensorFlow cannot be imported in {sys.executable}: {_first_line(error)}. Install "
                "tensorflow and, from 2.16 on, the tf-keras of the same version."
            ) from error
        try:
            import horovod.tensorflow.keras  # noqa: F401
        except ImportError as error:
            raise TrainingError(
                f"Horovod for TensorFlow cannot be imported in {sys.executable}: "
                f"{_first_line(error)}. Install horovod, after TensorFlow, with "
                "HOROVOD_WITH_TENSORFLOW=1."
            ) from error
        tensorflow.config.list_physical_devices("GPU")


def prepare_devices(position: int, processes: int, environment: Mapping[str, str]) -> int:
    """Memory growth on GPUs, a fair share of the cores without any. Gives the number of GPUs.

    A rank normally sees the one GPU that it was given. Where it sees several and shares the host,
    nobody has divided them, and it takes the one at its own position.

    Args:
        position: The rank's number on its host, from 0.
        processes: Ranks on its host.
        environment: The process's environment.
    """
    import tensorflow as tf

    gpus = tf.config.list_physical_devices("GPU")
    if len(gpus) > 1 and processes > 1:
        gpus = [gpus[position % len(gpus)]]
        tf.config.set_visible_devices(gpus, "GPU")
    for gpu in gpus:
        tf.config.experimental.set_memory_growth(gpu, True)
    threads = threads_per_rank(processes, environment)
    if not gpus and threads is not None:
        tf.config.threading.set_intra_op_parallelism_threads(threads)
        tf.config.threading.set_inter_op_parallelism_threads(threads)
    return len(gpus)


def threads_per_rank(processes: int, environment: Mapping[str, str]) -> int | None:
    """The cores of this machine divided by the ranks on it; None where the user has decided.

    TensorFlow alone would take as many threads as there are cores in each rank. Two ranks on two
    cores, six interleaved rounds, medians: the digits train at 6,800 images/s with a thread each
    and at 5,500 with two each; the larger steps of fashion-mnist show no difference.
    Simulated hosts share one machine: a cluster whose hosts all have a loopback address is one.
    """
    if environment.get("TF_NUM_INTRAOP_THREADS") or environment.get("OMP_NUM_THREADS"):
        return None
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:  # not Linux
        cores = os.cpu_count() or 1
    return max(1, cores // (processes * _hosts_on_this_machine(environment)))


def _hosts_on_this_machine(environment: Mapping[str, str]) -> int:
    try:
        hosts = json.loads(environment.get("LAUNCH_CLUSTER", ""))["hosts"]
        addresses = [str(host["address"]) for host in hosts]
    except (ValueError, KeyError, TypeError):
        return 1
    local = all(address.startswith("127.") or address == "localhost" for address in addresses)
    return len(addresses) if local and addresses else 1


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


def _first_line(error: Any) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
