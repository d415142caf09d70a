"""Training: throughput at one and two ranks, beside a bare horovodrun of the same script, and what
agent and guard add at the start."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.benchmarks.measure import (
    interleaved,
    median,
    print_table,
    quiet_environment,
    with_spread,
)
from tests.benchmarks.speed import jobs
from tests.places import ENTRYPOINTS

_FIRST_LINE = "import time; open({path!r}, 'w').write(repr(time.time()))\n"


def run(runs: int) -> None:
    """Print both tables."""
    with tempfile.TemporaryDirectory() as name:
        _throughput(Path(name), runs)
        _start(Path(name), max(runs, 7))


def _throughput(folder: Path, runs: int) -> None:
    arguments = ["--epochs", "12", "--batch-size", "32"]
    found: dict[str, list[float]] = {}
    for index in range(runs):
        for ranks in (1, 2):
            launched = jobs.launched(folder / f"l{ranks}{index}", ranks, arguments)
            bare = jobs.by_horovodrun(folder / f"h{ranks}{index}", ranks, arguments)
            found.setdefault(f"launch local, {ranks}", []).append(_rate(launched))
            found.setdefault(f"horovodrun, {ranks}", []).append(_rate(bare))
    rows = []
    for ranks in (1, 2):
        ours, theirs = found[f"launch local, {ranks}"], found[f"horovodrun, {ranks}"]
        ratios = [mine / other for mine, other in zip(ours, theirs, strict=True)]
        rows.append(
            [
                str(ranks),
                f"{median(ours):,.0f}",
                f"{median(theirs):,.0f}",
                with_spread(ratios),
            ]
        )
    print_table(
        f"The shared script on digits, 12 epochs, images a second of the whole job, "
        f"median of {runs} runs in turn",
        ["ranks", "launch local", "horovodrun", "ratio"],
        rows,
    )


def _rate(job: jobs.Job) -> float:
    """Images a second of the whole job, its first epoch too."""
    return float(jobs.metrics_of(job)[0]["images_per_second"])


def _start(folder: Path, runs: int) -> None:
    (folder / "src").mkdir()
    moment = folder / "moment"
    (folder / "src" / "first.py").write_text(_FIRST_LINE.format(path=str(moment)))
    one_host = {"hosts": [{"name": "host-1", "address": "127.0.0.1"}], "index": 0, "port": 0}

    def until_first_line(command: list[str], environment: dict[str, str]) -> float:
        moment.unlink(missing_ok=True)
        begin = time.time()
        subprocess.run(
            command, cwd=folder / "src", env=environment, check=True, capture_output=True
        )
        return float(moment.read_text()) - begin

    def bare() -> float:
        return until_first_line([sys.executable, "first.py"], quiet_environment())

    def by_agent() -> float:
        environment = quiet_environment(
            LAUNCH_WORLD_SIZE="1",
            LAUNCH_INSTANCES="1",
            LAUNCH_PROCESSES="1",
            LAUNCH_PIN_GPU="none",
            LAUNCH_SOURCE_DIR=str(folder / "src"),
            LAUNCH_CLUSTER=json.dumps({**one_host, "port": free_port()}),
        )
        return until_first_line(
            [sys.executable, str(ENTRYPOINTS / "agent.py"), "first.py"], environment
        )

    found = interleaved({"bare": bare, "agent": by_agent}, runs)  # type: ignore[arg-type,dict-item]
    plain, agent = median(found["bare"]), median(found["agent"])  # type: ignore[arg-type]
    print_table(
        f"From the process's start to the script's first line, wall s, median of {runs} runs",
        ["python SCRIPT", "agent and guard", "added", "budget"],
        [[f"{plain:.2f}", f"{agent:.2f}", f"{agent - plain:.2f}", "1"]],
    )


def free_port() -> int:
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
