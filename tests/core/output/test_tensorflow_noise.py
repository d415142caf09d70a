"""TensorFlow's start-up lines are known to their last character; every other line is shown."""

# ruff: noqa: E501 - lines as TensorFlow printed them

from __future__ import annotations

import pytest

from launchers.core.model.jobs import LogLine
from launchers.core.output.lines import JobWatch
from launchers.core.output.tensorflow_noise import is_noise

ABSEIL = "0000 00:00:1795322712.449013   11001 "
MOMENT = "2026-11-22 04:45:12.275336: "

NOISE = [
    (
        f"{MOMENT}I tensorflow/core/util/port.cc:153] oneDNN custom operations are on. You may see "
        "slightly different numerical results due to floating-point round-off errors from different "
        "computation orders. To turn them off, set the environment variable `TF_ENABLE_ONEDNN_OPTS=0`."
    ),
    (
        f"{MOMENT}E external/local_xla/xla/stream_executor/cuda/cuda_fft.cc:477] Unable to register "
        "cuFFT factory: Attempting to register factory for plugin cuFFT when one has already been "
        "registered"
    ),
    (
        f"E{ABSEIL}cuda_dnn.cc:8310] Unable to register cuDNN factory: Attempting to register factory "
        "for plugin cuDNN when one has already been registered"
    ),
    (
        f"E{ABSEIL}cuda_blas.cc:1418] Unable to register cuBLAS factory: Attempting to register "
        "factory for plugin cuBLAS when one has already been registered"
    ),
    (
        f"W{ABSEIL}computation_placer.cc:177] computation placer already registered. Please check "
        "linkage and avoid linking the same target more than once."
    ),
    (
        f"{MOMENT}I tensorflow/core/platform/cpu_feature_guard.cc:210] This TensorFlow binary is "
        "optimized to use available CPU instructions in performance-critical operations."
    ),
    (
        "To enable the following instructions: AVX2 AVX512F AVX512_VNNI FMA, in other operations, "
        "rebuild TensorFlow with the appropriate compiler flags."
    ),
    "WARNING: All log messages before absl::InitializeLog() is called are written to STDERR",
    (
        f"{MOMENT}W tensorflow/compiler/tf2tensorrt/utils/py_utils.cc:38] TF-TRT Warning: Could not "
        "find TensorRT"
    ),
    (
        f"I{ABSEIL}cuda_executor.cc:1015] successful NUMA node read from SysFS had negative value "
        "(-1), but there must be at least one NUMA node, so returning NUMA node zero. See more at "
        "https://github.com/torvalds/linux/blob/v6.0/Documentation/ABI/testing/sysfs-bus-pci"
        "#L344-L355"
    ),
]

# Noise where the ranks have no GPU; else the first sign of what is wrong.
MISSING_GPU = [
    (
        f"{MOMENT}I external/local_xla/xla/tsl/cuda/cudart_stub.cc:32] Could not find cuda drivers on "
        "your machine, GPU will not be used."
    ),
    (
        f"{MOMENT}E external/local_xla/xla/stream_executor/cuda/cuda_driver.cc:152] failed call to "
        "cuInit: INTERNAL: CUDA error: Failed call to cuInit: UNKNOWN ERROR (303)"
    ),
    (
        f"{MOMENT}E external/local_xla/xla/stream_executor/cuda/cuda_driver.cc:152] failed call to "
        "cuInit: CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected"
    ),
]

SHOWN = [
    "",
    "epoch 1, loss 0.5",
    "WARNING: the learning rate is 0",
    "WARNING: All log messages before absl::InitializeLog() is called are lost, says my script",
    f"seen: {NOISE[0]}",
    f"{NOISE[0]} And my own words.",
    f"{NOISE[2]} (epoch 3)",
    "To enable the following instructions: read the manual",
    "To enable mixed precision, rebuild TensorFlow with the appropriate compiler flags.",
    (
        f"{MOMENT}E my_op.cc:477] Unable to register cuFFT factory: Attempting to register factory "
        "for plugin cuFFT when one has already been registered"
    ),
    f"E{ABSEIL}cuda_dnn.cc:8310] Could not create cudnn handle: CUDNN_STATUS_INTERNAL_ERROR",
    (
        f"E{ABSEIL}cuda_dnn.cc:533] Loaded runtime CuDNN library: 8.9.4 but source was compiled with: "
        "9.3.0.  CuDNN library needs to have matching major version"
    ),
    (
        f"{MOMENT}W external/local_tsl/tsl/framework/bfc_allocator.cc:482] Allocator (GPU_0_bfc) ran "
        "out of memory trying to allocate 3.42GiB (rounded to 3676307456)"
    ),
    (
        f"{MOMENT}E external/local_xla/xla/stream_executor/cuda/cuda_driver.cc:1159] failed to alloc "
        "1073741824 bytes on host: CUDA_ERROR_OUT_OF_MEMORY: out of memory"
    ),
    (
        f"{MOMENT}E external/local_xla/xla/stream_executor/cuda/cuda_driver.cc:152] failed call to "
        "cuInit: CUDA_ERROR_SYSTEM_DRIVER_MISMATCH: system has unsupported display driver"
    ),
    (
        f"{MOMENT}I tensorflow/core/common_runtime/gpu/gpu_device.cc:2022] Created device "
        "/job:localhost/replica:0/task:0/device:GPU:0 with 13949 MB memory"
    ),
    "2026-11-22 04:45:12.275336: I port.cc:1] done",
]


@pytest.mark.parametrize("text", NOISE)
def test_what_tensorflow_prints_at_every_start_is_noise(text: str):
    assert is_noise(text)
    assert is_noise(text, without_gpus=True)


@pytest.mark.parametrize("text", MISSING_GPU)
def test_a_missing_gpu_is_noise_only_where_none_was_asked_for(text: str):
    assert is_noise(text, without_gpus=True)
    assert not is_noise(text)


@pytest.mark.parametrize("text", SHOWN)
def test_a_line_that_only_looks_like_it_is_shown(text: str):
    assert not is_noise(text)
    assert not is_noise(text, without_gpus=True)


def test_the_last_lines_of_a_failure_are_the_scripts_own_and_printable():
    watch = JobWatch()
    for text in ("\x1b[31mValueError\x1b[0m: x", *NOISE, *NOISE, "10%\r20%"):
        watch.see(LogLine(0.0, "host-1", 1, text))
    assert watch.tail(1) == ["ValueError: x", "20%"]
