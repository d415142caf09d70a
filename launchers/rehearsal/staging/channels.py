"""Input data for the containers: a folder of this machine, a copy of the cloud's, or nothing."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from launchers.core.model.containers import Channel, Container, DataSource
from launchers.core.model.problems import LaunchError, Problem, did_you_mean
from launchers.core.paths import at_home
from launchers.rehearsal.catalogue import RULES


def local_channels(words: Sequence[str], containers: Sequence[Container]) -> dict[str, Path]:
    """The folders of ``--local-channel NAME=DIR``.

    Raises:
        LaunchError: All that is wrong with them.
    """
    known = {channel.name for container in containers for channel in container.channels}
    found: dict[str, Path] = {}
    problems = []
    for word in words:
        name, equals, place = word.partition("=")
        folder = at_home(place).absolute()
        if not equals or not place:
            problems.append(_wrong(word, "not NAME=DIR", "train=data/train"))
        elif name not in known:
            hint = did_you_mean(name, known)
            expected = "one of " + ", ".join(sorted(known)) if known else "a document with channels"
            problems.append(_wrong(word, f"no channel {name} in the document", expected, hint))
        elif not folder.is_dir():
            problems.append(_wrong(word, f"{place} is no folder", "a folder that exists"))
        else:
            found[name] = folder
    if problems:
        raise LaunchError(problems)
    return found


def fill(
    containers: Sequence[Container],
    local: Mapping[str, Path],
    work: Path,
    source: DataSource | None = None,
) -> tuple[list[Container], list[str]]:
    """Give every channel its data; what differs from the cloud, a line a channel. May block on
    the source.

    Args:
        local: Channel -> folder of this machine; mounted read-only.
        work: A folder of the rehearsal, for what is downloaded or divided.
        source: Has the data of channels that no folder is given for; None leaves them empty.

    Raises:
        LaunchError: The source does not give the data.
    """
    names = [container.name for container in containers]
    notes: dict[str, str] = {}
    filled = []
    for index, container in enumerate(containers):
        mounts, empty = dict(container.mounts), list(container.folders)
        for channel in container.channels:
            folder = local.get(channel.name)
            if folder is not None:
                notes[channel.name] = f"{folder} instead of {channel.uri or 'the cloud'}"
            elif not channel.streamed and source and channel.uri.startswith(source.scheme):
                folder = _fetched(channel, work, source)
                notes[channel.name] = f"copied from {source.name}, {channel.uri}"
            if channel.streamed:
                notes[channel.name] = "empty: a channel in Pipe mode is not rehearsed"
                folder = None
            if folder is None:
                notes.setdefault(
                    channel.name, f"empty (--local-channel {channel.name}=DIR gives it data)"
                )
                empty.append(channel.path)
                continue
            share = _share(folder, work / "shares" / channel.name, index, len(names))
            mounts[channel.path] = str(share if channel.sharded and len(names) > 1 else folder)
        filled.append(replace(container, mounts=mounts, folders=tuple(empty)))
    return filled, [f"channel {name}: {text}" for name, text in notes.items()]


def _fetched(channel: Channel, work: Path, source: DataSource) -> Path:
    folder = work / "channels" / channel.name
    if not folder.exists():
        folder.mkdir(parents=True)
        source.fetch(channel.uri, folder, f"channel {channel.name}")
    return folder


def _share(folder: Path, shares: Path, index: int, hosts: int) -> Path:
    """A host's part of a channel that is divided by file: every ``hosts``-th, in order of names.

    Hard links where the file system allows, so that no data is copied.
    """
    share = shares / str(index)
    if share.exists():
        return share
    share.mkdir(parents=True)
    files = sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    for path in files[index::hosts]:
        target = share / path.relative_to(folder)
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(path, target)
        except OSError:
            shutil.copyfile(path, target)
    return share


def _wrong(word: str, found: str, expected: str, fix: str = "") -> Problem:
    return RULES["local-channel"].at(f"--local-channel {word}", found, expected, fix)
