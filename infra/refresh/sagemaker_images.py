"""Makes launchers/sagemaker/tables/images.json: AWS's training images, their Horovod, registries.

Versions, their short names and the registry of each region are those of the installed sagemaker
SDK 2.x; what is inside each image comes from sagemaker_dockerfiles.json; a region's domain is
botocore's.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from infra.refresh.files import SAGEMAKER, Document, file_of, main, read_json, version_of

FILE = SAGEMAKER / "tables" / "images.json"
DOCKERFILES = Path(__file__).with_name("sagemaker_dockerfiles.json")
FRAMEWORKS = ("tensorflow", "pytorch")

# What an image runs first is the agent's (entry_scripts.json in entrypoints/).
_STARTS = ("entry", "scripts")
# In the SDK's words of before 2020, `py3` alone is this Python.
_PLAIN_PYTHON_3 = "3.6"


def make(options: argparse.Namespace, old: Document) -> Document:
    """The SDK's versions and the Dockerfiles' in one table, sorted by framework and version."""
    read = read_json(DOCKERFILES)
    rows = {
        (row.pop("framework"), row.pop("version")): {
            name: value for name, value in row.items() if name not in _STARTS
        }
        for row in read["images"]
    }
    offered: dict[tuple[str, str], set[str]] = {}
    registries: dict[str, str] = {}
    accounts: set[str] = set()
    aliases: Document = {}
    for framework in FRAMEWORKS:
        sdk = read_json(file_of("sagemaker", f"image_uri_config/{framework}.json"))["training"]
        aliases[framework] = sdk["version_aliases"]
        for version, entry in sdk["versions"].items():
            accounts |= _accounts(entry)
            if entry.get("repository") == f"{framework}-training":
                registries.update(entry["registries"])
                rows.setdefault((framework, version), {"python": _python(entry)})
                offered[framework, version] = set(entry["registries"])
    for key, regions in offered.items():
        if missing := sorted(set(registries) - regions):
            rows[key]["not_in"] = missing
    for framework in FRAMEWORKS:
        known = {version for of, version in rows if of == framework}
        aliases[framework] = {
            short: version for short, version in aliases[framework].items() if version in known
        }
    return {
        "about": "AWS Deep Learning Containers for training. Generated; do not edit.",
        "sources": {
            "versions": f"sagemaker {version_of('sagemaker')}, image_uri_config",
            "registries": f"sagemaker {version_of('sagemaker')}, image_uri_config",
            "domains": f"botocore {version_of('botocore')}, partitions.json",
            "contents": read["sources"],
            "python": "the guard and the agent are written for Python 3.8 (entrypoints/)",
        },
        "date": "",
        "python_minimum": "3.8",
        "aliases": aliases,
        "registries": dict(sorted(registries.items())),
        "domains": _domains(registries),
        # Registries of images from before 2020, which are recognised and not offered.
        "older_accounts": sorted(accounts - set(registries.values())),
        "end_of_patch": read["end_of_patch"],
        "images": {"-".join(key): rows[key] for key in sorted(rows, key=_order)},
    }


def _accounts(entry: Document) -> set[str]:
    parts = [entry, *(part for part in entry.values() if isinstance(part, dict))]
    return {account for part in parts for account in part.get("registries", {}).values()}


def _order(key: tuple[str, str]) -> tuple[int, list[int]]:
    framework, version = key
    return FRAMEWORKS.index(framework), [int(part) for part in version.split(".")]


def _python(entry: Document) -> str:
    """The newest Python of a version whose Dockerfiles were not read, by the SDK's table."""
    numbers = [int(name[3:]) for name in entry["py_versions"] if re.fullmatch(r"py3\d+", name)]
    return f"3.{max(numbers)}" if numbers else _PLAIN_PYTHON_3


def _domains(registries: dict[str, str]) -> dict[str, str]:
    """By region, where it is not amazonaws.com."""
    partitions = read_json(file_of("botocore", "data/partitions.json"))["partitions"]
    found = {}
    for region in sorted(registries):
        for partition in partitions:
            domain = partition["outputs"]["dnsSuffix"]
            if re.match(partition["regionRegex"], region) and domain != "amazonaws.com":
                found[region] = domain
    return found


if __name__ == "__main__":
    raise SystemExit(main("infra.refresh.sagemaker_images", FILE, make))
