"""Versions of installed packages, read without importing what reads them elsewhere."""

from __future__ import annotations

import sys
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

from launchers.core.sdk.installed import installed_version


def test_every_package_of_this_environment_has_the_version_that_python_says() -> None:
    names = {found.metadata["Name"] for found in metadata.distributions()}
    assert names
    assert {name: installed_version(name) for name in names} == {
        name: metadata.version(name) for name in names
    }


def test_a_package_that_is_not_there_has_none() -> None:
    assert installed_version("no-such-package-anywhere") == ""


@pytest.mark.parametrize(
    ("folder", "file", "text", "version"),
    [
        ("Some_Package-1.2.dist-info", "METADATA", "Name: x\nVersion: 1.2\n", "1.2"),
        ("some.package-1.dist-info", "METADATA", "Name: x\n\nVersion: 9\n", "unknown"),
        ("some_package.egg-info", "PKG-INFO", "Version: 3.0\n", "3.0"),
        ("some_package-4-py3.11.egg-info", None, "Version: 4\n", "4"),
        ("some_package-5.dist-info", "RECORD", "", "unknown"),
    ],
)
def test_metadata_is_read_in_all_its_forms(
    folder: str,
    file: str | None,
    text: str,
    version: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    place = tmp_path / folder
    if file is not None:
        place.mkdir()
        place /= file
    place.write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert installed_version("some-package") == version


def test_a_package_in_an_archive_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = tmp_path / "packages.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr("packed_one-7.dist-info/METADATA", "Name: packed-one\nVersion: 7\n")
    monkeypatch.setattr(sys, "path", [str(archive), *sys.path])
    assert installed_version("packed-one") == "7"
