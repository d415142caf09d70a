"""What not every script does is refused in one line that names a script with more."""

from __future__ import annotations

import pytest

from entrypoints.lib import limits
from entrypoints.lib.arguments import parse
from entrypoints.lib.errors import TrainingError

REFUSED = [
    (
        ["--sync", "average:4"],
        "--sync average:4: not in this script; leave it out, or use other.py",
    ),
    (["--compression", "fp16"], "--compression fp16: not"),
    (["--backward-passes", "2"], "--backward-passes 2: not"),
    (["--divide", "epochs", "--epochs", "4"], "--divide epochs: not"),
    (["--data", "mnist-files:/x", "--augment", "flip"], "--augment flip: not"),
]


@pytest.mark.parametrize(("words", "expected"), REFUSED)
def test_what_a_script_has_not_is_named_with_one_that_has_it(
    words: list[str], expected: str
) -> None:
    with pytest.raises(TrainingError) as refused:
        limits.check(parse(words), limits.ONE_EXCHANGE, limits.PLAIN_MODELS, instead="other.py")
    assert str(refused.value).startswith(expected)


def test_what_is_fixed_in_a_script_may_be_said() -> None:
    limits.check(parse(["--sync", "allreduce"]), limits.ONE_EXCHANGE, limits.PLAIN_MODELS)
    with pytest.raises(TrainingError, match=r"or use train_image_classifier\.py$"):
        limits.check(parse(["--sync", "adasum"]), limits.ONE_EXCHANGE)
