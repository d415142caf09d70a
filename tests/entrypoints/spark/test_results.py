"""How the ranks' results are counted and judged, and what the result file says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from launch_runtime.failures import TRAINING, Failure
from launch_runtime.host import settings
from launch_runtime.spark import results
from launch_runtime.spark.course import Course

STAMP = "0123456789abcdef"
PROOF = "world size 2: 2 hosts x 1 rank, Gloo"
SETTINGS = settings.read(
    {"LAUNCH_WORLD_SIZE": "2", "LAUNCH_INSTANCES": "2", "LAUNCH_PROCESSES": "1"},
    managed=False,
    stamp=STAMP,
)


def course() -> Course:
    return Course(SETTINGS, 60.0, lambda tagged: True, lambda text: None)


def result(rank: int, **changes: Any) -> dict[str, Any]:
    """What a rank gives that ended well."""
    return {
        "stamp": STAMP,
        "rank": rank,
        "host": f"node-{rank}",
        "executor": str(rank),
        "exit_code": 0,
        "proof": PROOF if rank == 0 else "",
        "evidence": [],
        "failure": None,
        **changes,
    }


@pytest.mark.parametrize(
    ("found", "rank", "reason"),
    [
        ([result(0), None], 1, "rank 1 has ended, and its result is missing"),
        ([result(0)], 1, "rank 1 has ended, and its result is missing"),
        ([], 0, "rank 0 has ended, and its result is missing"),
        ([result(0), "?"], 1, "rank 1 has ended, and its result is missing"),
        ([result(0), result(0)], None, "of ranks 0 and 0"),
        ([result(0), result(1, stamp="another")], 1, "not of this job"),
        ([result(0), result(1, exit_code=3)], 1, "rank 1 exited with code 3"),
    ],
    ids=["none", "too few", "nothing", "no result", "twice", "another job", "code"],
)
def test_one_good_result_of_each_rank_is_asked_for(
    found: list[Any], rank: int | None, reason: str
) -> None:
    failure = results.counted(found, SETTINGS, course())
    assert failure is not None
    assert failure.rank == rank
    assert reason in failure.reason


def test_a_failure_that_a_rank_has_told_is_the_jobs() -> None:
    told = Failure("node-1", "ValueError: no", TRAINING, rank=1, exit_code=1)
    found = [result(0), result(1, exit_code=1, failure=told.fields())]
    assert results.counted(found, SETTINGS, course()) == told


def test_good_results_give_the_proof_of_rank_0_with_what_the_evidence_says() -> None:
    found = [result(0), result(1)]
    assert results.counted(found, SETTINGS, course()) is None
    failure, proof = results.judged(found, SETTINGS)
    assert failure is None
    assert proof == f"{PROOF}; evidence missing"


def test_missing_evidence_fails_a_job_that_asks_for_it() -> None:
    failure, proof = results.judged([result(0), result(1)], SETTINGS._replace(proof="strict"))
    assert failure is not None
    assert "no evidence of the training from ranks 0 and 1" in failure.reason
    assert proof == ""


def test_a_single_rank_that_said_nothing_is_proven_as_everywhere() -> None:
    alone = SETTINGS._replace(world_size=1, instances=1)
    _, proof = results.judged([result(0, proof="")], alone)
    assert proof == "world size 1: 1 host x 1 rank, Horovod not used"


def test_the_result_file_says_how_the_job_and_each_rank_ended(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    file = results.ResultFile(str(path))
    file.tell(stamp=STAMP, world_size=2)
    file.tell_end(Failure("node-1", "broke", TRAINING, rank=1, fix="mend it"), "", course())
    assert file.write() == ""
    found = json.loads(path.read_text())
    assert (found["state"], found["reason"], found["fix"]) == ("failed", "broke", "mend it")
    assert (found["failed_rank"], found["exit_code"], found["last_lines"]) == (1, 1, [])
    assert [one["exit_code"] for one in found["ranks"]] == [None, None]
    assert path.stat().st_mode & 0o077 == 0
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(("stop", "code"), [(False, 1), (True, 143)], ids=["failed", "stopped"])
def test_the_result_file_has_the_drivers_exit_code(stop: bool, code: int) -> None:
    file = results.ResultFile("")
    failure = Failure("driver", "ended", TRAINING, stop=stop, code=143)
    file.tell_end(failure, "", None)
    assert (file.fields["exit_code"], results.exit_code(failure)) == (code, code)


def test_what_ranks_wrote_after_the_failure_is_told_apart() -> None:
    jobs = course()
    for rank, unsaid in ((0, ["one", "  two"]), (1, [])):
        report = {"rank": rank, "start": f"start-{rank}", "size": 2, "host": f"node-{rank}"}
        report |= {"executor": "0", "group": "", "local_rank": 0, "gpus": [], "failures": []}
        jobs.report({**report, "result": result(rank, unsaid=unsaid)}, 0.0)
    assert results.unsaid(jobs).decode().splitlines() == [
        "[node-0/0] launch: after the failure rank 0 wrote, last 2 lines:",
        "[node-0/0] | one",
        "[node-0/0] |   two",
    ]


def test_a_result_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    trouble = results.ResultFile(str(tmp_path / "none" / "result.json")).write()
    assert trouble.startswith("cannot write the result to ")
    (tmp_path / "folder").mkdir()
    trouble = results.ResultFile(str(tmp_path / "folder")).write()
    assert trouble.endswith(": Is a directory")
    assert [one.name for one in tmp_path.iterdir()] == ["folder"], "nothing is left beside it"
