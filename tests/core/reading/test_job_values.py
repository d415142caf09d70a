"""A job from Python values: the keys of launch.yaml, with the same kinds and the same words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy
import pytest

from launchers.core.model.problems import LaunchError
from launchers.core.reading.job_file import read
from launchers.core.reading.job_values import job_from_values
from launchers.core.registry import provider
from launchers.core.spec.job import JobSpec
from launchers.sagemaker.options import SageMakerOptions


def made(**values: Any) -> JobSpec:
    return job_from_values(provider("sagemaker"), values)


def test_values_become_the_fields_of_the_job_and_of_the_provider():
    job = made(
        script=Path("train.py"), instances=2, gpus=4, env={"A": 1, "B": True}, max_runtime="1h30m",
        spot=True, subnets=["subnet-0123abcd"], volume_size="2TB", role=None,
    )  # fmt: skip
    assert job == JobSpec(
        provider="sagemaker",
        options=SageMakerOptions(subnets=("subnet-0123abcd",), volume_size=2048),
        script="train.py", instances=2, gpus=4, environment={"A": "1", "B": "true"},
        max_runtime=5400, spot=True,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--lr", 0.1, "--epochs", 3, "a b"], ("--lr", "0.1", "--epochs", "3", "a b")),
        ({"lr": 1e-5, "amp": True, "debug": False, "x": None}, ("--lr", "1e-05", "--amp")),
        ({"layer": [1, 2]}, ("--layer", "1", "--layer", "2")),
        (["--data", Path("a/b")], ("--data", "a/b")),
    ],
)  # fmt: skip
def test_arguments_are_written_out_as_text(args: Any, words: tuple[str, ...]):
    assert made(args=args).arguments == words


def test_numbers_of_numpy_are_numbers():
    job = made(
        instances=numpy.int64(2),
        gpus=numpy.int32(4),
        args=["--lr", numpy.float32(0.1), "--size", numpy.int64(3), "--decay", numpy.float64(1e-5)],
        env={"SEED": numpy.int64(7)},
    )
    assert (job.instances, job.gpus, job.environment) == (2, 4, {"SEED": "7"})
    assert job.arguments == ("--lr", "0.1", "--size", "3", "--decay", "1e-05")


def test_all_mistakes_are_told_at_once_with_what_was_meant():
    with pytest.raises(LaunchError) as raised:
        made(instances="two", gpu=4, environment={"A": "b"}, max_runtime=3600, spot="yes")
    told = {problem.path: problem for problem in raised.value.problems}
    assert set(told) == {"instances", "gpu", "environment", "max_runtime", "spot"}
    assert told["gpu"].fix == "did you mean gpus?"
    assert told["environment"].fix == "did you mean env?"
    assert "a time with its unit" in told["max_runtime"].expected


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("args", "--lr 0.1"),
        ("instances", 0),
        ("name", "a_b"),
        ("pin_gpu", "maybe"),
        ("volume_size", "1PB"),
        ("spot", 1),
    ],
)
def test_a_wrong_value_is_told_in_the_words_of_launch_yaml(tmp_path: Path, key: str, value: Any):
    section = "sagemaker:\n  " if key == "volume_size" else ""
    file = tmp_path / "launch.yaml"
    file.write_text(f"{section}{key}: {value}\n")
    with pytest.raises(LaunchError) as from_file:
        read(file)
    with pytest.raises(LaunchError) as from_value:
        made(**{key: value})
    assert from_value.value.problems[0].expected == from_file.value.problems[0].expected
