"""The bundle's way into S3: by one PUT, or in parts side by side.

An object appears in S3 when its one PUT or its last part is complete. What arrives is compared by
SHA-256 with what was sent, by S3 itself.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from launchers.core.cloud.upload import Progress, store_once
from launchers.core.source.bundle import SourceBundle
from launchers.sagemaker.service.session import AWS_ERRORS, Session, code_of

# Above this it goes in parts, side by side. S3 takes parts from 5 MB on (but for the last).
PART_BYTES = 16 * 1024**2
_PARTS_AT_ONCE = 4


def upload(
    session: Session,
    bundle: SourceBundle,
    place: str,
    progress: Progress = lambda done, total: None,
) -> bool:
    """Store ``bundle`` at ``place`` unless it is there. Safe to repeat; may block.

    Args:
        place: ``s3://BUCKET/KEY``; the key carries the bundle's hash.

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
    if file.stat().st_size > PART_BYTES:
        _send_in_parts(session, file, bucket, key, progress)
        return
    content = file.read_bytes()
    session.client("s3").put_object(
        Bucket=bucket, Key=key, Body=content, ChecksumSHA256=_checksum(content)
    )


def _send_in_parts(session: Session, file: Path, bucket: str, key: str, progress: Progress) -> None:
    client, total, arrived = session.client("s3"), file.stat().st_size, 0
    started = client.create_multipart_upload(Bucket=bucket, Key=key, ChecksumAlgorithm="SHA256")
    target = {"Bucket": bucket, "Key": key, "UploadId": started["UploadId"]}

    def send(part: tuple[int, int]) -> tuple[dict[str, Any], int]:
        number, offset = part
        with file.open("rb") as stream:
            stream.seek(offset)
            content = stream.read(PART_BYTES)
        checksum = _checksum(content)
        answer = client.upload_part(
            **target, PartNumber=number, Body=content, ChecksumSHA256=checksum
        )
        told = {"PartNumber": number, "ETag": answer["ETag"], "ChecksumSHA256": checksum}
        return told, len(content)

    try:
        parts = []
        with ThreadPoolExecutor(_PARTS_AT_ONCE) as pool:
            for told, size in pool.map(send, _offsets(total)):
                parts.append(told)
                arrived += size
                progress(arrived, total)
        whole = base64.b64encode(
            hashlib.sha256(
                b"".join(base64.b64decode(part["ChecksumSHA256"]) for part in parts)
            ).digest()
        ).decode()
        client.complete_multipart_upload(
            **target,
            MultipartUpload={"Parts": parts},
            ChecksumSHA256=f"{whole}-{len(parts)}",
        )
    except BaseException:
        _abort(client, target)
        raise


def _abort(client: Any, target: dict[str, Any]) -> None:
    """Parts that stay cost money; where even this fails, the bucket's own rules remove them."""
    try:
        client.abort_multipart_upload(**target)
    except AWS_ERRORS:
        return


def _offsets(total: int) -> Iterator[tuple[int, int]]:
    """(number from 1, offset) of each part."""
    for index in range(-(-total // PART_BYTES)):
        yield index + 1, index * PART_BYTES


def _checksum(content: bytes) -> str:
    return base64.b64encode(hashlib.sha256(content).digest()).decode()
