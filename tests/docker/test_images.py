"""Listing images while others remove some."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from launchers.docker.images import images_of
from launchers.image import names
from tests.image.engine import own_tag, tiny_image

pytestmark = pytest.mark.docker


def test_images_are_found_by_all_their_labels() -> None:
    with own_tag() as (client, tag):
        one = f"launch.test.one={uuid.uuid4().hex}"
        tiny_image(client, tag, one, "launch.test.other=1")
        made = client.images.get(tag).id

        assert [image.id for image in images_of(client, [one, "launch.test.other"])] == [made]
        assert not list(images_of(client, [one, "launch.test.none"]))
        assert made in {image.id for image in images_of(client)}


def test_an_image_that_is_removed_while_they_are_listed_is_passed_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with own_tag() as (client, tag):
        tiny_image(client, tag, f"{names.RECIPE_LABEL}=x", f"{names.GPU_LABEL}=1")
        made, listing = client.images.get(tag).id, client.api.images

        def removed_then(**asked: Any) -> Any:
            listed = listing(**asked)
            assert made in {one["Id"] for one in listed}
            client.images.remove(tag)
            return listed

        monkeypatch.setattr(client.api, "images", removed_then)

        assert names.default_image(client, gpu=True) != tag
