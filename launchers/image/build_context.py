"""What the engine gets for a build: the recipe's files, the host's settings and the user's file."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Mapping
from pathlib import Path

from launchers.image.host_settings import HostSettings
from launchers.image.own_requirements import names_package
from launchers.image.recipes import HOST_FOLDER, OWN_REQUIREMENTS, recipe_files


def files_of(folder: Path, recipe: str, requirements: bytes = b"") -> dict[str, bytes]:
    """The recipe's files with the user's own requirements; pins that those replace are left out."""
    files = recipe_files(folder, recipe)
    if requirements:
        files[OWN_REQUIREMENTS] = requirements
        if names_package(requirements, recipe):
            files["pins/framework.txt"] = b""
        pictures = files["pins/pictures.txt"].decode().splitlines(keepends=True)
        kept = [one for one in pictures if not names_package(requirements, _package(one))]
        files["pins/pictures.txt"] = "".join(kept).encode()
    return files


def _package(pin: str) -> str:
    """The project of a pin; a comment has none."""
    return pin.partition("==")[0].strip()


def context(files: Mapping[str, bytes], host: HostSettings) -> io.BytesIO:
    """The build context as a tar: the recipe's files, with the host's settings in ``host/``.

    Times and owners are fixed, so that the engine's cache sees the same bytes every time.
    """
    merged = dict(files)
    merged[f"{HOST_FOLDER}/pip.conf"] = host.pip_conf.encode()
    merged[f"{HOST_FOLDER}/ca.pem"] = host.ca_bundle
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for name in sorted(merged):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(merged[name]), 0o644
            archive.addfile(entry, io.BytesIO(merged[name]))
    stream.seek(0)
    return stream
