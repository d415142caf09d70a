"""What an executor finds out about itself."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from launch_runtime.host import network
from launch_runtime.spark import probe


def test_a_folder_has_to_be_seen_and_written_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    marker, elsewhere = tmp_path / "marker", tmp_path / "none" / "marker"
    marker.touch()
    told = {"/data": str(marker), "/model": str(elsewhere)}
    found = probe.look(told, "", others_elsewhere=False, driver_address="127.0.0.1")
    assert found["folders"] == {"/data": "", "/model": "is not seen"}
    assert list(tmp_path.iterdir()) == [marker]

    # As where the executor runs as another user; root may write to any folder.
    def refused(path: str, mode: str = "r") -> None:
        raise PermissionError(13, os.strerror(13), path)

    monkeypatch.setattr(probe, "open", refused, raising=False)
    found = probe.look(told, "", others_elsewhere=False, driver_address="127.0.0.1")
    assert found["folders"]["/data"] == "cannot be written (Permission denied)"


def test_an_own_name_that_means_loopback_is_trouble_where_others_run_elsewhere(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(network, "resolve", lambda name: "127.0.1.1")
    found = probe.look({}, "", others_elsewhere=True, driver_address="127.0.0.1")
    assert "127.0.1.1" in found["name_trouble"]
    found = probe.look({}, "", others_elsewhere=False, driver_address="127.0.0.1")
    assert found["name_trouble"] == ""


@pytest.mark.parametrize(("driver", "interface"), [("127.0.0.1", "lo"), ("no.such.invalid", "")])
def test_an_executor_tells_by_which_interface_it_reaches_the_driver(
    driver: str, interface: str
) -> None:
    found = probe.look({}, "", others_elsewhere=False, driver_address=driver)
    assert found["interface"] == interface
