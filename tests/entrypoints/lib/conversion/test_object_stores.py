"""Pictures and Parquet in an object store, against moto's S3 on loopback."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from moto.server import ThreadedMotoServer
from pyarrow import fs

from entrypoints.lib.conversion import folders
from entrypoints.lib.errors import TrainingError
from tests.entrypoints.lib.conversion import places

pytestmark = pytest.mark.processes

KEYS = "anyone:anything"


class Bucket:
    """A bucket, its places as URLs, and what is in it."""

    def __init__(self, address: str) -> None:
        self.settings = f"?scheme=http&region=us-east-1&endpoint_override={quote(address)}"
        user, _, word = KEYS.partition(":")
        self.files = fs.S3FileSystem(
            access_key=user,
            secret_key=word,
            region="us-east-1",
            scheme="http",
            endpoint_override=address,
            allow_bucket_creation=True,
        )
        self.files.create_dir("pictures")

    def url(self, name: str) -> str:
        return f"s3://{KEYS}@pictures/{name}{self.settings}"

    def put(self, folder: Path, name: str) -> None:
        fs.copy_files(str(folder), f"pictures/{name}", destination_filesystem=self.files)

    def get(self, name: str, folder: Path) -> Path:
        folder.mkdir()
        fs.copy_files(f"pictures/{name}", str(folder), source_filesystem=self.files)
        return folder


@pytest.fixture(scope="module")
def bucket() -> Iterator[Bucket]:
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    host, port = server.get_host_and_port()
    yield Bucket(f"{host}:{port}")
    server.stop()


def test_an_object_store_gives_the_same_files_as_a_folder_also_after_an_interruption(
    bucket: Bucket, tmp_path: Path
) -> None:
    images = places.make_pictures(tmp_path / "images", 10)
    (images / "cat" / "bad.jpg").write_bytes(b"bad")
    bucket.put(images, "images")
    with pytest.raises(KeyboardInterrupt):
        places.convert(
            bucket.url("images"), bucket.url("out"), *places.FULL, engine=places.Here(stop_after=4)
        )
    said = places.convert(bucket.url("images"), bucket.url("out"), *places.FULL)
    assert said.of("start")[0]["tasks_done"] == 4
    assert said.result["place"] == "s3://pictures/out"
    places.convert(images, tmp_path / "local", *places.FULL)
    remote = places.files(bucket.get("out", tmp_path / "remote"))
    local = places.files(tmp_path / "local")
    manifest = places.manifest(tmp_path / "remote")
    assert manifest.made["source"] == "s3://pictures/images"
    assert KEYS not in (tmp_path / "remote" / "manifest.json").read_text()
    del remote["manifest.json"], local["manifest.json"]  # they name their sources
    assert remote == local
    again = places.convert(bucket.url("images"), bucket.url("out"), *places.FULL)
    assert not again.result["made"]


def test_a_bucket_that_is_not_there_is_one_line_without_keys(
    bucket: Bucket, tmp_path: Path
) -> None:
    source = bucket.url("nothing/here")
    with pytest.raises(TrainingError) as raised:
        places.convert(source, tmp_path / "out")
    assert str(raised.value).startswith("s3://pictures/nothing/here: ")
    assert KEYS not in str(raised.value)
    assert "\n" not in str(raised.value)


def test_another_kind_of_store_is_refused() -> None:
    with pytest.raises(TrainingError, match=r"ftp://, expected a folder, s3://\.\.\. or gs://"):
        folders.absolute("ftp://somewhere/images")


def test_an_address_is_shown_without_keys_and_settings() -> None:
    assert folders.shown("s3://key:secret@bucket/a/b?region=x") == "s3://bucket/a/b"
    assert folders.shown("/images/a?b@c") == "/images/a?b@c"
