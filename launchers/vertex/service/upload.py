"""The bundle's way into Cloud Storage: one object, in pieces where it is large.

What arrives is compared by its CRC32C with what was sent, by Cloud Storage itself.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from contextlib import suppress
from io import BufferedReader, FileIO
from pathlib import Path

from google.api_core.exceptions import Forbidden, PreconditionFailed

from launchers.core.cloud.errors import with_retries
from launchers.core.cloud.upload import Progress, store_once
from launchers.core.source.bundle import SourceBundle
from launchers.vertex.service.session import GOOGLE_ERRORS, TIMEOUT_SECONDS, Session, is_missing

# Above 8 MB Cloud Storage's client sends in pieces of this size (a multiple of 256 KB).
PIECE_BYTES = 8 * 1024**2


def upload(
    session: Session,
    bundle: SourceBundle,
    place: str,
    progress: Progress = lambda done, total: None,
    packing: Progress | None = None,
) -> bool:
    """Store ``bundle`` at ``place`` unless it is there. Safe to repeat; may block.

    Args:
        place: ``gs://BUCKET/KEY``; the key carries the bundle's hash.
        progress: Hears of bytes that have arrived.
        packing: Hears of the bytes of a large source that are compressed before.

    Returns:
        Whether anything was sent.

    Raises:
        LaunchError: Cloud Storage refuses it, or the source changed since it was read.
    """
    bucket, _, key = place.removeprefix("gs://").partition("/")
    return store_once(
        session,
        bundle,
        place,
        is_there=lambda: _is_there(session, bucket, key),
        send=lambda file, tell: _send(session, file, bucket, key, tell),
        progress=progress,
        packing=packing,
    )


def _is_there(session: Session, bucket: str, key: str) -> bool:
    blob = session.storage().bucket(bucket).blob(key)
    try:
        with_retries(session, lambda: blob.reload(timeout=TIMEOUT_SECONDS, retry=None))
    except Forbidden:
        # Without the right to read, it is not said: the upload will tell.
        return False
    except GOOGLE_ERRORS as error:
        if is_missing(error):
            return False
        raise
    return True


def _send(session: Session, file: Path, bucket: str, key: str, progress: Progress) -> None:
    from google.cloud.storage.retry import DEFAULT_RETRY

    total = file.stat().st_size
    blob = session.storage().bucket(bucket).blob(key, chunk_size=PIECE_BYTES)
    # Cloud Storage refuses what does not have it.
    blob.crc32c = _crc32c(file)
    with (
        # Somebody else was quicker, or the answer to an earlier attempt was lost.
        suppress(PreconditionFailed),
        _Watched(file, lambda done: progress(done, total)) as stream,
    ):
        blob.upload_from_file(
            stream,
            size=total,
            content_type="application/gzip",
            if_generation_match=0,
            timeout=TIMEOUT_SECONDS,
            checksum="crc32c",
            retry=DEFAULT_RETRY.with_delay(initial=0.5),
        )


class _Watched(BufferedReader):
    """A file that tells how much of it has been read; never less than before, and all of it only
    when it has arrived."""

    def __init__(self, file: Path, tell: Callable[[int], None]):
        super().__init__(FileIO(file, "r"))
        self._tell, self._most, self._total = tell, 0, file.stat().st_size

    def read(self, size: int | None = -1, /) -> bytes:
        """See :class:`BufferedReader`."""
        content = super().read(size)
        done = self.tell()
        if self._most < done < self._total:
            self._most = done
            self._tell(done)
        return content


def _crc32c(file: Path) -> str:
    """The checksum as Cloud Storage writes it: base64 of four bytes, the highest first."""
    import google_crc32c

    value = 0
    with file.open("rb") as stream:
        while content := stream.read(1 << 20):
            value = google_crc32c.extend(value, content)
    return base64.b64encode(value.to_bytes(4, "big")).decode()
