"""Objects of S3, copied for the channels of a rehearsal."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto.server import ThreadedMotoServer

from launchers.rehearsal.staging.channels import fill
from launchers.sagemaker.service.s3_objects import place_of
from launchers.sagemaker.sidecars.declared import data_source
from tests.refusals import refused
from tests.rehearsal.staging.test_channels import DATA, channel, hosts

ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "S3_ENDPOINT_URL")


def test_nothing_is_copied_without_an_endpoint_or_leave_to_use_aws(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ENDPOINTS:
        monkeypatch.delenv(name, raising=False)
    assert data_source(False) is None
    assert data_source(True).name == "AWS"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("key", "prefix", "name"),
    [
        ("data/a", "data", "a"),
        ("data/a", "data/", "a"),
        ("data/deep/a", "data", "deep/a"),
        ("data/train-1", "data/train", "train-1"),
        ("data/one.csv", "data/one.csv", "one.csv"),
        ("a", "", "a"),
    ],
)
def test_an_object_lies_where_file_mode_puts_it(
    key: str, prefix: str, name: str, tmp_path: Path
) -> None:
    keys = [key] if prefix != "data" else [key, "data/z"]
    assert place_of(key, prefix, keys, tmp_path) == tmp_path / name


@pytest.mark.parametrize("key", ["data/../../evil", "data/a/../../../evil"])
def test_an_object_whose_name_leads_out_is_refused(key: str, tmp_path: Path) -> None:
    with refused("object-name", "a name without"):
        place_of(key, "data", [key], tmp_path)


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A bucket on a loopback S3 endpoint that the environment names."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    host, port = server.get_host_and_port()
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", f"http://{host}:{port}")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "any")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "any")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    made = boto3.resource("s3").create_bucket(Bucket="bucket")
    yield made
    server.stop()


def test_a_channel_comes_from_the_s3_endpoint_that_the_environment_names(
    bucket: Any, tmp_path: Path
) -> None:
    for key in ("train/a", "train/deep/b", "training/other", "train/"):
        bucket.put_object(Key=key, Body=key.encode())
    containers, notes = fill(hosts(channel()), {}, tmp_path, data_source(False))
    folder = Path(containers[0].mounts[f"{DATA}/train"])
    files = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert {"a", "deep/b"} <= files
    assert (folder / "deep/b").read_text() == "train/deep/b"
    assert "copied from http://127.0.0.1" in notes[0]


def test_an_endpoint_without_the_data_is_told_with_the_way_on(bucket: Any, tmp_path: Path) -> None:
    with refused("channel-data", r"no object begins with it.*--local-channel"):
        fill(hosts(channel("absent")), {}, tmp_path, data_source(False))
