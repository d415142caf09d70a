from __future__ import annotations

from pathlib import Path

import pytest

from entrypoints.lib import places


@pytest.mark.parametrize(
    ("flag", "environment", "expected"),
    [
        ("/flag", {"LAUNCH_CHECKPOINT_DIR": "/l", "AIP_CHECKPOINT_DIR": "/a"}, "/flag"),
        (None, {"LAUNCH_CHECKPOINT_DIR": "/l", "AIP_CHECKPOINT_DIR": "/a"}, "/l"),
        (None, {"LAUNCH_CHECKPOINT_DIR": "", "AIP_CHECKPOINT_DIR": "gs://b/c/"}, "gs://b/c/"),
        (None, {}, None),
    ],
)
def test_checkpoints_go_where_the_first_that_is_set_says(
    flag: str | None, environment: dict[str, str], expected: str | None
) -> None:
    place = places.checkpoint_folder(flag, environment)
    assert (place.path if place else None) == expected


@pytest.mark.parametrize(
    ("flag", "environment", "expected"),
    [
        ("/flag", {"SM_MODEL_DIR": "/opt/ml/model"}, ("/flag", "--model-dir")),
        (
            None,
            {"SM_MODEL_DIR": "/opt/ml/model", "AIP_MODEL_DIR": "/a", "LAUNCH_MODEL_DIR": "/l"},
            ("/opt/ml/model", "SM_MODEL_DIR"),
        ),
        (None, {"AIP_MODEL_DIR": "/a", "LAUNCH_MODEL_DIR": "/l"}, ("/a", "AIP_MODEL_DIR")),
        (None, {"LAUNCH_MODEL_DIR": "/l"}, ("/l", "LAUNCH_MODEL_DIR")),
        (None, {}, None),
    ],
)
def test_the_model_goes_where_the_first_that_is_set_says(
    flag: str | None, environment: dict[str, str], expected: tuple[str, str] | None
) -> None:
    place = places.model_folder(flag, environment)
    assert ((place.path, place.named_by) if place else None) == expected


def test_training_channels_are_looked_in_first_and_the_code_channel_never() -> None:
    environment = {
        "SM_CHANNEL_ZEBRA": "/z",
        "SM_CHANNEL_CODE": "/code",
        "SM_CHANNEL_TRAIN": "/train",
        "SM_CHANNEL_TRAINING": "/training",
        "SM_CHANNELS": '["not a folder"]',
    }
    folders = [place.path for place in places.data_folders(None, environment)]
    assert folders == ["/training", "/train", "/z"]


def test_a_folder_that_the_user_names_is_the_only_one_looked_in() -> None:
    folders = places.data_folders("/mine", {"SM_CHANNEL_TRAINING": "/training"})
    assert [(place.path, place.named_by) for place in folders] == [("/mine", "--data-dir")]


@pytest.mark.parametrize(
    ("behind", "flag", "expected"),
    [
        ("/a", "/b", ("/a", "--data")),
        (None, "/b", ("/b", "--data-dir")),
        (None, None, ("/train", "SM_CHANNEL_TRAIN")),
    ],
)
def test_the_data_is_behind_the_colon_else_in_data_dir_else_in_the_training_channel(
    behind: str | None, flag: str | None, expected: tuple[str, str]
) -> None:
    environment = {
        "SM_CHANNEL_TRAIN": "/train",
        "SM_CHANNEL_TEST": "/test",
        "SM_CHANNEL_CODE": "/c",
    }
    found = places.data_place(behind, flag, environment)
    assert found is not None
    assert (found.path, found.named_by) == expected
    beside = places.test_place(found, environment)
    assert (beside and beside.path) == ("/test" if expected[1] == "SM_CHANNEL_TRAIN" else None)


def test_a_test_channel_alone_is_nothing_to_train_on() -> None:
    assert places.data_place(None, None, {"SM_CHANNEL_TEST": "/test"}) is None


def test_a_bucket_is_read_through_its_mount_where_it_is_mounted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(places, "BUCKET_MOUNT", str(tmp_path))
    (tmp_path / "mounted").mkdir()
    assert places.on_this_machine("gs://mounted/a/b/") == str(tmp_path / "mounted/a/b") + "/"
    assert places.on_this_machine("gs://other/a") == "gs://other/a"
    assert places.on_this_machine("/a/folder") == "/a/folder"
