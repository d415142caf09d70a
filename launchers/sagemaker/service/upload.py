"""The bundle's way into S3: by one PUT, or in parts side by side.

An object appears in S3 when its one PUT or its last part is complete. What arrives is compared by
SHA-256 with what was sent, by S3 itself.
"""

from __future__ import annotations

from pathlib import Path
from threading import Lock
from typing import Any

from launchers.core.cloud.upload import Progress, store_once
from launchers.core.source.bundle import SourceBundle
from launchers.sagemaker.service.errors import AWS_ERRORS, code_of
from launchers.sagemaker.service.session import Session

# Above this it goes in parts, side by side. S3 takes parts from 5 MB on (but for the last).
PART_BYTES = 16 * 1024**2
_PARTS_AT_ONCE = 4


def upload(
    session: Session,
    bundle: SourceBundle,
    place: str,
    progress: Progress = lambda done, total: None,
    packing: Progress | None = None,
) -> bool:
    """Store ``bundle`` at ``place`` unless it is there. Safe to repeat; may block.

    Args:
        place: ``s3://BUCKET/KEY``; the key carries the bundle's hash.
        progress: Hears of bytes that have arrived.
        packing: Hears of the bytes of a large source that are compressed before.

    Returns:
        Whether anything was sent.

    Raises:
        LaunchError: S3 refuses it, or the source changed since it was read.
    """
    bucket, _, key = place.removeprefix("s3://").partition("/")
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
    try:
        session.client("s3").head_object(Bucket=bucket, Key=key)
    except AWS_ERRORS as error:
        # Without the right to list, S3 says 403 of what is not there: the upload will tell.
        if code_of(error) in ("404", "NoSuchKey", "403", "AccessDenied"):
            return False
        raise
    return True


def _send(session: Session, file: Path, bucket: str, key: str, progress: Progress) -> None:
    from s3transfer.manager import TransferConfig, TransferManager
    from s3transfer.subscribers import BaseSubscriber

    total, lock, arrived, told = file.stat().st_size, Lock(), 0, 0

    class Progressing(BaseSubscriber):  # type: ignore[misc] # s3transfer has no types
        def on_progress(self, bytes_transferred: int, **_: Any) -> None:
            """Called by each part's thread; below 0 before a part is sent again."""
            nonlocal arrived, told
            with lock:
                arrived += bytes_transferred
                if told < arrived < total:
                    told = arrived
                    progress(told, total)

    config = TransferConfig(
        multipart_threshold=PART_BYTES + 1,
        multipart_chunksize=PART_BYTES,
        max_request_concurrency=_PARTS_AT_ONCE,
    )
    # Left by an error or an interrupt, it has S3 forget the parts that have arrived.
    with TransferManager(session.client("s3"), config) as manager:
        sha256 = {"ChecksumAlgorithm": "SHA256"}
        manager.upload(str(file), bucket, key, sha256, [Progressing()]).result()
