"""An installed `launch` is whole: what lies beside the package in a clone comes with the wheel."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.infra.bootstrap.wheels import built_wheel
from tests.places import ROOT

pytestmark = pytest.mark.processes

FOLDERS = ("entrypoints", "infra/images", "templates")
PRINT_FOLDERS = """
from launchers.core import paths
for folder in (paths.entrypoints_folder, paths.images_folder, paths.templates_folder):
    print(folder())
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def site(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that holds the installed launcher alone; what it needs is this environment's."""
    folder = tmp_path_factory.mktemp("site")
    options = ["--no-deps", "--no-index", "--target", str(folder)]
    subprocess.run(
        [sys.executable, "-m", "pip", "install", *options, str(wheel)],
        check=True,
        capture_output=True,
        stdin=subprocess.DEVNULL,
    )
    return folder


def run_there(site: Path, folder: Path, *command: str) -> str:
    return subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(site), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def test_the_wheel_has_every_module_and_shipped_file(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    files = [path for name in ("launchers", *FOLDERS) for path in (ROOT / name).rglob("*")]
    relative = [path.relative_to(ROOT) for path in files if path.is_file()]
    expected = {str(path) for path in relative if not _is_cache(path)}

    in_clone = {name.removeprefix("launchers/_shipped/") for name in names}
    assert in_clone == expected
    assert {name.split("/")[0] for name in names} == {"launchers"}


def test_an_installed_launcher_finds_the_folders_that_came_with_it(
    site: Path, tmp_path: Path
) -> None:
    said = run_there(site, tmp_path, "-c", PRINT_FOLDERS)

    assert said.split() == [str(site / "launchers" / "_shipped" / name) for name in FOLDERS]


def test_a_clone_uses_its_own_folders(tmp_path: Path) -> None:
    said = run_there(ROOT, tmp_path, "-c", PRINT_FOLDERS)

    assert said.split() == [str(ROOT / name) for name in FOLDERS]


def test_the_installed_command_starts(site: Path, tmp_path: Path) -> None:
    said = run_there(site, tmp_path, str(site / "bin" / "launch"), "--help")

    assert "local" in said


def test_a_package_without_its_folders_says_how_to_mend_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from launchers.core import paths
    from launchers.core.model.problems import LaunchError

    monkeypatch.setattr(paths, "_PACKAGE", tmp_path / "launchers")

    with pytest.raises(LaunchError, match=r"no folder templates.*pip install"):
        paths.templates_folder()


def _is_cache(path: Path) -> bool:
    """Whether a tool left it."""
    return any(part == "__pycache__" or part.endswith("_cache") for part in path.parts)
