"""What executors unpack: the environment of their Python, and whatever else a job names."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass

from launchers.core.model.problems import Problem
from launchers.core.paths import is_elsewhere
from launchers.core.spark.master import Kind
from launchers.spark.catalogue import RULES
from launchers.spark.document import CODE
from launchers.spark.rules.paths import problems_in_place

# An archive without a name of its own is the executors' environment.
ENVIRONMENT = "environment"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
# What Spark unpacks (Utils.unpack of Spark 3.5): it leaves any other file as it is.
_UNPACKED = (".tar.gz", ".tgz", ".zip", ".tar", ".jar")


@dataclass(frozen=True)
class Archive:
    """One archive.

    Attributes:
        place: A file of this machine, absolute, or the URL of one elsewhere.
        name: The folder beside an executor that it is unpacked to.
    """

    place: str
    name: str

    @property
    def text(self) -> str:
        """As spark-submit takes it."""
        return f"{self.place}#{self.name}"


def read_archives(
    given: Sequence[str], kind: Kind | None
) -> tuple[tuple[Archive, ...], list[Problem]]:
    """What ``--archive`` names. Looks whether the files are there; reads none.

    Args:
        kind: Of the cluster; None where ``--master`` is no good.
    """
    archives: list[Archive] = []
    problems: list[Problem] = []
    for text in given:
        place, _, name = text.partition("#")
        archive = Archive(_whole(place), name or ENVIRONMENT)
        problems += _problems_of(text, archive, {one.name for one in archives})
        archives.append(archive)
    if archives and kind == "local":
        found = f"--archive {given[0]} with --master local"
        problems.append(RULES["spark-archive-local"].at("--archive", found))
    return tuple(archives), problems


def _whole(place: str) -> str:
    return place if is_elsewhere(place) else os.path.abspath(os.path.expanduser(place))


def _problems_of(text: str, archive: Archive, taken: set[str]) -> list[Problem]:
    where, problems = "--archive", problems_in_place("--archive", archive.place)
    if not _NAME.fullmatch(archive.name):
        found, expected = f"{text}: the name {archive.name}", "a plain folder's name behind the #"
        problems.append(RULES["spark-archive-name"].at(where, found, expected))
    elif archive.name == CODE or archive.name in taken:
        found = f"{text}: the name {archive.name} is taken"
        problems.append(RULES["spark-archive-name"].at(where, found, "a name for each archive"))
    if not archive.place.lower().endswith(_UNPACKED):
        problems.append(
            RULES["spark-archive"].at(where, text, "a name that ends with " + ", ".join(_UNPACKED))
        )
    elif not is_elsewhere(archive.place) and not os.path.isfile(archive.place):
        found = f"{archive.place} (no such file)"
        problems.append(RULES["spark-archive"].at(where, found, "an archive that exists"))
    return problems
