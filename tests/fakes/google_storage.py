"""The fake Cloud Storage: the JSON API as google-cloud-storage speaks it.

Source: Google, "Cloud Storage JSON API overview", "Resumable uploads", "Request preconditions".
"""

from __future__ import annotations

import base64
import itertools
import json
import threading
import urllib.parse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.fakes.clock import Clock
from tests.fakes.google_account import GoogleAccount
from tests.fakes.google_buckets import (
    GoogleObject,
    bucket_resource,
    check_generation,
    hashes_of,
    resource_of,
)
from tests.fakes.google_uploads import GoogleUploads
from tests.fakes.google_wire import refused, write_json
from tests.fakes.object_lists import list_page
from tests.fakes.stored_objects import Bucket, Files, span_of
from tests.fakes.wire import Answer, Request, ServiceError


class GoogleObjects:
    """Buckets of our project and of others.

    Attributes:
        url: Of the service, for links.
        buckets: All of them, by name.
        public: Names of buckets that anybody may use, whosever they are.
        uploads: Uploads, whole and in chunks.

    Args:
        folder: Where the bytes of objects are kept; the caller removes it.
    """

    def __init__(self, account: GoogleAccount, clock: Clock, folder: Path):
        self._account, self._clock = account, clock
        self._files = Files(folder)
        self._generations = itertools.count(1)
        self.url = ""
        self.lock = threading.RLock()
        self.buckets: dict[str, Bucket] = {}
        self.public: set[str] = set()
        self.uploads = GoogleUploads(self, self._files)

    # What tests use.

    def add_bucket(
        self, name: str, location: str = "us-central1", project: str | None = None
    ) -> Bucket:
        """A bucket; ``project`` is another project's id where it is not ours."""
        owner = project or self._account.project
        bucket = Bucket(name, location, owner, self._clock.now())
        self.buckets[name] = bucket
        return bucket

    def put(self, uri: str, data: bytes) -> GoogleObject:
        """Store an object at ``gs://bucket/name``."""
        bucket, _, name = uri.removeprefix("gs://").partition("/")
        return self.store(self.buckets[bucket], {"name": name}, self._files.keep(data), {})

    def get(self, uri: str) -> GoogleObject | None:
        """The object at ``gs://bucket/name``, or None."""
        bucket, _, name = uri.removeprefix("gs://").partition("/")
        found = self.buckets[bucket].objects.get(name) if bucket in self.buckets else None
        return found if isinstance(found, GoogleObject) else None

    def keys(self, uri: str) -> list[str]:
        """The names in a bucket that begin as ``gs://bucket/prefix`` says, sorted."""
        name, _, prefix = uri.removeprefix("gs://").partition("/")
        bucket = self.buckets.get(name)
        return sorted(key for key in bucket.objects if key.startswith(prefix)) if bucket else []

    # What uploads use.

    def store(
        self, bucket: Bucket, about: dict[str, Any], file: Path, query: dict[str, str]
    ) -> GoogleObject:
        """Put the bytes of a file into a bucket.

        Args:
            about: The metadata that the client sent: name, contentType, metadata.
            query: Its preconditions.

        Raises:
            ServiceError: A precondition does not hold.
        """
        data = file.read_bytes()
        hashes = hashes_of(data)
        name = str(about["name"])
        kind = str(about.get("contentType") or "application/octet-stream")
        with self.lock:
            check_generation(query, bucket.objects.get(name))
            # As the service's: microseconds since the epoch, and no two alike.
            generation = int(self._clock.now() * 1_000_000) + next(self._generations)
            stored = GoogleObject(
                name,
                file,
                len(data),
                base64.b64encode(str(generation).encode()).decode(),
                self._clock.now(),
                {"Content-Type": kind},
                hashes,
                generation=generation,
                metadata=dict(about.get("metadata") or {}),
            )
            bucket.objects[name] = stored
        return stored

    # What clients use.

    def answer(self, request: Request) -> Answer:
        """Do what the request asks.

        Raises:
            ServiceError: Cloud Storage refuses it.
        """
        bucket = self._bucket(request, "bucket")
        handlers: dict[str, Callable[[Request, Bucket], Answer]] = {
            "buckets.get": self._bucket_get,
            "buckets.testIamPermissions": self._permissions,
            "objects.list": self._list,
            "objects.get": self._get,
            "objects.download": self._download,
            "objects.delete": self._delete,
            "objects.rewrite": self._rewrite,
            **self.uploads.operations,
        }
        return handlers[request.operation](request, bucket)

    def _bucket(self, request: Request, place: str) -> Bucket:
        bucket = self.buckets.get(request.places[place])
        if bucket is None:
            raise ServiceError("NOT_FOUND", "The specified bucket does not exist.", 404)
        if bucket.owner != self._account.project and bucket.name not in self.public:
            permission = f"storage.{request.operation}"
            text = (
                f"{request.identity.email} does not have {permission} access to the Google Cloud "
                f"Storage bucket. Permission '{permission}' denied on resource (or it may not "
                "exist)."
            )
            raise refused("PERMISSION_DENIED", text)
        return bucket

    def _bucket_get(self, _: Request, bucket: Bucket) -> Answer:
        others = self._account.other_projects
        number = others.get(bucket.owner, self._account.number)
        return write_json(bucket_resource(bucket, number, self.url))

    def _permissions(self, request: Request, _: Bucket) -> Answer:
        asked = urllib.parse.parse_qs(request.target.partition("?")[2]).get("permissions", [])
        given = [one for one in asked if one not in request.identity.denied]
        told: dict[str, Any] = {"kind": "storage#testIamPermissionsResponse"}
        return write_json({**told, "permissions": given} if given else told)

    def _list(self, request: Request, bucket: Bucket) -> Answer:
        query = request.query
        size = min(int(query.get("maxResults", 1000)), 1000)
        token = query.get("pageToken", "")
        after = base64.urlsafe_b64decode(token).decode() if token else ""
        prefix, delimiter = query.get("prefix", ""), query.get("delimiter", "")
        with self.lock:
            page = list_page(bucket.objects, prefix, delimiter, after, size)
            items = [
                resource_of(bucket, stored, self.url)
                for stored in (bucket.objects[key] for key in page.keys)
                if isinstance(stored, GoogleObject)
            ]
        told: dict[str, Any] = {"kind": "storage#objects"}
        told |= {"items": items} if items else {}
        told |= {"prefixes": page.folders} if page.folders else {}
        if page.more:
            last = base64.urlsafe_b64encode(page.more.encode()).decode()
            told["nextPageToken"] = last
        return write_json(told)

    def _get(self, request: Request, bucket: Bucket) -> Answer:
        return write_json(resource_of(bucket, self._object(request, bucket), self.url))

    def _download(self, request: Request, bucket: Bucket) -> Answer:
        stored = self._object(request, bucket)
        headers = {
            "ETag": stored.etag,
            "X-Goog-Generation": str(stored.generation),
            "X-Goog-Hash": ",".join(f"{name}={value}" for name, value in stored.checksums.items()),
            "X-Goog-Stored-Content-Length": str(stored.size),
            "X-Goog-Stored-Content-Encoding": "identity",
            **stored.headers,
        }
        span, partial = span_of(request, stored.size)
        if partial:
            headers["Content-Range"] = f"bytes {span[0]}-{span[0] + span[1] - 1}/{stored.size}"
        return Answer(206 if partial else 200, headers, file=stored.file, span=span)

    def _delete(self, request: Request, bucket: Bucket) -> Answer:
        with self.lock:
            del bucket.objects[self._object(request, bucket).key]
        return Answer(204)

    def _rewrite(self, request: Request, bucket: Bucket) -> Answer:
        """Copy an object, in one answer: the service takes several for large ones."""
        source, target = self._object(request, bucket), self._bucket(request, "to_bucket")
        about = json.loads(request.body or b"{}")
        about = {"contentType": source.headers["Content-Type"], "metadata": source.metadata} | about
        about["name"] = request.places["to_object"]
        stored = self.store(target, about, source.file, dict(request.query))
        told: dict[str, Any] = {
            "kind": "storage#rewriteResponse",
            "totalBytesRewritten": str(stored.size),
            "objectSize": str(stored.size),
            "done": True,
            "resource": resource_of(target, stored, self.url),
        }
        return write_json(told)

    def _object(self, request: Request, bucket: Bucket) -> GoogleObject:
        name, generation = request.places["object"], request.query.get("generation")
        found = bucket.objects.get(name)
        if not isinstance(found, GoogleObject) or generation not in (None, str(found.generation)):
            raise ServiceError("NOT_FOUND", f"No such object: {bucket.name}/{name}", 404)
        check_generation(request.query, found)
        return found
