from __future__ import annotations

import pytest

from entrypoints.lib import arguments
from entrypoints.lib.data.kinds import KINDS
from entrypoints.lib.options.training import SGD_LEARNING_RATE


def complaint(argv: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as ended:
        arguments.parse(argv)
    assert ended.value.code == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    return captured.err


@pytest.fixture(autouse=True)
def _no_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HOROVOD_RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("data", KINDS)
def test_without_arguments_every_setting_has_the_data_sets_default(data: str) -> None:
    settings = arguments.parse(["--data", f"{data}:name" if data == "tfds" else data])
    defaults = KINDS[data].defaults
    assert settings.data == data
    assert settings.epochs == defaults.epochs
    assert settings.batch_size == defaults.batch_size
    assert settings.learning_rate == defaults.learning_rate
    assert settings.model == defaults.model
    assert (settings.lr_scaling, settings.warmup_epochs) == ("none", 0)


@pytest.mark.parametrize(
    ("argv", "field", "expected"),
    [
        (["--lr-scaling", "linear"], "warmup_epochs", 3),
        (["--lr-scaling", "sqrt", "--epochs", "2"], "warmup_epochs", 1),
        (["--lr-scaling", "linear", "--epochs", "1"], "warmup_epochs", 0),
        (["--lr-scaling", "linear", "--warmup-epochs", "0"], "warmup_epochs", 0),
        (["--optimizer", "sgd"], "learning_rate", SGD_LEARNING_RATE),
        (["--optimizer", "sgd", "--lr", "0.1"], "learning_rate", 0.1),
        (["--max-steps-per-epoch", "7"], "max_steps", 7),
        (["--data", "parquet:s3://bucket/a"], "place", "s3://bucket/a"),
        (["--data", "parquet:/a:b"], "place", "/a:b"),
        (["--data", "images"], "place", None),
        (["--data", "parquet", "--data-dir", "/d"], "data_dir", "/d"),
        (["--data", "tfds:food101", "--data-dir", "/d"], "place", "food101"),
        (["--data", "parquet", "--read-ahead", "64"], "read_ahead", 64),
        (["--data", "parquet"], "shuffle_groups", 16),
        (["--image-size", "64"], "image_size", (64, 64)),
        (["--image-size", "320x240"], "image_size", (320, 240)),
        (["--image-size", "320X240"], "image_size", (320, 240)),
    ],
)
def test_settings_follow_from_what_is_given(argv: list[str], field: str, expected: float) -> None:
    assert getattr(arguments.parse(argv), field) == expected


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        (["--epochs", "-1"], "--epochs: '-1': expected a whole number, at least 1"),
        (["--epochs", "0"], "--epochs: '0': expected a whole number, at least 1"),
        (["--epochs", "3.5"], "--epochs: '3.5': expected a whole number"),
        (["--batch-size", "0"], "--batch-size: '0': expected"),
        (["--lr", "0"], "--lr: '0': expected a number above 0"),
        (["--lr", "nan"], "--lr: 'nan': expected a number above 0"),
        (["--lr", "fast"], "--lr: 'fast': expected a number above 0"),
        (["--seed", "4294967296"], "--seed: '4294967296': expected a whole number, from 0 to"),
        (["--data", "cifar"], "'cifar': no such kind; expected one of digits, fashion-mnist,"),
        (["--data", "cifar"], "did you mean cifar10?"),
        (["--data", "parquet:"], "'parquet:': expected parquet:PLACE"),
        (["--data", "tfds"], "'tfds': expected tfds:NAME"),
        (["--data", "digits:/d"], "'digits:/d': expected nothing behind digits"),
        (["--data", "cifar10:/d"], "for a folder add --data-dir"),
        (["--data", "images:/a", "--data-dir", "/b"], "--data images:/a names the place already"),
        (["--data", "images:/a", "--read-ahead", "9"], "--data images is not read in row groups"),
        (["--shuffle-groups", "9"], "leave --shuffle-groups out"),
        (["--data", "parquet:/a", "--limit", "9"], "use --max-steps-per-epoch"),
        (["--image-size", "0"], "'0': expected pixels from 1 to 8192, such as 224 or 320x240"),
        (["--image-size", "1x2x3"], "'1x2x3': expected pixels"),
        (["--image-size", "9x"], "'9x': expected pixels"),
        (["--remainder", "join"], "invalid choice: 'join'"),
        (["--decode", "fast"], "invalid choice: 'fast'"),
        (["--checkpoint-steps", "0"], "--checkpoint-steps: '0': expected"),
        (["--optimizer", "lamb"], "invalid choice: 'lamb'"),
        (["--warmup-epochs", "2"], "--lr-scaling is none"),
        (["--lr-scaling", "linear", "--warmup-epochs", "9", "--epochs", "4"], "more than the 4"),
        (["--data-dir", "/d"], "add --data fashion-mnist"),
        (["--epoch", "3"], "unknown argument --epoch; did you mean --epochs?"),
        (["--learning-rate=1"], "unknown argument --learning-rate=1"),
        (["train"], "unknown argument train"),
    ],
)
def test_an_impossible_value_is_told_with_what_is_possible(
    argv: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    line = complaint(argv, capsys)
    assert expected in line
    assert line.count("\n") == 1


def test_rank_0_alone_complains_and_every_rank_has_its_exit_code(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    waited: list[bool] = []
    monkeypatch.setattr(arguments, "leave_after_speaker", lambda: waited.append(True))
    monkeypatch.setenv("HOROVOD_RANK", "1")
    assert complaint(["--epochs", "0"], capsys) == ""
    assert waited == [True]
    monkeypatch.setenv("HOROVOD_RANK", "0")
    assert "--epochs" in complaint(["--epochs", "0"], capsys)
    assert waited == [True]


def test_help_names_every_option_with_its_default(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        arguments.parse(["--help"])
    assert ended.value.code == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "default 10 for digits, 5 for others" in text
    assert "digits, fashion-mnist, mnist-files:FOLDER, cifar10, tfds:NAME, images:FOLDER" in text
    assert "LAUNCH_CHECKPOINT_DIR" in text
