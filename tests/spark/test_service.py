"""What is read of a Spark job from its folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from launchers.core.model.jobs import JobHandle
from launchers.spark.service.cluster import SparkService
from tests.refusals import refused


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "job.log").write_text(
        "10.000 [w-1/0] progress: epoch 1/3\n11.000 [w-2/1] from rank 1\n12.000 [w-1/0] done\n"
    )
    return tmp_path


def handle(folder: Path, conf: dict[str, str] | None = None) -> JobHandle:
    document: dict[str, Any] = {
        "conf": {"spark.executorEnv.LAUNCH_WORLD_SIZE": "2", **(conf or {})},
        "environment": {},
    }
    (folder / "definition.json").write_text(json.dumps(document))
    return JobHandle("spark", "job", {"folder": str(folder)})


@pytest.mark.parametrize(("gpus", "known"), [("0", True), ("1", False)])
def test_a_job_whose_executors_have_no_gpu_is_known_to_have_none(
    folder: Path, gpus: str, known: bool
) -> None:
    job = handle(folder, {"spark.launch.gpus": gpus})
    assert SparkService().without_gpus(job) is known
    assert SparkService().without_gpus(JobHandle("spark", "starting")) is False


def test_the_lines_of_a_rank_are_its_own_since_a_moment(folder: Path) -> None:
    job, service = handle(folder), SparkService()
    assert [line.text for line in service.logs(job, rank=1)] == ["from rank 1"]
    assert [line.text for line in service.logs(job, since=10.5, rank=0)] == ["done"]
    assert [line.text for line in service.logs(job, since=11.5)] == ["done"]
    assert [line.text for line in service.newest_lines(job)] == ["progress: epoch 1/3", "done"]
    with refused("rank-unknown", "expected 0 to 1"):
        list(service.logs(job, rank=2))


def test_a_job_without_its_document_is_told_by_its_folder(folder: Path) -> None:
    job, service = JobHandle("spark", "job", {"folder": str(folder)}), SparkService()
    for text in (None, "", "{"):
        if text is not None:
            (folder / "definition.json").write_text(text)
        with refused("job-folder", "definition.json: absent, or cut"):
            list(service.logs(job, rank=0))
        assert service.without_gpus(job) is False
    with refused("job-folder", "launch status job"):
        list(service.logs(JobHandle("spark", "job")))
