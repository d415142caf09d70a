"""The S3 endpoint beside the containers, asked by boto3 as the toolkit does."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from launchers.sagemaker.sidecars.object_store import Handler


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    folder = tmp_path / "objects"
    (folder / "my-bucket/job/source").mkdir(parents=True)
    (folder / "my-bucket/job/source/sourcedir.tar.gz").write_bytes(b"0123456789")
    (tmp_path / "secret").write_text("outside")
    handler = type("OneFolder", (Handler,), {"folder": str(folder.resolve())})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    thread.join()
    server.server_close()


def store(address: str, style: str = "auto") -> Any:
    return boto3.resource(
        "s3",
        endpoint_url=address,
        region_name="us-east-1",
        aws_access_key_id="any",
        aws_secret_access_key="any",
        config=Config(s3={"addressing_style": style}, retries={"max_attempts": 0}),
    )


def test_an_object_is_downloaded_whole(address: str, tmp_path: Path) -> None:
    target = tmp_path / "got"
    store(address).Bucket("my-bucket").download_file("job/source/sourcedir.tar.gz", str(target))
    assert target.read_bytes() == b"0123456789"


@pytest.mark.parametrize(
    ("range_", "expected"),
    [("bytes=2-4", b"234"), ("bytes=7-", b"789"), ("bytes=0-99", b"0123456789")],
)
def test_a_part_of_an_object(address: str, range_: str, expected: bytes) -> None:
    client = store(address).meta.client
    answer = client.get_object(Bucket="my-bucket", Key="job/source/sourcedir.tar.gz", Range=range_)
    assert answer["Body"].read() == expected


@pytest.mark.parametrize("key", ["absent", "../../secret", "..%2f..%2fsecret", "/etc/passwd"])
def test_nothing_else_is_served(address: str, key: str) -> None:
    with pytest.raises(ClientError, match=r"404|NoSuchKey"):
        store(address).meta.client.get_object(Bucket="my-bucket", Key=key)


def test_what_is_sent_is_taken_and_thrown_away(address: str, tmp_path: Path) -> None:
    store(address).meta.client.put_object(Bucket="my-bucket", Key="out", Body=b"x" * 100_000)
    assert not (tmp_path / "objects/my-bucket/out").exists()
