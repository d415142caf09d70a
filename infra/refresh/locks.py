"""Makes requirements/*.lock from the ranges: versions and hashes for Python 3.10 to 3.12.

It needs uv on PATH (`pip install uv`) and the package index. What is locked stays where the ranges
still allow it; `--upgrade` takes the newest instead.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from packaging.markers import Marker

from infra.bootstrap import locks
from infra.bootstrap.locks import Locked
from infra.refresh.files import CLONE

PROJECT, ALL, TOOLS = "pyproject.toml", "requirements.txt", "requirements-dev.txt"
# group -> what is resolved for it, and the groups whose packages it has besides its own
GROUPS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    locks.BUILD: ((f"{locks.FOLDER}/build.txt",), ()),
    locks.HOROVOD: ((f"{locks.FOLDER}/horovod.txt",), ()),
    locks.LAUNCHER: ((PROJECT,), ()),
    locks.AWS: ((PROJECT, "--extra=aws"), (locks.LAUNCHER,)),
    locks.GCP: ((PROJECT, "--extra=gcp"), (locks.LAUNCHER,)),
    locks.DATA: ((PROJECT, "--extra=data"), (locks.LAUNCHER,)),
    locks.DASK: ((PROJECT, "--extra=dask"), (locks.LAUNCHER, locks.DATA)),
    locks.SPARK: ((PROJECT, "--extra=spark"), (locks.LAUNCHER, locks.DATA)),
    locks.SCALING: ((PROJECT, "--extra=scaling"), (locks.LAUNCHER,)),
    locks.TRAINING: ((ALL,), (locks.BUILD, locks.LAUNCHER, locks.AWS, locks.GCP, locks.DATA)),
    locks.DEVELOPMENT: ((ALL, TOOLS), locks.ENVIRONMENT),
}
TOGETHER = (PROJECT, ALL, TOOLS, f"{locks.FOLDER}/build.txt", "--all-extras")
PYTHONS = ("3.10", "3.11", "3.12")
# sys.platform -> uv's word; hashes are of all files of a version, so that they hold for other
# processors too. What runs ranks and tests is for Linux alone.
PLATFORMS = {
    "linux": "x86_64-manylinux_2_28",
    "darwin": "aarch64-apple-darwin",
    "win32": "x86_64-pc-windows-msvc",
}
ANYWHERE = (
    locks.LAUNCHER,
    locks.AWS,
    locks.GCP,
    locks.DATA,
    locks.DASK,
    locks.SPARK,
    locks.SCALING,
)
OPTIONS = ("--generate-hashes", "--no-header", "--no-annotate", "--quiet")
HEAD = """\
# Made by `python -m infra.refresh.locks`; do not edit. Install it with `--require-hashes`{beside}.
"""
# A Python and a platform.
Place = tuple[str, str]


def made(upgrade: bool, folder: Path) -> dict[str, list[Locked]]:
    """The packages of each group. Blocks on the index for minutes.

    For each Python everything is resolved together, so that the groups agree, and then group by
    group; but what builds Horovod, which is old, has a folder of its own.
    """
    found: dict[str, dict[Place, list[Locked]]] = {group: {} for group in GROUPS}
    for python in PYTHONS:
        kept = [group for group in GROUPS if group != locks.HOROVOD and not upgrade]
        everything = folder / f"{python}.txt"
        everything.write_text(pins(kept, python), "utf-8")
        compiled(TOGETHER, everything, (python, "linux"))
        for group, (words, _) in GROUPS.items():
            own = group == locks.HOROVOD
            for platform in PLATFORMS if group in ANYWHERE else ("linux",):
                target = folder / f"{group}-{python}-{platform}.txt"
                target.write_text(pins([group] if own and not upgrade else [], python), "utf-8")
                bound = () if own else (f"--constraints={everything}",)
                place = (python, platform)
                found[group][place] = compiled(words, target, place, *bound)
    return {group: merged(places) for group, places in found.items()}


def compiled(words: Sequence[str], target: Path, place: Place, *more: str) -> list[Locked]:
    """What uv pins for ``words``; what ``target`` holds it prefers."""
    python, platform = place
    where = (f"--python-version={python}", f"--python-platform={PLATFORMS[platform]}")
    command = ["uv", "pip", "compile", *words, *where, *OPTIONS, *more]
    subprocess.run([*command, f"--output-file={target}"], cwd=CLONE, check=True)
    return list(locks.parse(target.read_text("utf-8")))


def merged(places: Mapping[Place, list[Locked]]) -> list[Locked]:
    """One list for all places: what is not the same in all of them has a marker."""
    where: dict[Locked, list[Place]] = {}
    for place, packages in places.items():
        for package in packages:
            where.setdefault(package, []).append(place)
    marked = [package.where(marker(there, places)) for package, there in where.items()]
    return sorted(marked)


def marker(there: Collection[Place], places: Collection[Place]) -> str:
    """What is true in the places ``there`` and in no others of ``places``.

    Example:
        >>> marker([("3.10", "linux")], [("3.10", "linux"), ("3.11", "linux")])
        "python_version == '3.10'"
    """
    if set(there) == set(places):
        return ""
    names = ("python_version", "sys_platform")
    for index, name in enumerate(names):
        values = list(dict.fromkeys(place[index] for place in there))
        if all((place[index] in values) == (place in there) for place in places):
            return " or ".join(f"{name} == '{value}'" for value in values)
    both = (
        " and ".join(f"{n} == '{v}'" for n, v in zip(names, place, strict=True)) for place in there
    )
    return " or ".join(both)


def pins(groups: Collection[str], python: str) -> str:
    """What is locked now for a Python on Linux: the lines that uv shall prefer."""
    there = [group for group in groups if locks.file_of(CLONE, group).is_file()]
    packages = locks.read(CLONE, *there)
    place = {"python_version": python, "sys_platform": "linux"}
    return "".join(
        one.text for one in packages if not one.marker or Marker(one.marker).evaluate(place)
    )


def main() -> int:
    """Writes the locks; 0 when that was possible."""
    parser = argparse.ArgumentParser(prog="python -m infra.refresh.locks")
    parser.add_argument("--upgrade", action="store_true", help="take the newest that is allowed")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        try:
            found = made(options.upgrade, Path(folder))
        except FileNotFoundError as error:
            print(f"{error.filename}: not on PATH; pip install uv", file=sys.stderr)
            return 2
        except subprocess.CalledProcessError as error:
            return error.returncode
    for group, (_, beside) in GROUPS.items():
        others = {package for other in beside for package in found[other]}
        packages = [package for package in found[group] if package not in others]
        said = f", beside {', '.join(beside)}" if beside else ""
        text = HEAD.format(beside=said) + "".join(package.text for package in packages)
        locks.file_of(CLONE, group).write_text(text, "utf-8")
        print(f"{group}.lock: {len(packages)} packages")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
