"""The version of an installed package, without importing it.

importlib.metadata says the same, and costs a dry run a tenth of its time: it brings the email
package for the few header lines that are read here. It is asked where the path holds archives.
"""

from __future__ import annotations

import os
import re
import sys
from functools import cache

_METADATA = {"dist-info": "METADATA", "egg-info": "PKG-INFO"}


def installed_version(package: str) -> str:
    """The installed version; empty where there is none, ``unknown`` where it does not say."""
    if any(os.path.isfile(entry) for entry in sys.path):
        return _by_the_library(package)
    wanted = _normal(package)
    for entry in sys.path:
        folder = _packages_in(entry or ".").get(wanted)
        if folder is not None:
            return _version_in(folder) or "unknown"
    return ""


@cache
def _packages_in(entry: str) -> dict[str, str]:
    """Normal name -> metadata's folder, or file, of each package in an entry of the path."""
    try:
        names = sorted(os.listdir(entry))
    except OSError:
        return {}
    found: dict[str, str] = {}
    for name in names:
        stem, _, kind = name.rpartition(".")
        if kind in _METADATA:
            found.setdefault(_normal(stem.partition("-")[0]), os.path.join(entry, name))
    return found


def _version_in(folder: str) -> str:
    # An old egg-info may be the file itself.
    path = os.path.join(folder, _METADATA[folder.rpartition(".")[2]])
    try:
        with open(path if os.path.isdir(folder) else folder, encoding="utf-8") as lines:
            for line in lines:
                if not line.strip():
                    break
                if line.lower().startswith("version:"):
                    return line.partition(":")[2].strip()
    except (OSError, UnicodeDecodeError):
        return ""
    return ""


def _by_the_library(package: str) -> str:
    from importlib import metadata

    try:
        # Typed as str; None where the metadata of a broken installation lacks it.
        version: str | None = metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""
    return version or "unknown"


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
