"""What the fake Cloud Storage keeps besides what every object store does: generations, hashes."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import google_crc32c

from tests.fakes.google_wire import iso, refused
from tests.fakes.stored_objects import Bucket, StoredObject
from tests.fakes.wire import Request, ServiceError

FAILED_CONDITION = ServiceError(
    "conditionNotMet", "At least one of the pre-conditions you specified did not hold.", 412
)


@dataclass(frozen=True)
class GoogleObject(StoredObject):
    """An object. Its ``checksums`` are ``crc32c`` and ``md5``, in base64.

    Attributes:
        generation: A number that grows with every change of the object.
        metadata: The user's own.
    """

    generation: int = 1
    metadata: Mapping[str, str] = field(default_factory=dict)


@dataclass
class Session:
    """A resumable upload that goes on.

    Attributes:
        about: The metadata that it was started with.
        query: The query that it was started with, preconditions in it.
        chunks: What has come, each in a file.
        received: Bytes that have come.
        done: The object, once it is whole.
    """

    id: str
    about: Mapping[str, Any]
    query: Mapping[str, str]
    chunks: list[Path] = field(default_factory=list)
    received: int = 0
    done: GoogleObject | None = None


def hashes_of(data: bytes) -> dict[str, str]:
    """CRC32C and MD5 in base64, as Cloud Storage writes them."""
    crc = int(google_crc32c.value(data)).to_bytes(4, "big")
    return {
        "crc32c": base64.b64encode(crc).decode(),
        "md5": base64.b64encode(hashlib.md5(data).digest()).decode(),
    }


def check_hashes(true: Mapping[str, str], about: Mapping[str, Any], request: Request) -> None:
    """Compare with what the client says, in the object's metadata and in X-Goog-Hash.

    Raises:
        ServiceError: The bytes were changed on their way.
    """
    said = {"crc32c": about.get("crc32c"), "md5": about.get("md5Hash")}
    for part in request.header("X-Goog-Hash").split(","):
        name, _, value = part.strip().partition("=")
        said[name] = value or said.get(name)
    for name, value in said.items():
        if value and name in true and value != true[name]:
            text = (
                f"Provided {name.upper()} hash {value!r} doesn't match calculated {true[name]!r}."
            )
            raise refused("INVALID_ARGUMENT", text)


def check_generation(query: Mapping[str, str], found: StoredObject | None) -> None:
    """ifGenerationMatch and ifGenerationNotMatch; 0 stands for no object.

    Raises:
        ServiceError: 412.
    """
    generation = str(found.generation) if isinstance(found, GoogleObject) else "0"
    if query.get("ifGenerationMatch", generation) != generation:
        raise FAILED_CONDITION
    if query.get("ifGenerationNotMatch") == generation:
        raise FAILED_CONDITION


def resource_of(bucket: Bucket, stored: GoogleObject, url: str) -> dict[str, Any]:
    """The object's metadata."""
    quoted = stored.key.replace("/", "%2F")
    here = f"storage/v1/b/{bucket.name}/o/{quoted}"
    stamp = iso(stored.modified)
    resource: dict[str, Any] = {
        "kind": "storage#object",
        "id": f"{bucket.name}/{stored.key}/{stored.generation}",
        "selfLink": f"{url}/{here}",
        "mediaLink": f"{url}/download/{here}?generation={stored.generation}&alt=media",
        "name": stored.key,
        "bucket": bucket.name,
        "generation": str(stored.generation),
        "metageneration": "1",
        "contentType": stored.headers.get("Content-Type", "application/octet-stream"),
        "storageClass": "STANDARD",
        "size": str(stored.size),
        "md5Hash": stored.checksums["md5"],
        "crc32c": stored.checksums["crc32c"],
        "etag": stored.etag,
        "timeCreated": stamp,
        "updated": stamp,
    }
    if stored.metadata:
        resource["metadata"] = dict(stored.metadata)
    return resource


def bucket_resource(bucket: Bucket, number: str, url: str) -> dict[str, Any]:
    """The bucket's metadata."""
    return {
        "kind": "storage#bucket",
        "id": bucket.name,
        "name": bucket.name,
        "selfLink": f"{url}/storage/v1/b/{bucket.name}",
        "projectNumber": number,
        "location": bucket.region.upper(),
        "locationType": "region",
        "storageClass": "STANDARD",
        "metageneration": "1",
        "timeCreated": iso(bucket.created),
        "updated": iso(bucket.created),
        "iamConfiguration": {
            "uniformBucketLevelAccess": {"enabled": True},
            "publicAccessPrevention": "enforced",
        },
        "etag": "CAE=",
    }
