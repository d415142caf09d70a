"""S3's checksums: what a client says of its bytes, and what is true.

Source: AWS, "Checking object integrity in Amazon S3". CRC32C and CRC64NVME are kept as they were
sent: the standard library has neither, and boto3 sends them only with another package.
"""

from __future__ import annotations

import base64
import hashlib
import zlib
from collections.abc import Callable, Mapping, Sequence

from tests.fakes.wire import Request, ServiceError

PREFIX = "x-amz-checksum-"
ALGORITHMS = ("crc32", "crc32c", "crc64nvme", "sha1", "sha256")

_OF_BYTES: Mapping[str, Callable[[bytes], bytes]] = {
    "crc32": lambda data: zlib.crc32(data).to_bytes(4, "big"),
    "sha1": lambda data: hashlib.sha1(data).digest(),
    "sha256": lambda data: hashlib.sha256(data).digest(),
}


def of(algorithm: str, data: bytes) -> str | None:
    """The checksum of ``data`` in base64, or None where it cannot be computed here."""
    compute = _OF_BYTES.get(algorithm)
    return base64.b64encode(compute(data)).decode() if compute else None


def checked(request: Request, data: bytes, trailers: Mapping[str, str]) -> dict[str, str]:
    """What the request says of its body, algorithm -> base64, found to be true.

    Raises:
        ServiceError: It is not: the body was changed on its way.
    """
    said_md5 = request.header("Content-MD5")
    if said_md5 and said_md5 != base64.b64encode(hashlib.md5(data).digest()).decode():
        text = "The Content-MD5 you specified did not match what we received."
        raise ServiceError("BadDigest", text)
    said = {
        name: request.header(PREFIX + name) or trailers.get(PREFIX + name, "")
        for name in ALGORITHMS
    }
    said = {name: value for name, value in said.items() if value}
    for name, value in said.items():
        if of(name, data) not in (None, value):
            text = f"The {name.upper()} you specified did not match the calculated checksum."
            raise ServiceError("BadDigest", text)
    return said


def of_parts(algorithm: str, checksums: Sequence[str]) -> str | None:
    """The composite checksum of an object that was uploaded in parts: of theirs, and how many."""
    joined = of(algorithm, b"".join(base64.b64decode(one) for one in checksums))
    return f"{joined}-{len(checksums)}" if joined else None


def decode_chunks(body: bytes) -> tuple[bytes, dict[str, str]]:
    """The bytes and the trailing headers of a body that came as ``aws-chunked``.

    Raises:
        ServiceError: It is not whole.
    """
    data, position = bytearray(), 0
    try:
        while True:
            end = body.index(b"\r\n", position)
            size = int(body[position:end].split(b";")[0], 16)
            position = end + 2
            if size == 0:
                break
            data += body[position : position + size]
            if body[position + size : position + size + 2] != b"\r\n":
                raise ValueError("a chunk is cut")
            position += size + 2
    except ValueError:
        raise ServiceError("IncompleteBody", "The request body terminated unexpectedly") from None
    trailers = {}
    for line in body[position:].decode().split("\r\n"):
        name, colon, value = line.partition(":")
        if colon:
            trailers[name.strip().lower()] = value.strip()
    return bytes(data), trailers
