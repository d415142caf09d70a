"""Uploads in parts, as S3 takes them."""

from __future__ import annotations

import hashlib
import threading
import xml.etree.ElementTree as ET
from collections.abc import Callable
from typing import Any

from tests.fakes import s3_checksums
from tests.fakes.aws_wire import S3_NAMESPACE, elements, xml
from tests.fakes.clock import Clock
from tests.fakes.s3_wire import body_of, check_absent, checksum_headers, iso, kept_headers
from tests.fakes.stored_objects import Bucket, Files, Part, StoredObject, Upload, etag_of_parts
from tests.fakes.wire import Answer, Request, ServiceError

Operation = Callable[[Request, Bucket, str], Answer]
_NAME = f"{{{S3_NAMESPACE}}}"


class Uploads:
    """The operations on uploads.

    Attributes:
        smallest_part: Bytes that every part but the last must have. S3's own figure; a test
            with little data says less.
    """

    smallest_part = 5 << 20

    def __init__(self, files: Files, clock: Clock, lock: threading.RLock):
        self._files, self._clock, self._lock = files, clock, lock
        self._started = 0
        self.operations: dict[str, Operation] = {
            "CreateMultipartUpload": self._create,
            "UploadPart": self._part,
            "CompleteMultipartUpload": self._complete,
            "AbortMultipartUpload": self._abort,
            "ListMultipartUploads": self._list,
            "ListParts": self._list_parts,
        }

    def _create(self, request: Request, bucket: Bucket, key: str) -> Answer:
        algorithm = request.header("x-amz-checksum-algorithm").lower()
        if request.header("x-amz-checksum-type").upper() == "FULL_OBJECT":
            algorithm += "*"
        with self._lock:
            self._started += 1
            # As a real one: long, and no name that could be guessed from the one before.
            mark = hashlib.sha256(f"{bucket.name}/{key}/{self._started}".encode()).hexdigest()
            upload = Upload(mark, key, self._clock.now(), kept_headers(request), algorithm)
            bucket.uploads[mark] = upload
        told = {"Bucket": bucket.name, "Key": key, "UploadId": mark}
        answer = xml("InitiateMultipartUploadResult", elements(told), S3_NAMESPACE)
        if algorithm:
            answer.headers["x-amz-checksum-algorithm"] = algorithm.rstrip("*").upper()
        return answer

    def _part(self, request: Request, bucket: Bucket, key: str) -> Answer:
        upload = self._upload(request, bucket, key)
        number = int(request.query.get("partNumber", 0))
        if not 1 <= number <= 10_000:
            text = "Part number must be an integer between 1 and 10000, inclusive"
            raise ServiceError("InvalidArgument", text)
        data, trailers = body_of(request)
        checksums = s3_checksums.checked(request, data, trailers)
        md5 = hashlib.md5(data).digest()
        part = Part(number, self._files.keep(data), len(data), md5, self._clock.now(), checksums)
        with self._lock:
            upload.parts[number] = part
        said = {f"{s3_checksums.PREFIX}{name}": value for name, value in checksums.items()}
        return Answer(200, {"ETag": f'"{md5.hex()}"', **said})

    def _complete(self, request: Request, bucket: Bucket, key: str) -> Answer:
        upload = self._upload(request, bucket, key)
        parts = self._named_parts(request, upload)
        size = sum(part.size for part in parts)
        said_size = request.header("x-amz-mp-object-size")
        if said_size and int(said_size) != size:
            text = "The provided 'x-amz-mp-object-size' header value does not match."
            raise ServiceError("InvalidRequest", text)
        path = self._files.join([part.file for part in parts])
        checksums, composite = _joined(upload, parts)
        _check_joined(request, checksums)
        stored = StoredObject(
            key,
            path,
            size,
            etag_of_parts(parts),
            self._clock.now(),
            upload.headers,
            checksums,
            composite,
        )
        with self._lock:
            check_absent(request, bucket, key)
            bucket.objects[key] = stored
            del bucket.uploads[upload.id]
        told = {"Bucket": bucket.name, "Key": key, "ETag": f'"{stored.etag}"'}
        told |= {f"Checksum{name.upper()}": value for name, value in checksums.items()}
        answer = xml("CompleteMultipartUploadResult", elements(told), S3_NAMESPACE)
        answer.headers.update(checksum_headers(stored))
        return answer

    def _abort(self, request: Request, bucket: Bucket, key: str) -> Answer:
        upload = self._upload(request, bucket, key)
        with self._lock:
            del bucket.uploads[upload.id]
        return Answer(204)

    def _list(self, request: Request, bucket: Bucket, _: str) -> Answer:
        prefix = request.query.get("prefix", "")
        uploads = [one for one in bucket.uploads.values() if one.key.startswith(prefix)]
        entries = [
            {"Key": one.key, "UploadId": one.id, "Initiated": iso(one.started)}
            for one in sorted(uploads, key=lambda one: (one.key, one.started))
        ]
        told = {"Bucket": bucket.name, "Prefix": prefix, "IsTruncated": False, "Upload": entries}
        return xml("ListMultipartUploadsResult", elements(told), S3_NAMESPACE)

    def _list_parts(self, request: Request, bucket: Bucket, key: str) -> Answer:
        upload = self._upload(request, bucket, key)
        after, most = (
            int(request.query.get("part-number-marker", 0)),
            int(request.query.get("max-parts", 1000)),
        )
        parts = [part for number, part in sorted(upload.parts.items()) if number > after]
        entries = [
            {
                "PartNumber": part.number,
                "LastModified": iso(part.modified),
                "ETag": f'"{part.md5.hex()}"',
                "Size": part.size,
                **{f"Checksum{name.upper()}": value for name, value in part.checksums.items()},
            }
            for part in parts[:most]
        ]
        told: dict[str, Any] = {"Bucket": bucket.name, "Key": key, "UploadId": upload.id}
        told |= {"IsTruncated": len(parts) > most, "Part": entries}
        if len(parts) > most:
            told["NextPartNumberMarker"] = parts[most - 1].number
        return xml("ListPartsResult", elements(told), S3_NAMESPACE)

    def _upload(self, request: Request, bucket: Bucket, key: str) -> Upload:
        upload = bucket.uploads.get(request.query.get("uploadId", ""))
        if upload is None or upload.key != key:
            text = (
                "The specified upload does not exist. The upload ID may be invalid, or the "
                "upload may have been aborted or completed."
            )
            raise ServiceError("NoSuchUpload", text, 404)
        return upload

    def _named_parts(self, request: Request, upload: Upload) -> list[Part]:
        """The parts that the client lists, found to be those that it uploaded."""
        try:
            root = ET.fromstring(request.body.decode())
        except ET.ParseError:
            raise ServiceError("MalformedXML", "The XML you provided was not valid.") from None
        parts: list[Part] = []
        for element in root.iter(f"{_NAME}Part"):
            said = {child.tag.removeprefix(_NAME): child.text or "" for child in element}
            part = upload.parts.get(int(said.get("PartNumber", 0)))
            if part is None or said.get("ETag", "").strip('"') != part.md5.hex():
                raise _INVALID_PART
            for name, value in part.checksums.items():
                if said.get(f"Checksum{name.upper()}", value) != value:
                    raise _INVALID_PART
            if parts and part.number <= parts[-1].number:
                text = "The list of parts was not in ascending order."
                raise ServiceError("InvalidPartOrder", text)
            parts.append(part)
        if not parts:
            raise ServiceError("MalformedXML", "The XML you provided was not well-formed.")
        if any(part.size < self.smallest_part for part in parts[:-1]):
            text = "Your proposed upload is smaller than the minimum allowed size"
            raise ServiceError("EntityTooSmall", text)
        return parts


_INVALID_PART = ServiceError(
    "InvalidPart",
    "One or more of the specified parts could not be found. The part may not have been "
    "uploaded, or the specified entity tag may not match the part's entity tag.",
)


def _joined(upload: Upload, parts: list[Part]) -> tuple[dict[str, str], bool]:
    """The whole object's checksums, and whether they are those of its parts' checksums."""
    algorithm = upload.algorithm.rstrip("*")
    if not algorithm or not all(algorithm in part.checksums for part in parts):
        return {}, False
    if upload.algorithm.endswith("*"):
        whole = s3_checksums.of(algorithm, b"".join(part.file.read_bytes() for part in parts))
        return ({algorithm: whole} if whole else {}), False
    composite = s3_checksums.of_parts(algorithm, [part.checksums[algorithm] for part in parts])
    return ({algorithm: composite} if composite else {}), True


def _check_joined(request: Request, checksums: dict[str, str]) -> None:
    for name, value in checksums.items():
        said = request.header(s3_checksums.PREFIX + name)
        if said and said not in (value, value.partition("-")[0]):
            raise ServiceError("BadDigest", "The checksum you specified does not match.")
