"""The bundle's way into an object store: under its hash, once, whole or not at all.

An object appears when its upload is complete, so a broken one leaves nothing under the name. How a
store is asked and fed, and by which checksum it compares what arrives, is the provider's knowledge.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from launchers.core.cloud.errors import Cloud
from launchers.core.source.bundle import SourceBundle

# Bytes that have arrived, and bytes in all.
Progress = Callable[[int, int], None]


def store_once(
    cloud: Cloud,
    bundle: SourceBundle,
    place: str,
    is_there: Callable[[], bool],
    send: Callable[[Path, Progress], None],
    progress: Progress,
    packing: Progress | None = None,
) -> bool:
    """Store ``bundle`` at ``place`` unless it is there. Safe to repeat; may block.

    Args:
        place: The object's address, which carries the bundle's hash.
        is_there: Whether the store has the object.
        send: Stores a file there, and tells of bytes that have arrived.
        progress: Hears of those.
        packing: Hears of the bytes of a large source that are compressed before.

    Returns:
        Whether anything was sent.

    Raises:
        LaunchError: The store refuses it, or the source changed since it was read.
    """
    try:
        if is_there():
            return False
        with tempfile.TemporaryDirectory(prefix="launch-bundle-") as folder:
            file = Path(folder) / "sourcedir.tar.gz"
            bundle.write_tar_gz(file, packing)
            total = file.stat().st_size
            progress(0, total)
            try:
                send(file, progress)
            except cloud.errors:
                # The answer to the last request may have been lost, and the object be whole.
                if not is_there():
                    raise
            progress(total, total)
    except cloud.errors as error:
        # A connection that was lost says nothing of the bucket.
        passing = cloud.is_passing(error)
        fix = "" if passing else "check --bucket and the caller's right to write to it"
        raise cloud.refused(error, place, fix) from None
    return True
