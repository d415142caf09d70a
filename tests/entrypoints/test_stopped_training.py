"""SIGTERM on real ranks of the shared script, and what goes on from where they ended."""

from __future__ import annotations

import json
import resource
import signal
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.entrypoints import horovod_ranks, numbered_pictures
from tests.entrypoints.horovod_ranks import Process, Rank
from tests.entrypoints.simulated import SimulatedJob
from tests.entrypoints.test_training_data import counted, metrics_in, steps_of
from tests.places import ENTRYPOINTS
from tests.waiting import until

pytestmark = [pytest.mark.horovod, pytest.mark.usefixtures("warm_ranks")]

LOGGED = Path(__file__).with_name("logged_training.py")
SECONDS = 240.0


def run(folder: Path, arguments: Sequence[str], size: int, **environment: str) -> list[Rank]:
    return horovod_ranks.run(folder, arguments, size=size, script=LOGGED, environment=environment)


def only_words(ranks: Sequence[Rank]) -> str:
    """What rank 0 alone said in the end of a run that was told to stop."""
    assert [rank.exit_code for rank in ranks] == [143] * len(ranks), ranks
    assert [rank.stderr for rank in ranks[1:]] == [""] * (len(ranks) - 1)
    assert ranks[0].stderr.count("\n") == 1
    return ranks[0].stderr


def about(path: Path) -> dict[str, Any]:
    """What a checkpoint says of itself; every array in it is read."""
    with np.load(path) as archive:
        assert all(archive[name] is not None for name in archive.files)
        found: dict[str, Any] = json.loads(str(archive["about"]))
    return found


def newest(folder: Path) -> dict[str, Any]:
    return about(max(folder.iterdir(), key=lambda path: int(about(path)["steps"])))


def test_a_validation_is_cut_short_by_sigterm_and_made_up_for_by_the_run_that_goes_on(
    tmp_path: Path,
) -> None:
    folders = ["--checkpoint-dir", str(tmp_path / "c"), "--model-dir", str(tmp_path / "m")]
    arguments = ["--model", "mlp", "--limit", "200", "--epochs", "2", "--validate", *folders]
    stopped = run(tmp_path / "stopped", arguments, 1, TERM_IN_VALIDATION="0")
    assert "the checkpoint after epoch 1 is in" in only_words(stopped)
    (entry,) = newest(tmp_path / "c")["history"]
    assert "validation_loss" not in entry
    (again,) = run(tmp_path / "again", arguments, 1)
    assert again.exit_code == 0, again
    first, second = metrics_in(tmp_path / "m")["history"]
    assert first["loss"] == entry["loss"]
    assert 0 < second["validation_loss"] < first["validation_loss"]


def test_sigterm_on_one_rank_ends_all_after_a_step_and_worlds_of_other_sizes_go_on(
    tmp_path: Path,
) -> None:
    """Two ranks, then one, then three take their part of one epoch: each picture once, and each
    checkpoint is the newest by its name though the world's own steps are fewer."""
    place = numbered_pictures.write_parquet(tmp_path / "place", 83, 30)
    checkpoints = tmp_path / "checkpoints"
    arguments = [
        *("--data", f"parquet:{place}", "--model", "mlp", "--epochs", "2", "--batch-size", "2"),
        *("--lr", "0.01", "--lr-scaling", "linear", "--remainder", "uneven", "--validate"),
        *("--checkpoint-dir", str(checkpoints), "--model-dir", str(tmp_path / "m")),
    ]
    seen: Counter[int] = Counter()
    done = 0
    for number, (size, rank) in enumerate([(2, 1), (1, 0)]):
        folder = tmp_path / f"stopped-{number}"
        ranks = run(folder, arguments, size, TERM_AFTER=f"{rank}:4")
        line = only_words(ranks)
        state = newest(checkpoints)
        taken = state["steps"] - done
        assert taken >= 5
        assert state["epoch"] == 0
        assert state["step"] == state["steps"]
        assert (
            f"stopped: SIGTERM on rank {rank}; the checkpoint after epoch 1, "
            f"step {state['steps']} is in {checkpoints}, and a run with that folder resumes"
        ) in line
        logged = [steps_of(folder, each) for each in range(size)]
        assert [len(steps) for steps in logged] == [taken] * size
        seen += counted(*logged)
        done = state["steps"]

    ranks = run(tmp_path / "again", arguments, 3)
    assert [rank.exit_code for rank in ranks] == [0, 0, 0], ranks
    assert f"going on at epoch 1/2, step {done + 1}" in ranks[0].stdout
    assert "mind that world size is 1 there and 3 here" in ranks[0].stdout
    assert "learning rate: 0.01 scaled to 0.03 for 3 ranks (--lr-scaling linear)" in ranks[0].stdout
    steps = [steps_of(tmp_path / "again", rank) for rank in range(3)]
    rest = len(steps[0]) - 14  # an epoch of 28 or 27 pictures each
    assert seen + counted(*(each[:rest] for each in steps)) == Counter(range(83))
    metrics = metrics_in(tmp_path / "m")
    assert metrics["steps"] == done + rest + 14
    assert [sorted(entry) for entry in metrics["history"]] == [sorted(metrics["history"][1])] * 2
    assert metrics["history"][1]["validation_accuracy"] == metrics["test_accuracy"]


def test_a_disk_that_is_full_at_sigterm_leaves_the_checkpoints_of_every_few_seconds_whole(
    tmp_path: Path,
) -> None:
    kept = tmp_path / "c"

    def early_in_an_epoch() -> bool:
        """After the first, with hundreds of steps to come: at an epoch's end nothing is written
        for SIGTERM."""
        names = [path.stem for path in kept.glob("checkpoint-*-step-*.npz")]
        return any(int(name[11:16]) > 0 and int(name[-7:]) < 600 for name in names)

    def fill_up_and_stop(processes: Sequence[Process], folder: Path) -> None:
        until(early_in_an_epoch, "a checkpoint within an epoch", SECONDS)
        resource.prlimit(processes[0].pid, resource.RLIMIT_FSIZE, (100_000, 100_000))
        processes[0].send_signal(signal.SIGTERM)

    arguments = ["--batch-size", "1", "--epochs", "90", "--model", "mlp", "--limit", "1200"]
    (rank,) = horovod_ranks.run(
        tmp_path / "run",
        [*arguments, "--checkpoint-minutes", "0.002", "--checkpoint-dir", str(kept)],
        size=1,
        during=fill_up_and_stop,
    )
    assert rank.exit_code == 1, rank
    assert "the checkpoint cannot be written: [Errno 27] File too large" in rank.stderr
    assert "Earlier checkpoints are whole" in rank.stderr
    found = [about(path) for path in kept.iterdir()]
    assert len(found) == 2
    assert max(each["steps"] for each in found) > 1200
    assert any(each["step"] for each in found)


def test_an_agent_that_is_stopped_gives_its_ranks_time_for_a_checkpoint(
    make_job: Callable[..., SimulatedJob], tmp_path: Path
) -> None:
    """The signal comes to the second host's agent alone."""
    checkpoints = tmp_path / "checkpoints"
    job = make_job(
        **{"hosts": 2, "PYTHONPATH": "", "LAUNCH_JOIN_TIMEOUT": "240"},
        LAUNCH_CHECKPOINT_DIR=str(checkpoints),
        LAUNCH_SOURCE_DIR=str(ENTRYPOINTS),
        LAUNCH_STOP_SECONDS="60",
    )
    arguments = ["--batch-size", "1", "--epochs", "90", "--model", "mlp", "--limit", "1200"]
    job.start_all(*arguments, script="train_image_classifier.py")
    job.until_said("progress: epoch 1/90, step ", SECONDS)
    job.agents[1].terminate()
    assert job.wait(SECONDS) == [143, 143], job.text()
    (line,) = job.said("stopped: SIGTERM on rank")
    assert f"is in {checkpoints}, and a run" in line
    (path,) = [path for path in checkpoints.iterdir() if "step" in path.name]
    assert about(path)["step"] > 0
    assert not job.processes_of_ranks()
