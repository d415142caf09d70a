from __future__ import annotations

import pytest
from lib import arguments


def test_augmentation_has_defaults_and_takes_what_is_given() -> None:
    settings = arguments.parse(["--data", "augment:there"])
    assert (settings.augment, settings.scheduler) == (("crop", "flip"), None)
    given = ["--data", "augment:there", "--augment", "color", "--scheduler", "tls://a:1"]
    settings = arguments.parse([*given, "--predict-copies", "3"])
    assert (settings.augment, settings.scheduler) == (("color",), "tls://a:1")
    assert settings.predict_copies == 3


def test_a_model_augments_what_is_asked_for_where_dask_does_not() -> None:
    assert arguments.parse([]).augment_in_model == ()
    settings = arguments.parse(["--augment", "zoom,flip"])
    assert settings.augment_in_model == settings.augment == ("zoom", "flip")
    settings = arguments.parse(["--data", "augment:there", "--augment", "zoom"])
    assert (settings.augment_in_model, settings.augment) == ((), ("zoom",))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["--scheduler", "tcp://a:1"], "--data digits needs no Dask"),
        (["--augment", "crop,twist"], "expected one or several of crop, flip, rotate, zoom, color"),
        (["--data", "augment:x", "--scheduler", "there"], "expected tcp://HOST:PORT"),
        (["--predict-copies", "-1"], "expected a whole number"),
    ],
)
def test_a_value_that_cannot_be_is_one_line(
    given: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        arguments.parse(given)
    assert words in capsys.readouterr().err
