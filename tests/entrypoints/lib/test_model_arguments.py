from __future__ import annotations

import pytest

from entrypoints.lib import arguments


def test_models_are_plain_without_a_word_and_take_what_is_given() -> None:
    plain = arguments.parse([])
    assert (plain.weights, plain.freeze, plain.dropout) == ("none", "none", 0.0)
    assert plain.precision == "float32"
    given = "--model efficientnetb0 --weights imagenet --freeze body --dropout 0.3 --precision auto"
    settings = arguments.parse(given.split())
    assert (settings.model, settings.weights) == ("efficientnetb0", "imagenet")
    assert (settings.freeze, settings.dropout, settings.precision) == ("body", 0.3, "auto")
    assert arguments.parse(["--weights", "a.h5", "--freeze", "12"]).freeze == 12


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["--model", "resnet"], "invalid choice: 'resnet'"),
        (["--weights", "imagenet"], "no ImageNet weights of --model cnn; take resnet50 or eff"),
        (["--weights", ""], "'': expected none, imagenet or a file"),
        (["--freeze", "body"], "--freeze: body, but the weights are fresh"),
        (["--weights", "a.h5", "--freeze", "0"], "'0': expected none, body or a number of layers"),
        (["--weights", "a.h5", "--freeze", "all"], "'all': expected none, body or a number"),
        (["--dropout", "1"], "'1': expected a number from 0 to below 1"),
        (["--dropout", "nan"], "'nan': expected a number from 0 to below 1"),
        (["--precision", "fp16"], "invalid choice: 'fp16'"),
    ],
)
def test_what_cannot_be_is_one_line(
    given: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        arguments.parse(given)
    line = capsys.readouterr().err
    assert words in line
    assert line.count("\n") == 1
