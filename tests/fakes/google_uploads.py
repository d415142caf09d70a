"""Uploads to the fake Cloud Storage: in one request, or resumable and in chunks."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.fakes.google_buckets import (
    GoogleObject,
    Session,
    check_generation,
    check_hashes,
    hashes_of,
    resource_of,
)
from tests.fakes.google_wire import refused, write_json
from tests.fakes.stored_objects import Bucket, Files
from tests.fakes.wire import Answer, Request, ServiceError

if TYPE_CHECKING:
    from tests.fakes.google_storage import GoogleObjects

_BOUNDARY = re.compile(r'boundary="?([^";]+)"?')
_RANGE = re.compile(r"bytes (?:(\d+)-(\d+)|\*)/(\d+|\*)")
# What every chunk but the last one must be a multiple of.
CHUNK_UNIT = 256 * 1024


class GoogleUploads:
    """The operations on uploads.

    Attributes:
        sessions: Resumable uploads, those that are done too, by id.
    """

    def __init__(self, objects: GoogleObjects, files: Files):
        self._objects, self._files = objects, files
        self.sessions: dict[str, Session] = {}
        self.operations: dict[str, Callable[[Request, Bucket], Answer]] = {
            "objects.insert": self._insert,
            "objects.upload": self._chunk,
            "objects.cancel": self._cancel,
        }

    def _insert(self, request: Request, bucket: Bucket) -> Answer:
        kind = request.query.get("uploadType")
        if kind == "resumable":
            return self._start(request, bucket)
        if kind == "multipart":
            about, data = _parts_of(request)
        elif kind == "media":
            about, data = {"contentType": request.header("Content-Type")}, request.body
        else:
            raise refused("INVALID_ARGUMENT", f"Unknown uploadType: {kind}")
        about = _named(about, request)
        check_hashes(hashes_of(data), about, request)
        file = self._files.keep(data)
        stored = self._objects.store(bucket, about, file, dict(request.query))
        return self._told(bucket, stored)

    def _start(self, request: Request, bucket: Bucket) -> Answer:
        about = _named(json.loads(request.body or b"{}"), request)
        about.setdefault("contentType", request.header("X-Upload-Content-Type"))
        with self._objects.lock:
            check_generation(request.query, bucket.objects.get(about["name"]))
            mark = f"{bucket.name}/{about['name']}/{len(self.sessions)}"
            name = hashlib.sha256(mark.encode()).hexdigest()
            self.sessions[name] = Session(name, about, dict(request.query))
        place = f"{self._objects.url}/upload/storage/v1/b/{bucket.name}/o"
        where = f"{place}?uploadType=resumable&upload_id={name}"
        return Answer(200, {"Location": where, "X-GUploader-UploadID": name})

    def _chunk(self, request: Request, bucket: Bucket) -> Answer:
        session = self._session(request)
        match = _RANGE.fullmatch(request.header("Content-Range") or _whole(request))
        if match is None:
            raise refused("INVALID_ARGUMENT", "Failed to parse Content-Range header.")
        with self._objects.lock:
            if session.done:
                return self._told(bucket, session.done)
            total = int(match[3]) if match[3] != "*" else None
            if match[1] is not None:
                self._take(session, request, int(match[1]), int(match[2]), total)
            if total is None or session.received < total:
                return _so_far(session)
            return self._finish(session, request, bucket)

    def _take(
        self, session: Session, request: Request, first: int, last: int, total: int | None
    ) -> None:
        data = request.body
        if last - first + 1 != len(data):
            text = f"Content-Range says {last - first + 1} bytes, the body has {len(data)}."
            raise refused("INVALID_ARGUMENT", text)
        if first > session.received:
            text = f"Invalid request. According to the Content-Range header, {first} is expected."
            raise ServiceError("UNAVAILABLE", text, 503)
        if (total is None or last + 1 < total) and len(data) % CHUNK_UNIT:
            raise refused("INVALID_ARGUMENT", f"A chunk must be a multiple of {CHUNK_UNIT} bytes.")
        # What came before comes again after a lost answer.
        fresh = data[session.received - first :]
        if fresh:
            session.chunks.append(self._files.keep(fresh))
            session.received += len(fresh)

    def _finish(self, session: Session, request: Request, bucket: Bucket) -> Answer:
        file: Path = self._files.join(session.chunks)
        check_hashes(hashes_of(file.read_bytes()), session.about, request)
        about, query = dict(session.about), dict(session.query)
        session.done = self._objects.store(bucket, about, file, query)
        return self._told(bucket, session.done)

    def _cancel(self, request: Request, _: Bucket) -> Answer:
        del self.sessions[self._session(request).id]
        return Answer(499)

    def _session(self, request: Request) -> Session:
        session = self.sessions.get(request.query.get("upload_id", ""))
        if session is None:
            raise ServiceError("NOT_FOUND", "Upload session not found.", 404)
        return session

    def _told(self, bucket: Bucket, stored: GoogleObject) -> Answer:
        return write_json(resource_of(bucket, stored, self._objects.url))


def _whole(request: Request) -> str:
    """The range of a body that comes without one."""
    length = len(request.body)
    return f"bytes 0-{length - 1}/{length}" if length else "bytes */0"


def _so_far(session: Session) -> Answer:
    headers = {"Range": f"bytes=0-{session.received - 1}"} if session.received else {}
    return Answer(308, {**headers, "X-GUploader-UploadID": session.id})


def _named(about: dict[str, Any], request: Request) -> dict[str, Any]:
    about = {**about, "name": about.get("name") or request.query.get("name", "")}
    if not about["name"]:
        raise refused("INVALID_ARGUMENT", "Required parameter: name")
    return about


def _parts_of(request: Request) -> tuple[dict[str, Any], bytes]:
    """The metadata and the bytes of a multipart/related body."""
    match = _BOUNDARY.search(request.header("Content-Type"))
    mark = b"--" + match[1].encode() if match else b""
    # Empty, metadata, media, "--": the media may itself contain anything but the mark.
    parts = request.body.split(mark) if mark else []
    if len(parts) != 4 or not parts[3].startswith(b"--"):
        raise refused("INVALID_ARGUMENT", "Malformed multipart body.")
    _, _, metadata = parts[1].partition(b"\r\n\r\n")
    head, _, media = parts[2].partition(b"\r\n\r\n")
    about = dict(json.loads(metadata))
    for line in head.decode().split("\r\n"):
        name, _, value = line.partition(":")
        if name.lower() == "content-type":
            about.setdefault("contentType", value.strip())
    return about, media.removesuffix(b"\r\n")
