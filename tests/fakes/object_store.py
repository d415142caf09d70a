"""The fake S3: buckets, objects, lists."""

from __future__ import annotations

import re
import threading
import urllib.parse
from collections.abc import Callable
from email.utils import formatdate
from pathlib import Path

from tests.fakes import s3_checksums
from tests.fakes.aws_account import Account
from tests.fakes.aws_wire import S3_NAMESPACE, elements, xml
from tests.fakes.clock import Clock
from tests.fakes.object_lists import list_page
from tests.fakes.s3_uploads import Uploads
from tests.fakes.s3_wire import (
    FAILED_CONDITION,
    body_of,
    check_absent,
    checksum_headers,
    iso,
    kept_headers,
    listed,
    place_of,
    setting_of,
)
from tests.fakes.stored_objects import Bucket, Files, StoredObject, etag_of, span_of
from tests.fakes.wire import Answer, Request, ServiceError

_BUCKET_NAME = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_LOCATION = re.compile(rb"<LocationConstraint>([^<]*)</LocationConstraint>")
DEFAULT_REGION = "us-east-1"


class ObjectStore:
    """Buckets of one account and of others.

    Args:
        folder: Where the bytes of objects are kept; the caller removes it.
    """

    def __init__(self, account: Account, clock: Clock, folder: Path):
        self._account, self._clock = account, clock
        self._files = Files(folder)
        self.lock = threading.RLock()
        self.buckets: dict[str, Bucket] = {}
        self.uploads = Uploads(self._files, clock, self.lock)

    # What tests use.

    def add_bucket(
        self, name: str, region: str = DEFAULT_REGION, owner: str | None = None
    ) -> Bucket:
        """A bucket; ``owner`` is another account's id where it is not ours."""
        bucket = Bucket(name, region, owner or self._account.id, self._clock.now())
        self.buckets[name] = bucket
        return bucket

    def put(self, uri: str, data: bytes) -> StoredObject:
        """Store an object at ``s3://bucket/key``."""
        name, _, key = uri.removeprefix("s3://").partition("/")
        stored = StoredObject(
            key, self._files.keep(data), len(data), etag_of(data), self._clock.now()
        )
        self.buckets[name].objects[key] = stored
        return stored

    def get(self, uri: str) -> StoredObject | None:
        """The object at ``s3://bucket/key``, or None."""
        name, _, key = uri.removeprefix("s3://").partition("/")
        bucket = self.buckets.get(name)
        return bucket.objects.get(key) if bucket else None

    def keys(self, uri: str) -> list[str]:
        """The keys of a bucket that begin as ``s3://bucket/prefix`` says, sorted."""
        name, _, prefix = uri.removeprefix("s3://").partition("/")
        bucket = self.buckets.get(name)
        return sorted(key for key in bucket.objects if key.startswith(prefix)) if bucket else []

    # What clients use.

    def answer(self, request: Request) -> Answer:
        """Do what the request asks.

        Raises:
            ServiceError: S3 refuses it.
        """
        operation = request.operation
        if operation == "ListBuckets":
            return self._list_buckets()
        name, key = place_of(request)
        if operation == "CreateBucket":
            return self._create_bucket(request, name)
        bucket = self._bucket(request, name)
        if setting := setting_of(request):
            return self._setting(request, bucket, setting)
        if operation in self.uploads.operations:
            return self.uploads.operations[operation](request, bucket, key)
        handlers: dict[str, Callable[[Request, Bucket, str], Answer]] = {
            "HeadBucket": self._head_bucket,
            "GetBucketLocation": self._location,
            "ListObjectsV2": self._list,
            "PutObject": self._put,
            "GetObject": self._get,
            "HeadObject": self._get,
            "DeleteObject": self._delete,
        }
        if operation not in handlers:
            raise ServiceError("NotImplemented", f"{operation} is not imitated", 501)
        return handlers[operation](request, bucket, key)

    def _bucket(self, request: Request, name: str) -> Bucket:
        """The bucket, if the caller may use it from where they signed."""
        bucket = self.buckets.get(name)
        if bucket is None:
            raise ServiceError("NoSuchBucket", "The specified bucket does not exist", 404)
        where = {"x-amz-bucket-region": bucket.region}
        if bucket.owner != self._account.id:
            raise ServiceError("AccessDenied", "Access Denied", 403, where)
        expected = request.header("x-amz-expected-bucket-owner")
        if expected and expected != bucket.owner:
            raise ServiceError("AccessDenied", "Access Denied", 403)
        if request.region != bucket.region:
            text = (
                "The bucket you are attempting to access must be addressed using the specified "
                "endpoint. Please send all future requests to this endpoint."
            )
            raise ServiceError("PermanentRedirect", text, 301, where)
        return bucket

    def _create_bucket(self, request: Request, name: str) -> Answer:
        said = _LOCATION.search(request.body)
        region = said[1].decode() if said else DEFAULT_REGION
        if not _BUCKET_NAME.fullmatch(name):
            raise ServiceError("InvalidBucketName", "The specified bucket is not valid.")
        if region != request.region:
            text = (
                f"The {'unspecified' if not said else region} location constraint is "
                "incompatible for the region specific endpoint this request was sent to."
            )
            raise ServiceError("IllegalLocationConstraintException", text)
        with self.lock:
            taken = self.buckets.get(name)
            if taken is None:
                self.add_bucket(name, region)
            elif taken.owner != self._account.id:
                text = "The requested bucket name is not available."
                raise ServiceError("BucketAlreadyExists", text, 409)
            elif region != DEFAULT_REGION:
                text = "Your previous request to create the named bucket succeeded."
                raise ServiceError("BucketAlreadyOwnedByYou", text, 409)
        return Answer(200, {"Location": f"/{name}"})

    def _list_buckets(self) -> Answer:
        entries = [
            {"Name": one.name, "CreationDate": iso(one.created), "BucketRegion": one.region}
            for one in self.buckets.values()
            if one.owner == self._account.id
        ]
        inner = elements({"Buckets": {"Bucket": entries}})
        return xml("ListAllMyBucketsResult", inner, S3_NAMESPACE)

    def _setting(self, request: Request, bucket: Bucket, name: str) -> Answer:
        if request.method == "GET":
            if name not in bucket.settings:
                text = f"The {name} configuration was not found"
                raise ServiceError("NoSuchConfiguration", text, 404)
            return Answer(200, {"Content-Type": "application/xml"}, bucket.settings[name])
        if request.method == "PUT":
            bucket.settings[name] = request.body
            return Answer(200)
        bucket.settings.pop(name, None)
        return Answer(204)

    def _head_bucket(self, _: Request, bucket: Bucket, __: str) -> Answer:
        return Answer(200, {"x-amz-bucket-region": bucket.region})

    def _location(self, _: Request, bucket: Bucket, __: str) -> Answer:
        said = "" if bucket.region == DEFAULT_REGION else bucket.region
        return xml("LocationConstraint", said, S3_NAMESPACE)

    def _list(self, request: Request, bucket: Bucket, _: str) -> Answer:
        query = request.query
        prefix, delimiter = query.get("prefix", ""), query.get("delimiter", "")
        size = min(int(query.get("max-keys", 1000)), 1000)
        after = max(query.get("continuation-token", ""), query.get("start-after", ""))
        quote = urllib.parse.quote if query.get("encoding-type") == "url" else str
        with self.lock:
            page = list_page(bucket.objects, prefix, delimiter, after, size)
            contents = [listed(bucket.objects[key], quote) for key in page.keys]
        listing = {
            "Name": bucket.name,
            "Prefix": quote(prefix),
            "KeyCount": len(page.keys) + len(page.folders),
            "MaxKeys": size,
            "IsTruncated": bool(page.more),
            **({"EncodingType": "url"} if quote is not str else {}),
            **({"NextContinuationToken": page.more} if page.more else {}),
            "Contents": contents,
            "CommonPrefixes": [{"Prefix": quote(folder)} for folder in page.folders],
        }
        return xml("ListBucketResult", elements(listing), S3_NAMESPACE)

    def _put(self, request: Request, bucket: Bucket, key: str) -> Answer:
        data, trailers = body_of(request)
        checksums = s3_checksums.checked(request, data, trailers)
        stored = StoredObject(
            key,
            self._files.keep(data),
            len(data),
            etag_of(data),
            self._clock.now(),
            kept_headers(request),
            checksums,
        )
        with self.lock:
            check_absent(request, bucket, key)
            bucket.objects[key] = stored
        return Answer(200, {"ETag": f'"{stored.etag}"', **checksum_headers(stored)})

    def _get(self, request: Request, bucket: Bucket, key: str) -> Answer:
        stored = bucket.objects.get(key)
        if stored is None:
            raise ServiceError("NoSuchKey", "The specified key does not exist.", 404)
        wanted = request.header("If-Match").strip('"')
        if wanted and wanted != stored.etag:
            raise FAILED_CONDITION
        headers = {
            "ETag": f'"{stored.etag}"',
            "Last-Modified": formatdate(stored.modified, usegmt=True),
            "Accept-Ranges": "bytes",
            **stored.headers,
        }
        if request.header("x-amz-checksum-mode").upper() == "ENABLED":
            headers.update(checksum_headers(stored))
        span, partial = span_of(request, stored.size)
        if partial:
            headers["Content-Range"] = f"bytes {span[0]}-{span[0] + span[1] - 1}/{stored.size}"
        return Answer(206 if partial else 200, headers, file=stored.file, span=span)

    def _delete(self, _: Request, bucket: Bucket, key: str) -> Answer:
        with self.lock:
            bucket.objects.pop(key, None)
        return Answer(204)
