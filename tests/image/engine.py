"""The real engine for a test: images of its own, gone afterwards."""

from __future__ import annotations

import contextlib
import io
import tarfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any

from launchers.docker.engine import engine

# Marks what a recipe of a test leaves in the engine's cache.
LABEL = "launch.test"


@contextmanager
def own_tag() -> Iterator[tuple[Any, str]]:
    """A client, and a tag that no other test has; what got the tag is removed, by all its names."""
    client = engine(timeout=120)
    tag = f"launch-test-{uuid.uuid4().hex[:8]}:x"
    try:
        yield client, tag
    finally:
        _remove(client, tag)
        _prune(client)
        client.close()


def _remove(client: Any, tag: str) -> None:
    import docker.errors

    with contextlib.suppress(docker.errors.ImageNotFound):
        # A registry of a test is on the loopback.
        names = [name for name in client.images.get(tag).tags if name.startswith("127.0.0.1:")]
        for name in [*names, tag]:
            client.images.remove(name, force=True)


def _prune(client: Any) -> None:
    import docker.errors

    try:
        client.images.prune(filters={"dangling": True, "label": LABEL})
    except docker.errors.APIError as error:
        if error.status_code != HTTPStatus.CONFLICT:  # somebody else prunes now
            raise


def tiny_image(client: Any, tag: str, *labels: str) -> None:
    """An image of one small file and no program, under ``tag``, with these KEY=VALUE."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        entry = tarfile.TarInfo("file")
        # Its own content, so that its digest is no other test's.
        content = tag.encode()
        entry.size = len(content)
        archive.addfile(entry, io.BytesIO(content))
    repository, _, label = tag.partition(":")
    client.api.import_image_from_data(
        stream.getvalue(),
        repository=repository,
        tag=label,
        changes=[f"LABEL {one}" for one in labels],
    )


def derived_image(client: Any, tag: str, base: str, *commands: str) -> None:
    """``base`` with commands run in it, under ``tag``."""
    dockerfile = f"FROM {base}\n" + "".join(f"RUN {command}\n" for command in commands)
    client.images.build(fileobj=io.BytesIO(dockerfile.encode()), tag=tag, rm=True, forcerm=True)
