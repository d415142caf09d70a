"""The locks hold what the ranges allow: every package, one version for a Python, its hashes."""

from __future__ import annotations

import re

import pytest
import tomli
from packaging.requirements import Requirement

from infra.bootstrap import locks, requirements
from infra.bootstrap.locks import Locked
from infra.refresh.locks import GROUPS, marker, pins
from tests.places import ROOT

PYTHONS = ("3.10", "3.11", "3.12")
PROJECT = tomli.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
# group -> the ranges that it was made from
RANGES = {
    locks.BUILD: list(requirements.lines(ROOT / locks.FOLDER / "build.txt")),
    locks.HOROVOD: list(requirements.lines(ROOT / locks.FOLDER / "horovod.txt")),
    locks.LAUNCHER: PROJECT["dependencies"],
    locks.AWS: EXTRAS["aws"],
    locks.GCP: EXTRAS["gcp"],
    locks.DATA: EXTRAS["data"],
    locks.DASK: EXTRAS["dask"],
    locks.SPARK: EXTRAS["spark"],
    locks.SCALING: EXTRAS["scaling"],
    locks.TRAINING: [*requirements.lines(ROOT / requirements.REQUIREMENTS), *EXTRAS["train"]],
    locks.DEVELOPMENT: list(requirements.lines(ROOT / requirements.DEVELOPMENT)),
}


def holds(named: str, python: str) -> bool:
    """Whether a package with that marker is installed on Linux with that Python."""
    environment = {"python_version": python, "python_full_version": f"{python}.7"}
    said = Requirement(f"one ; {named}").marker if named else None
    return said is None or said.evaluate({**environment, "sys_platform": "linux"})


def installed(group: str, python: str) -> dict[str, Locked]:
    """What a Python gets from the lock of ``group`` and of those beside it."""
    packages = locks.read(ROOT, *GROUPS[group][1], group)
    there = [package for package in packages if holds(package.marker, python)]
    pinned = {package[:2] for package in there}
    assert len(dict(pinned)) == len(pinned), "two versions of one package"
    return {package.name: package for package in there}


@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize("group", GROUPS)
def test_every_range_has_one_version_inside_it(group: str, python: str) -> None:
    there = installed(group, python)
    for line in RANGES[group]:
        wanted = Requirement(line)
        if wanted.marker is None or holds(str(wanted.marker), python):
            found = there[requirements.name(line)]
            assert wanted.specifier.contains(found.version), line


@pytest.mark.parametrize("group", GROUPS)
def test_every_locked_package_has_hashes_and_no_place_to_fetch_it_from(group: str) -> None:
    text = locks.file_of(ROOT, group).read_text()
    for package in locks.parse(text):
        hashes = package.text.splitlines()[1:]
        assert hashes
        assert all(re.fullmatch(r"    --hash=sha256:[0-9a-f]{64}( \\)?", line) for line in hashes)
    assert "://" not in text
    assert "--index-url" not in text


def test_no_lock_repeats_what_those_beside_it_hold() -> None:
    for group, (_, beside) in GROUPS.items():
        others = set(locks.read(ROOT, *beside)) if beside else set()
        assert others.isdisjoint(locks.read(ROOT, group))


def test_what_is_the_same_everywhere_has_no_marker() -> None:
    places = [("3.10", "linux"), ("3.10", "win32"), ("3.11", "linux"), ("3.11", "win32")]
    assert marker(places, places) == ""
    assert marker(places[:2], places) == "python_version == '3.10'"
    assert marker(places[1::2], places) == "sys_platform == 'win32'"
    assert marker(places[:1], places) == "python_version == '3.10' and sys_platform == 'linux'"


def test_an_unpinned_line_is_no_lock() -> None:
    with pytest.raises(ValueError, match="rich>=13"):
        list(locks.parse("# made by hand\nrich>=13\n"))


def test_a_lock_is_read_package_by_package() -> None:
    text = "# head\na-b==1.0 ; sys_platform == 'win32' \\\n    --hash=sha256:00\nc==2\n"
    assert [one[:3] for one in locks.parse(text)] == [
        ("a-b", "1.0", "sys_platform == 'win32'"),
        ("c", "2", ""),
    ]


@pytest.mark.parametrize("python", PYTHONS)
def test_what_is_locked_for_a_python_is_what_uv_is_told_to_prefer(python: str) -> None:
    preferred = {(one.name, one.version) for one in locks.parse(pins(list(GROUPS), python))}

    everywhere = locks.read(ROOT, *GROUPS)
    assert preferred == {one[:2] for one in everywhere if holds(one.marker, python)}
