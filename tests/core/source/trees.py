"""Trees of files for the tests of the source bundle, and questions to what was scanned."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from pathlib import Path, PurePosixPath

from launchers.core.source.bundle import SourceBundle

Scanned = Callable[..., SourceBundle]


def plant(folder: Path, tree: Mapping[str, str | bytes]) -> Path:
    """Writes ``tree`` (path: content) below ``folder``, in the order given."""
    folder.mkdir(parents=True, exist_ok=True)
    for path, content in tree.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


def stream(bundle: SourceBundle) -> bytes:
    out = io.BytesIO()
    bundle.write_tar(out)
    return out.getvalue()


def user_files(bundle: SourceBundle) -> list[str]:
    return [file.name.removeprefix("src/") for file in bundle.files if file.name.startswith("src/")]


def left_out(bundle: SourceBundle) -> dict[str, str]:
    return {left.path: left.why for left in bundle.left_out}


def why_left_out(bundle: SourceBundle, path: str) -> str:
    """Of ``path`` or a folder above it; empty where it is not known."""
    wanted = PurePosixPath(path)
    of_it = {PurePosixPath(left): why for left, why in left_out(bundle).items()}
    return next((of_it[one] for one in (wanted, *wanted.parents) if one in of_it), "")
