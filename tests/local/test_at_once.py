"""The same request, several times at the same moment: every one is a job of its own."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from tests.cli.command import Launch

PLAIN = "import os\nprint('I am', os.environ['LAUNCH_JOB'])\n"


def test_six_identical_jobs_at_once_are_six_jobs(launch: Launch):
    """The data folder is new too, so that all six make the ledger and the jobs' folder."""
    launch.home.rmdir()
    launch.write("train.py", PLAIN)
    running = [launch.start("local", "train.py", "--json") for _ in range(6)]
    try:
        answers = [process.communicate(timeout=240) for process in running]
    finally:
        for process in running:
            process.kill()
    told = "\n".join(err for _, err in answers)
    assert [process.returncode for process in running] == [0] * 6, told
    jobs = [json.loads(out) for out, _ in answers]
    base = jobs[0]["name"].rpartition("-")[0]
    assert sorted(job["name"] for job in jobs) == [f"{base}-{n}" for n in range(1, 7)]
    # Each of them ran under its own name, in its own folder.
    for job in jobs:
        log = Path(job["folder"]) / "logs" / "rank-0.log"
        assert f"I am {job['name']}" in log.read_text().splitlines()
    listed = launch("list", "--json").json
    assert Counter(job["state"] for job in listed) == {"succeeded": 6}


def test_a_folder_of_another_ledgers_job_is_left_alone(launch: Launch, tmp_path: Path):
    launch.write("train.py", PLAIN)
    words = ("local", "train.py", "--output-path", str(tmp_path / "out"), "--json")
    first = launch(*words).json
    second = launch(*words, LAUNCH_HOME=str(tmp_path / "other")).json
    assert first["name"].endswith("-1")
    assert second["name"].endswith("-2")
    assert (Path(first["folder"]) / "result.json").is_file()
    dry = launch(*words, "--dry-run", LAUNCH_HOME=str(tmp_path / "third")).json
    assert dry["plan"]["name"].endswith("-3")
    assert dry["document"]["name"] == dry["plan"]["name"]
