"""The object store that a rehearsal puts beside the containers: a container of its own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from launchers.core.model.containers import OBJECT_STORE_HOST, Container

_PROGRAM = Path(__file__).with_name("object_store.py")


def object_store(image: str, objects: Mapping[str, Path]) -> Container:
    """The container that serves ``objects``; ``image`` must have python3.

    Args:
        objects: ``bucket/key`` -> file of this machine.
    """
    files: dict[str, bytes | Path] = {
        f"/launch/objects/{key}": content for key, content in objects.items()
    }
    return Container(
        name=OBJECT_STORE_HOST,
        hostname=OBJECT_STORE_HOST,
        image=image,
        entrypoint=("python3", "/launch/object_store.py", "/launch/objects"),
        command=(),
        environment={},
        files={"/launch/object_store.py": _PROGRAM, **files},
    )
