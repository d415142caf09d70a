"""Where a channel's data comes from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto.server import ThreadedMotoServer

from launchers.core.model.containers import Channel, Container
from launchers.core.model.problems import LaunchError
from launchers.rehearsal.beside.s3_objects import place_of
from launchers.rehearsal.staging.channels import fill, local_channels
from tests.rehearsal.boxes import box

DATA = "/opt/ml/input/data"
ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "S3_ENDPOINT_URL")


@pytest.fixture(autouse=True)
def _no_endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ENDPOINTS:
        monkeypatch.delenv(name, raising=False)


def hosts(*channels: Channel) -> list[Container]:
    return [replace(box(number, ""), channels=channels) for number in (1, 2)]


def channel(name: str = "train", **more: bool) -> Channel:
    return Channel(name, f"{DATA}/{name}", f"s3://bucket/{name}", **more)


def test_a_local_folder_is_mounted_read_only_on_every_host(tmp_path: Path) -> None:
    filled = fill(hosts(channel()), {"train": tmp_path}, tmp_path / "work", False)
    assert [host.mounts for host in filled.containers] == [{f"{DATA}/train": str(tmp_path)}] * 2
    assert filled.notes == (f"channel train: {tmp_path} instead of s3://bucket/train",)


def test_a_channel_without_data_is_an_empty_folder_and_is_told(tmp_path: Path) -> None:
    filled = fill(hosts(channel()), {}, tmp_path, False)
    assert all(f"{DATA}/train" in host.folders for host in filled.containers)
    assert filled.notes == ("channel train: empty (--local-channel train=DIR gives it data)",)


def test_a_sharded_channel_is_divided_by_file(tmp_path: Path) -> None:
    data = tmp_path / "data"
    (data / "deep").mkdir(parents=True)
    for name in ("a", "b", "deep/c"):
        (data / name).write_text(name)
    work = tmp_path / "work"
    filled = fill(hosts(channel(sharded=True)), {"train": data}, work, False)
    shares = [Path(host.mounts[f"{DATA}/train"]) for host in filled.containers]
    names = [
        sorted(str(path.relative_to(share)) for path in share.rglob("*") if path.is_file())
        for share in shares
    ]
    assert names == [["a", "deep/c"], ["b"]]
    assert (data / "a").read_text() == "a"


def test_a_channel_in_pipe_mode_is_told_to_be_empty(tmp_path: Path) -> None:
    filled = fill(hosts(channel(streamed=True)), {}, tmp_path, False)
    assert filled.notes == ("channel train: empty: a channel in Pipe mode is not rehearsed",)


def test_all_mistakes_of_local_channels_are_told_at_once(tmp_path: Path) -> None:
    words = ["train", f"tran={tmp_path}", f"train={tmp_path / 'absent'}"]
    with pytest.raises(LaunchError) as caught:
        local_channels(words, hosts(channel()))
    texts = [str(problem) for problem in caught.value.problems]
    assert len(texts) == 3
    assert "did you mean train?" in texts[1]


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
    with pytest.raises(LaunchError, match="a name that stays in its folder"):
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
    filled = fill(hosts(channel()), {}, tmp_path, False)
    folder = Path(filled.containers[0].mounts[f"{DATA}/train"])
    files = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert {"a", "deep/b"} <= files
    assert (folder / "deep/b").read_text() == "train/deep/b"
    assert "copied from http://127.0.0.1" in filled.notes[0]


def test_an_endpoint_without_the_data_is_told_with_the_way_on(bucket: Any, tmp_path: Path) -> None:
    with pytest.raises(LaunchError, match=r"no object begins with it.*--local-channel"):
        fill(hosts(channel("absent")), {}, tmp_path, False)
