"""What the flags of the exchange mean, and which of them go together."""

from __future__ import annotations

import re

import pytest

from entrypoints.lib import arguments, sync
from entrypoints.lib.data.position import with_seed
from entrypoints.lib.errors import TrainingError
from entrypoints.lib.plan import Plan, plan_epochs
from entrypoints.lib.sync import Sync


@pytest.fixture(autouse=True)
def _no_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HOROVOD_RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("text", "expected", "due"),
    [
        ("allreduce", Sync("allreduce"), []),
        ("adasum", Sync("adasum"), []),
        ("average:1", Sync("average", 1), [1, 2, 3, 4, 5, 6]),
        ("average:3", Sync("average", 3), [3, 6]),
        ("average:epoch", Sync("average"), []),
    ],
)
def test_a_way_is_read_written_and_due_at_its_steps(
    text: str, expected: Sync, due: list[int]
) -> None:
    found = arguments.parse(["--sync", text]).sync
    assert found == expected
    assert str(found) == text
    assert [step for step in range(1, 7) if found.is_due(step)] == due
    assert found.averages == text.startswith("average")


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["--sync", "mean"], "'mean': expected allreduce, adasum, average:K (steps) or average:"),
        (["--sync", "average"], "'average': expected"),
        (["--sync", "average:"], "'average:': expected"),
        (["--sync", "average:0"], "'average:0': expected"),
        (["--sync", "average:-1"], "'average:-1': expected"),
        (["--sync", "average:1.5"], "'average:1.5': expected"),
        (["--sync", "average:²"], "expected allreduce"),
        (["--sync", "adasum:2"], "'adasum:2': expected"),
        (["--sync", "average:4", "--compression", "fp16"], "--sync average:4 exchanges parameters"),
        (["--sync", "average:4", "--backward-passes", "2"], "take a larger K, or --sync allreduce"),
        (["--sync", "adasum", "--backward-passes", "2"], "take a larger --batch-size, or --sync"),
        (["--backward-passes", "4", "--checkpoint-steps", "6"], "--backward-passes 4, and a check"),
        (["--backward-passes", "4", "--checkpoint-steps", "6"], "take 8"),
        (["--backward-passes", "0"], "expected a whole number, at least 1"),
        (["--compression", "int8"], "invalid choice: 'int8'"),
        (["--divide", "batches"], "invalid choice: 'batches'"),
    ],
)
def test_what_does_not_go_together_is_refused_with_what_does(
    argv: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        arguments.parse(argv)
    assert ended.value.code == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("extra", [[], ["--compression", "fp16"]])
def test_adasum_goes_with_16_bits(extra: list[str]) -> None:
    assert arguments.parse(["--sync", "adasum", *extra]).sync.kind == "adasum"


def test_divided_epochs_are_each_ranks_share_and_it_reads_every_sample() -> None:
    given = arguments.parse(["--divide", "epochs", "--epochs", "12", "--lr-scaling", "linear"])
    settings = sync.of_ranks(given, 4)
    assert (settings.epochs, settings.warmup_epochs) == (3, 2)
    assert plan_epochs(settings, 1438, 4) == Plan(1438, 45, 4 * 1438)
    assert len({sync.seed_of(settings, rank) for rank in range(4)}) == 4
    assert sync.seed_of(settings, 0) == settings.seed
    undivided = arguments.parse(["--epochs", "12"])
    assert sync.of_ranks(undivided, 5) is undivided
    assert {sync.seed_of(undivided, rank) for rank in range(4)} == {undivided.seed}


@pytest.mark.parametrize(
    ("epochs", "ranks", "fix"),
    [(10, 4, "--epochs 8 or 12"), (3, 4, "--epochs 4,"), (5, 2, "--epochs 4 or 6")],
)
def test_epochs_that_do_not_divide_are_refused_with_the_next_that_do(
    epochs: int, ranks: int, fix: str
) -> None:
    given = arguments.parse(["--divide", "epochs", "--epochs", str(epochs)])
    with pytest.raises(TrainingError, match=re.escape(fix)):
        sync.of_ranks(given, ranks)


def test_an_epoch_has_whole_optimizer_steps() -> None:
    settings = arguments.parse(["--backward-passes", "4", "--batch-size", "32"])
    assert plan_epochs(settings, 1438, 2) == Plan(640, 20, 1280)
    with pytest.raises(TrainingError, match="an epoch has 23 batches on each rank"):
        plan_epochs(arguments.parse(["--backward-passes", "24", "--batch-size", "32"]), 1438, 2)


@pytest.mark.parametrize("horovod", ["0.23.0", "0.24.3"])
def test_a_horovod_that_would_step_by_a_ranks_own_passes_is_refused(horovod: str) -> None:
    settings = arguments.parse(["--backward-passes", "2"])
    with pytest.raises(TrainingError, match=rf"^--backward-passes 2: Horovod {horovod} would"):
        sync.check_passes(settings, horovod)
    sync.check_passes(arguments.parse([]), horovod)
    for later in ("0.25.0", "0.28.1", "1.0", "0.28.1+cpu"):
        sync.check_passes(settings, later)


def test_a_place_in_the_data_is_kept_with_another_ranks_order() -> None:
    assert with_seed({"seed": 1, "epoch": 2}, 9) == {"seed": 9, "epoch": 2}
    streamed = {"position": {"seed": 1, "epoch": 2}, "step": 3}
    assert with_seed(streamed, 9) == {"position": {"seed": 9, "epoch": 2}, "step": 3}
    assert with_seed({"epoch": 2}, 9) == {"epoch": 2}
