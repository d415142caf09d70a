"""The fake Cloud Storage serves google-cloud-storage as the service does."""

from __future__ import annotations

import base64
import hashlib
import io
import json
from pathlib import Path
from typing import Any

import pytest
from google.api_core.exceptions import (
    BadRequest,
    Forbidden,
    NotFound,
    PreconditionFailed,
)
from google.auth.exceptions import InvalidOperation
from google.cloud import storage

from tests.fakes.faults import ARRIVED, HALF_BODY, HANDLED, RESET, Drop, Refuse
from tests.fakes.google_clients import credentials, session, storage_client
from tests.fakes.google_uploads import CHUNK_UNIT
from tests.fakes.google_wire import UNAVAILABLE
from tests.fakes.vertex_service import VertexService


def blob_of(google: VertexService, name: str = "a/b.tar.gz", **more: Any) -> Any:
    return storage_client(google).bucket(google.bucket).blob(name, **more)


def stored(google: VertexService, name: str = "a/b.tar.gz") -> bytes | None:
    found = google.objects.get(f"gs://{google.bucket}/{name}")
    return found.read() if found else None


@pytest.mark.parametrize("data", [b"", b"x", bytes(range(256)) * 4096, b"\r\n--", b"--\r\n\r\n"])
def test_bytes_come_back_as_they_were_sent(google: VertexService, data: bytes) -> None:
    blob = blob_of(google)
    blob.upload_from_string(data, content_type="application/gzip")
    fresh = blob_of(google)
    fresh.reload()

    assert fresh.download_as_bytes() == data == stored(google)
    assert fresh.size == len(data)
    assert fresh.content_type == "application/gzip"
    assert fresh.md5_hash == base64.b64encode(hashlib.md5(data).digest()).decode()
    assert fresh.crc32c
    assert fresh.generation == blob.generation


@pytest.mark.parametrize("size", [CHUNK_UNIT * 3, CHUNK_UNIT * 3 + 1, 100])
def test_a_resumable_upload_comes_in_chunks(google: VertexService, size: int) -> None:
    data = (b"0123456789abcdef" * (size // 16 + 1))[:size]
    blob_of(google, chunk_size=CHUNK_UNIT).upload_from_file(io.BytesIO(data))

    assert stored(google) == data
    chunks = google.received("objects.upload")
    # The client learns the length at the end: where it is a whole number of chunks, by one more.
    assert len(chunks) == size // CHUNK_UNIT + 1
    assert [one.status for one in chunks] == [308] * (len(chunks) - 1) + [200]


def test_a_stream_of_unknown_length_is_uploaded(google: VertexService) -> None:
    data = b"z" * (CHUNK_UNIT * 2 + 5)
    with blob_of(google, chunk_size=CHUNK_UNIT).open("wb") as stream:
        stream.write(data)

    assert stored(google) == data


@pytest.mark.parametrize("fault", [Refuse(UNAVAILABLE), Drop(RESET)], ids=["503", "reset"])
@pytest.mark.parametrize("after", [0, 1, 2])
def test_a_chunk_whose_answer_is_lost_is_counted_once(
    google: VertexService, fault: Refuse | Drop, after: int
) -> None:
    data = bytes(range(256)) * (CHUNK_UNIT * 3 // 256)
    google.faults.add(fault, "objects.upload", point=HANDLED, after=after, times=1)
    blob_of(google, chunk_size=CHUNK_UNIT).upload_from_file(io.BytesIO(data))

    assert stored(google) == data


def test_a_file_that_is_too_large_for_one_request_is_uploaded(
    google: VertexService, tmp_path: Path
) -> None:
    data = bytes(range(256)) * 4096 * 10
    (tmp_path / "file").write_bytes(data)
    blob_of(google).upload_from_filename(str(tmp_path / "file"), if_generation_match=0)

    assert stored(google) == data
    assert len(google.received("objects.upload")) == 1


def test_an_upload_that_may_not_replace_is_refused_where_there_is_one(
    google: VertexService,
) -> None:
    blob_of(google).upload_from_string(b"first", if_generation_match=0)
    with pytest.raises(PreconditionFailed, match="pre-conditions you specified did not hold"):
        blob_of(google).upload_from_string(b"second", if_generation_match=0)
    with pytest.raises(PreconditionFailed):
        blob_of(google).upload_from_file(io.BytesIO(b"2"), if_generation_match=0)

    assert stored(google) == b"first"


def test_generations_grow_and_name_one_content(google: VertexService) -> None:
    blob = blob_of(google)
    blob.upload_from_string(b"first")
    first = blob.generation
    blob_of(google).upload_from_string(b"second", if_generation_match=first)
    fresh = blob_of(google)
    fresh.reload()

    assert fresh.generation > first
    with pytest.raises(PreconditionFailed):
        blob_of(google).upload_from_string(b"third", if_generation_match=first)
    with pytest.raises(NotFound):
        blob_of(google, generation=first).download_as_bytes()


def test_a_part_of_an_object_is_read(google: VertexService) -> None:
    google.objects.put(f"gs://{google.bucket}/key", b"0123456789")

    assert blob_of(google, "key").download_as_bytes(start=2, end=5) == b"2345"
    assert blob_of(google, "key").download_as_bytes(start=7) == b"789"


def test_what_is_said_of_the_bytes_must_be_true(google: VertexService) -> None:
    about = {"name": "key", "md5Hash": base64.b64encode(b"0" * 16).decode()}
    body = (
        f"--x\r\ncontent-type: application/json\r\n\r\n{json.dumps(about)}\r\n"
        "--x\r\ncontent-type: text/plain\r\n\r\nbytes\r\n--x--"
    )
    answer = session(google).post(
        f"{google.url}/upload/storage/v1/b/{google.bucket}/o?uploadType=multipart",
        data=body.encode(),
        headers={"Content-Type": "multipart/related; boundary=x"},
    )

    assert answer.status_code == 400
    assert "MD5 hash" in answer.json()["error"]["message"]
    assert stored(google, "key") is None


def test_the_client_sends_a_checksum_that_is_checked(google: VertexService) -> None:
    blob_of(google).upload_from_string(b"bytes", checksum="md5")
    blob_of(google).upload_from_string(b"bytes", checksum="crc32c")

    found = google.objects.get(f"gs://{google.bucket}/a/b.tar.gz")
    assert found is not None
    assert found.checksums["md5"] == base64.b64encode(hashlib.md5(b"bytes").digest()).decode()


def test_lists_have_every_object_page_by_page(google: VertexService) -> None:
    names = [f"launch/code/{number}/x" for number in range(5)] + ["launch/y", "z"]
    for name in names:
        google.objects.put(f"gs://{google.bucket}/{name}", b"")
    client = storage_client(google)

    assert [one.name for one in client.list_blobs(google.bucket, page_size=2)] == sorted(names)
    found = client.list_blobs(google.bucket, prefix="launch/", delimiter="/")
    assert [one.name for one in found] == ["launch/y"]
    assert found.prefixes == {"launch/code/"}
    assert google.objects.keys(f"gs://{google.bucket}/launch/y") == ["launch/y"]


def test_an_object_is_copied_within_the_service(google: VertexService) -> None:
    blob_of(google, "a b/1").upload_from_string(b"bytes", content_type="image/png")
    google.objects.add_bucket("other")
    client = storage_client(google)

    copy = client.bucket("other").blob("c/2")
    token, written, whole = copy.rewrite(blob_of(google, "a b/1"))

    assert (token, written, whole) == (None, 5, 5)
    found = google.objects.get("gs://other/c/2")
    assert found is not None
    assert (found.read(), found.headers["Content-Type"]) == (b"bytes", "image/png")
    with pytest.raises(NotFound):
        client.bucket("nobodys").blob("x").rewrite(blob_of(google, "a b/1"))


def test_an_object_is_deleted_once(google: VertexService) -> None:
    blob = blob_of(google)
    blob.upload_from_string(b"x")
    assert blob.exists()
    blob.delete()

    assert not blob.exists()
    with pytest.raises(NotFound):
        blob.delete()


def test_a_bucket_says_where_it_is_and_what_the_caller_may(google: VertexService) -> None:
    bucket = storage_client(google).get_bucket(google.bucket)
    asked = ["storage.objects.create", "storage.objects.get"]

    assert bucket.location == "US-CENTRAL1"
    assert str(bucket.project_number) == google.account.number
    assert bucket.test_iam_permissions(asked) == asked
    google.account.deny("storage.objects.create")
    assert bucket.test_iam_permissions(asked) == ["storage.objects.get"]
    with pytest.raises(Forbidden, match=r"storage\.objects\.create"):
        blob_of(google).upload_from_string(b"x")


def test_a_bucket_of_others_is_denied_and_one_that_is_not_there_is_not_found(
    google: VertexService,
) -> None:
    google.objects.add_bucket("theirs", project="somebody-elses")
    client = storage_client(google)

    with pytest.raises(Forbidden, match=r"does not have storage\.buckets\.get access"):
        client.get_bucket("theirs")
    with pytest.raises(Forbidden, match=r"storage\.objects\.insert"):
        client.bucket("theirs").blob("x").upload_from_string(b"x")
    with pytest.raises(NotFound, match="bucket does not exist"):
        client.get_bucket("nobodys")
    with pytest.raises(NotFound):
        client.bucket("nobodys").blob("x").upload_from_string(b"x")


def test_a_client_that_gets_no_credentials_is_anonymous_and_refused(google: VertexService) -> None:
    """As the emulator's variable makes it; ``google.auth.default()`` has to be given to it."""
    with pytest.raises(InvalidOperation, match="Anonymous credentials"):
        storage.Client().bucket(google.bucket).blob("x").upload_from_string(b"x")

    mine = storage.Client(credentials=credentials(google))
    mine.bucket(google.bucket).blob("x").upload_from_string(b"x")


@pytest.mark.parametrize(
    ("fault", "point", "done"),
    [(Drop(RESET), ARRIVED, False), (Drop(RESET), HANDLED, True), (Drop(HALF_BODY), HANDLED, True)],
)
def test_an_upload_whose_connection_is_lost_is_whole_or_absent(
    google: VertexService, fault: Drop, point: str, done: bool
) -> None:
    google.faults.add(fault, "objects.insert", point=point, times=1)
    data = b"x" * 3_000_000

    with pytest.raises(Exception, match=r"(?i)connection|incomplete|broken"):
        blob_of(google).upload_from_string(data, retry=None)
    assert stored(google) == (data if done else None)


def test_a_multipart_body_that_is_none_is_refused(google: VertexService) -> None:
    answer = session(google).post(
        f"{google.url}/upload/storage/v1/b/{google.bucket}/o?uploadType=multipart", data=b"bytes"
    )

    assert answer.status_code == 400
    assert answer.json()["error"]["errors"][0]["reason"] == "invalid"
    with pytest.raises(BadRequest):
        blob_of(google, "").upload_from_string(b"x")
