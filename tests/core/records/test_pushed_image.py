"""The image that was pushed last."""

from __future__ import annotations

from pathlib import Path

import pytest

from launchers.core.records.pushed_image import last_pushed, remember_pushed


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LAUNCH_HOME", str(tmp_path))
    return tmp_path


def test_what_was_pushed_last_is_known(home: Path) -> None:
    assert last_pushed() is None
    remember_pushed("registry/image@sha256:1", "registry/image:1")
    remember_pushed("registry/image@sha256:2", "registry/image:2")

    assert last_pushed() == "registry/image@sha256:2"
    assert [path.name for path in home.iterdir()] == ["image.json"]


def test_what_was_pushed_for_another_strategy_is_kept_apart(home: Path) -> None:
    remember_pushed("registry/image@sha256:1", "registry/image:1")
    remember_pushed("registry/torch@sha256:2", "registry/torch:2", "torch")

    assert (last_pushed(), last_pushed("torch")) == (
        "registry/image@sha256:1",
        "registry/torch@sha256:2",
    )
    assert last_pushed("tensorflow") is None


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"reference": 1}'])
def test_a_record_that_cannot_be_read_is_none(text: str, home: Path) -> None:
    (home / "image.json").write_text(text)

    assert last_pushed() is None
