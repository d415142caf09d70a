"""Trees of files for the tests of the source bundle, and questions to what was scanned."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from pathlib import Path

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
