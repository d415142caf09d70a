"""Where a channel's data comes from."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from launchers.core.model.containers import Channel, Container
from launchers.core.model.problems import LaunchError
from launchers.rehearsal.staging.channels import fill, local_channels
from tests.rehearsal.boxes import box

DATA = "/opt/ml/input/data"


def hosts(*channels: Channel) -> list[Container]:
    return [replace(box(number, ""), channels=channels) for number in (1, 2)]


def channel(name: str = "train", **more: bool) -> Channel:
    return Channel(name, f"{DATA}/{name}", f"s3://bucket/{name}", **more)


def test_a_local_folder_is_mounted_read_only_on_every_host(tmp_path: Path) -> None:
    containers, notes = fill(hosts(channel()), {"train": tmp_path}, tmp_path / "work")
    assert [host.mounts for host in containers] == [{f"{DATA}/train": str(tmp_path)}] * 2
    assert notes == [f"channel train: {tmp_path} instead of s3://bucket/train"]


def test_a_channel_without_data_is_an_empty_folder_and_is_told(tmp_path: Path) -> None:
    containers, notes = fill(hosts(channel()), {}, tmp_path)
    assert all(f"{DATA}/train" in host.folders for host in containers)
    assert notes == ["channel train: empty (--local-channel train=DIR gives it data)"]


def test_a_sharded_channel_is_divided_by_file(tmp_path: Path) -> None:
    data = tmp_path / "data"
    (data / "deep").mkdir(parents=True)
    for name in ("a", "b", "deep/c"):
        (data / name).write_text(name)
    work = tmp_path / "work"
    containers, _ = fill(hosts(channel(sharded=True)), {"train": data}, work)
    shares = [Path(host.mounts[f"{DATA}/train"]) for host in containers]
    names = [
        sorted(str(path.relative_to(share)) for path in share.rglob("*") if path.is_file())
        for share in shares
    ]
    assert names == [["a", "deep/c"], ["b"]]
    assert (data / "a").read_text() == "a"


def test_a_channel_in_pipe_mode_is_told_to_be_empty(tmp_path: Path) -> None:
    _, notes = fill(hosts(channel(streamed=True)), {}, tmp_path)
    assert notes == ["channel train: empty: a channel in Pipe mode is not rehearsed"]


def test_all_mistakes_of_local_channels_are_told_at_once(tmp_path: Path) -> None:
    words = ["train", f"tran={tmp_path}", f"train={tmp_path / 'absent'}"]
    with pytest.raises(LaunchError) as caught:
        local_channels(words, hosts(channel()))
    texts = [str(problem) for problem in caught.value.problems]
    assert len(texts) == 3
    assert "did you mean train?" in texts[1]
