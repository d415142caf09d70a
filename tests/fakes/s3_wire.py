"""How S3 reads a request and writes what it keeps: places, headers, ranges, conditions."""

from __future__ import annotations

import re
import urllib.parse
from collections.abc import Callable
from datetime import datetime, timezone
from typing import Any

from tests.fakes import s3_checksums
from tests.fakes.stored_objects import Bucket, StoredObject
from tests.fakes.wire import Request, ServiceError

# What is kept with an object and given back with it.
_KEPT = ("content-type", "content-encoding", "cache-control", "x-amz-server-side-encryption")
_KEPT_PREFIXES = ("x-amz-meta-", "x-amz-server-side-encryption-")
# Settings of a bucket that are kept as they come.
SETTINGS = (
    "encryption",
    "publicAccessBlock",
    "versioning",
    "lifecycle",
    "tagging",
    "policy",
    "ownershipControls",
)
_OPERATIONS = {
    ("GET", "service"): "ListBuckets",
    ("GET", "bucket"): "ListObjectsV2",
    ("PUT", "bucket"): "CreateBucket",
    ("HEAD", "bucket"): "HeadBucket",
    ("GET", "location"): "GetBucketLocation",
    ("GET", "object"): "GetObject",
    ("HEAD", "object"): "HeadObject",
    ("PUT", "object"): "PutObject",
    ("DELETE", "object"): "DeleteObject",
    ("POST", "uploads"): "CreateMultipartUpload",
    ("GET", "uploads"): "ListMultipartUploads",
    ("PUT", "uploadId"): "UploadPart",
    ("GET", "uploadId"): "ListParts",
    ("POST", "uploadId"): "CompleteMultipartUpload",
    ("DELETE", "uploadId"): "AbortMultipartUpload",
}
# `NAME.localhost:PORT`, where the endpoint has a name; an address keeps the bucket in the path.
_VIRTUAL_HOST = re.compile(r"([a-z0-9][a-z0-9.-]+)\.localhost(?::\d+)?")


def place_of(request: Request) -> tuple[str, str]:
    """Bucket and key, each an empty string where there is none."""
    path = urllib.parse.unquote(request.path).removeprefix("/")
    if match := _VIRTUAL_HOST.fullmatch(request.header("Host")):
        return match[1], path
    bucket, _, key = path.partition("/")
    return bucket, key


def name_operation(request: Request) -> str:
    """``PutObject``, ``HeadBucket``, ...: from method, path and query."""
    bucket, key = place_of(request)
    setting = setting_of(request)
    if setting:
        verb = {"GET": "Get", "PUT": "Put", "DELETE": "Delete"}.get(request.method, "")
        return f"{verb}Bucket{setting[0].upper()}{setting[1:]}"
    kind = "object" if key else "bucket" if bucket else "service"
    for mark in ("uploadId", "uploads", "location"):
        if mark in request.query:
            kind = mark
    return _OPERATIONS.get((request.method, kind), f"{request.method} {kind}")


def setting_of(request: Request) -> str:
    """The setting of a bucket that the request is about, or an empty string."""
    bucket, key = place_of(request)
    known = [name for name in SETTINGS if name in request.query]
    return known[0] if known and bucket and not key else ""


def body_of(request: Request) -> tuple[bytes, dict[str, str]]:
    """The bytes that were sent, freed from ``aws-chunked``, and the headers that followed them."""
    if "aws-chunked" not in request.header("Content-Encoding"):
        return request.body, {}
    return s3_checksums.decode_chunks(request.body)


def kept_headers(request: Request) -> dict[str, str]:
    """What is kept with an object and given back with it."""
    kept = {
        name.lower(): str(value)
        for name, value in request.headers.items()
        if name.lower() in _KEPT or name.lower().startswith(_KEPT_PREFIXES)
    }
    encoding = kept.get("content-encoding", "").replace("aws-chunked", "").strip(", ")
    kept.pop("content-encoding", None)
    kept.setdefault("content-type", "binary/octet-stream")
    kept.setdefault("x-amz-server-side-encryption", "AES256")
    return {**kept, "content-encoding": encoding} if encoding else kept


def checksum_headers(stored: StoredObject) -> dict[str, str]:
    """The headers that tell an object's checksums."""
    if not stored.checksums:
        return {}
    kind = "COMPOSITE" if stored.composite else "FULL_OBJECT"
    said = {f"{s3_checksums.PREFIX}{name}": value for name, value in stored.checksums.items()}
    return {**said, "x-amz-checksum-type": kind}


FAILED_CONDITION = ServiceError(
    "PreconditionFailed", "At least one of the pre-conditions you specified did not hold", 412
)


def check_absent(request: Request, bucket: Bucket, key: str) -> None:
    """Refuse to replace an object, where the request asks for that (``If-None-Match: *``).

    Raises:
        ServiceError: There is one.
    """
    if request.header("If-None-Match") == "*" and key in bucket.objects:
        raise FAILED_CONDITION


def listed(stored: StoredObject, quote: Callable[[str], str]) -> dict[str, Any]:
    """An object's entry in a list."""
    return {
        "Key": quote(stored.key),
        "LastModified": iso(stored.modified),
        "ETag": f'"{stored.etag}"',
        "Size": stored.size,
        "StorageClass": "STANDARD",
    }


def iso(seconds: float) -> str:
    """A time as S3 writes it in XML."""
    text = datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%f")
    return f"{text[:-3]}Z"
