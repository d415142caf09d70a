"""Names that an image can have, by Docker's grammar."""

from __future__ import annotations

import pytest

from launchers.image.names import check_tag
from tests.refusals import refused

GOOD = ["a", "launch-horovod:0.1.0", "team/h_x/y--z", "Host.example:5000/a/b:V1", "[::1]:5000/x:1"]
BAD = ["Bad", "a b", "a:", "a:-x", "/a", "a/", "a..b", "a@sha256:0", "http://a/b", "é"]
BAD += [f"a:{'x' * 129}", "x" * 300, "_x/y", "-x/y", "../y", "a_/b", "my_:80/x"]


@pytest.mark.parametrize("tag", GOOD)
def test_a_name_of_an_image_is_taken(tag: str) -> None:
    check_tag(tag)


@pytest.mark.parametrize("tag", BAD)
def test_what_no_image_can_be_called_is_refused(tag: str) -> None:
    with refused("image-name", "--tag: .* expected NAME or NAME:TAG"):
        check_tag(tag)
