from __future__ import annotations

import json
import logging
import os
import re
import subprocess
import sys

import pytest

from entrypoints.lib.cores import threads_per_rank
from entrypoints.lib.tensorflow import quiet
from tests.places import ENTRYPOINTS

pytestmark = pytest.mark.processes

NOISY = (
    b"2024-11-21 E external/local_xla/cuda_fft.cc:477] Unable to register cuFFT factory: Attempting"
)
PICKS_A_DEVICE = re.compile(
    r"set_visible_devices|visible_device_list|set_device|torch\.device|\.cuda\(|CUDA_VISIBLE_DEVICES"
)


def cluster(*addresses: str) -> dict[str, str]:
    hosts = [{"name": f"host-{i}", "address": address} for i, address in enumerate(addresses)]
    return {"LAUNCH_CLUSTER": json.dumps({"hosts": hosts, "index": 0, "port": 1})}


@pytest.mark.parametrize(
    ("cores", "processes", "environment", "expected"),
    [
        (16, 1, {}, 16),
        (16, 4, {}, 4),
        (2, 4, {}, 1),
        (16, 2, cluster("127.0.0.1", "127.0.0.1"), 4),
        (16, 2, cluster("10.0.0.1", "10.0.0.2"), 8),
        (16, 2, {"LAUNCH_CLUSTER": "not JSON"}, 8),
        (16, 2, {"TF_NUM_INTRAOP_THREADS": "3"}, None),
        (16, 2, {"OMP_NUM_THREADS": "3"}, None),
    ],
)
def test_the_ranks_of_a_machine_share_its_cores(
    cores: int,
    processes: int,
    environment: dict[str, str],
    expected: int | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(cores)))
    assert threads_per_rank(processes, environment) == expected


def test_a_users_log_level_stays_and_keras_2_is_asked_for() -> None:
    environment = {"TF_CPP_MIN_LOG_LEVEL": "0", "TF_USE_LEGACY_KERAS": "0"}
    quiet.prepare_environment(environment)
    assert environment == {"TF_CPP_MIN_LOG_LEVEL": "0", "TF_USE_LEGACY_KERAS": "1"}


@pytest.mark.parametrize(
    ("line", "gpu_present", "expected"),
    [
        (NOISY, True, True),
        (b"E cuda_driver.cc:152] failed call to cuInit: INTERNAL", False, True),
        (b"E cuda_driver.cc:152] failed call to cuInit: INTERNAL", True, False),
        (b"E cuda_blas.cc:1] out of memory", False, False),
    ],
)
def test_only_lines_that_say_nothing_are_noise(
    line: bytes, gpu_present: bool, expected: bool
) -> None:
    assert quiet.is_noise(line, gpu_present) is expected


def test_keras_says_nothing_of_the_time_in_callbacks_and_all_else(
    caplog: pytest.LogCaptureFixture,
) -> None:
    logger = logging.getLogger("tests.of.callback.times")
    quiet.drop_callback_times(logger)
    text = "Callback method `%s` is slow compared to the batch time (batch time: %.4fs vs `%s` time"
    logger.warning(text, "on_train_batch_end", 0.0135, "on_train_batch_end")
    logger.warning("a kernel was not found")
    assert caplog.messages == ["a kernel was not found"]


def run(code: str) -> subprocess.CompletedProcess[bytes]:
    prelude = (
        "import os, sys\nfrom lib.tensorflow import quiet\nwith quiet.known_noise_dropped():\n    "
    )
    return subprocess.run(
        [sys.executable, "-c", prelude + code],
        cwd=ENTRYPOINTS,
        env={**os.environ, "PYTHONPATH": str(ENTRYPOINTS)},
        capture_output=True,
        timeout=60,
    )


def test_all_but_the_noise_comes_out_whole_and_in_order() -> None:
    done = run(
        f"os.write(2, b'one\\n' + {NOISY!r} + b'\\ntw'); os.write(2, b'o\\nlast without end')\n"
        "print('after', file=sys.stderr)"
    )
    assert (done.returncode, done.stdout) == (0, b"")
    assert done.stderr == b"one\ntwo\nlast without endafter\n"


def test_the_last_words_of_an_import_that_aborts_come_out() -> None:
    done = run("os.write(2, b'this CPU has no AVX'); os.abort()")
    assert done.returncode == -6
    assert done.stderr == b"this CPU has no AVX"


def test_a_process_that_an_import_leaves_behind_keeps_nobody_waiting() -> None:
    done = run("import subprocess; p = subprocess.Popen(['cat'], stdin=subprocess.PIPE)\np.kill()")
    assert done.returncode == 0


def test_no_file_of_the_scripts_picks_a_device_by_local_rank_so_the_guard_does() -> None:
    files = [*ENTRYPOINTS.glob("train_*.py"), *(ENTRYPOINTS / "lib").rglob("*.py")]
    picking = [file for file in files if PICKS_A_DEVICE.search(file.read_text())]
    assert sorted(file.name for file in picking) == [
        "distributed_ranks.py",
        "mirrored.py",
        "stack.py",
        "stack.py",
    ]
    assert [file for file in picking if "local_rank" in file.read_text()] == []
