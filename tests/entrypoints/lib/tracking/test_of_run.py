"""What a run of the scripts tells, by whom, and how its end is named."""

from __future__ import annotations

from typing import Any

import pytest

from entrypoints.lib import arguments
from entrypoints.lib.errors import PeerEndedError, StoppedError, TrainingError
from entrypoints.lib.tracking import makers, of_run
from entrypoints.lib.tracking.of_run import Tracking
from entrypoints.lib.tracking.records import as_text


class Told:
    """Keeps each call."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []

    def __getattr__(self, name: str) -> Any:
        return lambda *given: self.calls.append((name, *given))


class RanksOfTwo:
    """One rank of two that run on hosts a and b."""

    size = 2

    def __init__(self, rank: int):
        self.first = rank == 0

    def on_first(self, attempt: Any) -> Any:
        return attempt() if self.first else None

    def gather(self, value: Any) -> list[Any]:
        return ["a", "b"]


ENDS = [
    (None, "FINISHED", None),
    (StoppedError("at step 3"), "KILLED", 1.0),
    (KeyboardInterrupt(), "KILLED", 1.0),
    (TrainingError("no disk"), "FAILED", 5.0),
    (PeerEndedError("rank 1"), "FAILED", 5.0),
    (ValueError("a defect"), "FAILED", 5.0),
]


@pytest.mark.parametrize(("error", "status", "seconds"), ENDS)
def test_a_run_that_does_not_finish_ends_as_what_ended_it(
    error: BaseException | None, status: str, seconds: float | None
):
    told = Told()
    with pytest.raises(type(error)) if error else Tracking(told), Tracking(told):
        if error:
            raise error
    assert told.calls[0] == ("end", status, seconds)


def test_a_run_that_finished_is_ended_once_with_its_measures_and_its_model():
    told = Told()
    measures = {"test_accuracy": 0.9, "test_loss": 0.1, "training_seconds": 3.0}
    with Tracking(told) as tracking:
        tracking.epoch_ended(1, 10, {"loss": 0.5}, 0.01)
        tracking.finished(10, {**measures, "world_size": 2, "history": []}, "/m/model.keras")
    assert told.calls == [
        ("metrics", 10, {"loss": 0.5, "learning_rate": 0.01, "epoch": 1}),
        ("metrics", 10, measures),
        ("file", "/m/model.keras"),
        ("end", "FINISHED"),
    ]


@pytest.mark.parametrize("rank", [0, 1])
def test_the_first_rank_alone_tells_settings_tags_and_world(
    monkeypatch: pytest.MonkeyPatch, rank: int
):
    told = Told()
    made: list[tuple[Any, ...]] = []
    monkeypatch.setattr(makers, "make", lambda *given: made.append(given) or told)
    monkeypatch.setenv("LAUNCH_TAGS", '{"provider": "local"}')
    words = ["--track", "mlflow", "--track-wait", "7", "--batch-size", "16", "--sync", "average:5"]
    settings = arguments.parse(words)
    tracking = of_run.tracking(settings, RanksOfTwo(rank), "/m", "/c")  # type: ignore[arg-type]
    assert told.calls == []  # a start that its checkpoint refuses has told nobody
    tracking.begins()
    if rank:
        assert (made, told.calls) == ([], [])
        return
    assert made == [(("mlflow",), "/m", "/c", 7)]
    begin, tags = told.calls
    assert begin[1].items() >= {"batch_size": 16, "total_batch_size": 32, "world_size": 2}.items()
    assert "track" not in begin[1]
    assert as_text(begin[1])["sync"] == "average:5"
    assert begin[2]["launch.provider"] == "local"
    assert tags[1]["launch.proof.ranks"] == "a: 0; b: 1"


WRONG = [
    (["--track", "wandb"], "expected one or several of mlflow, tensorboard, with commas"),
    (["--track", "mlflow,mlflow"], "'mlflow,mlflow': expected one or several"),
    (["--track-wait", "5"], "nothing is tracked; add --track or leave it out"),
]


@pytest.mark.parametrize(("words", "told"), WRONG)
def test_a_wrong_word_is_answered(words: list[str], told: str, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as ended:
        arguments.parse(words)
    assert ended.value.code == 2
    assert told in capsys.readouterr().err
