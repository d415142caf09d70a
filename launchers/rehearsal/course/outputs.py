"""Folders out of the containers: the outcome for the user, checkpoints for the next attempt."""

from __future__ import annotations

import errno
import tarfile
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from launchers.core.model.containers import Container
from launchers.rehearsal.course.unpack import Unpacked, differences, unpack
from launchers.rehearsal.engine.cluster import Cluster

# What this machine's disk says, not the container.
_OURS = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EFBIG, errno.EACCES)


@dataclass
class Outputs:
    """What came out.

    Attributes:
        folders: ``model of worker-1`` -> its folder; only those that held a file.
        differences: What differs between the hosts.
        refused: What stayed behind, with the reason.
    """

    folders: dict[str, Path] = field(default_factory=dict)
    differences: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)


def collect_outputs(cluster: Cluster, containers: Sequence[Container], target: Path) -> Outputs:
    """Copy every collected folder of every container to ``target/<host>/<name>``. May block.

    Raises:
        OSError: ``target`` cannot be written.
    """
    outputs = Outputs()
    names = dict.fromkeys(name for container in containers for name in container.collected)
    for name in names:
        hosts: dict[str, dict[str, str]] = {}
        for container in containers:
            if name not in container.collected:
                continue
            folder = target / container.name / name
            found = _copied(cluster, container.name, container.collected[name], folder)
            hosts[container.name] = found.files
            outputs.refused += [f"{container.name} {name}: {text}" for text in found.refused]
            if found.files:
                outputs.folders[f"{name} of {container.name}"] = folder
            else:
                _remove_empty(folder, target)
        outputs.differences += [f"{name}: {line}" for line in differences(hosts)]
    return outputs


def carry_over(cluster: Cluster, containers: Sequence[Container], work: Path) -> dict[str, Path]:
    """What the service keeps over an interruption: path in every container -> its new file.

    The hosts' folders become one, as in the one place in the cloud that all of them are copied
    to; where two hosts have a file of one name, the newer one is kept.
    """
    kept: dict[str, tuple[float, Path]] = {}
    for container in containers:
        for path in container.kept:
            folder = work / container.name / path.strip("/").replace("/", "-")
            for name in _copied(cluster, container.name, path, folder).files:
                file = folder / name
                if not file.is_symlink():
                    _keep_newer(kept, f"{path}/{name}", file)
    return {path: file for path, (_, file) in kept.items()}


def _keep_newer(kept: dict[str, tuple[float, Path]], path: str, file: Path) -> None:
    time = file.stat().st_mtime
    if path not in kept or time > kept[path][0]:
        kept[path] = (time, file)


def _copied(cluster: Cluster, host: str, path: str, folder: Path) -> Unpacked:
    from docker.errors import DockerException, NotFound

    try:
        with closing(cluster.folder(host, path)) as stream:
            return unpack(stream, folder)
    except NotFound:
        return Unpacked()  # a folder that the job's own code makes, if it does
    except OSError as error:
        if error.errno in _OURS:
            error.filename = error.filename or str(folder)
            raise
        return _unread(path, error)
    except (DockerException, tarfile.TarError, KeyError) as error:
        return _unread(path, error)


def _unread(path: str, error: Exception) -> Unpacked:
    return Unpacked(refused=[f"{path} cannot be read: {type(error).__name__}"])


def _remove_empty(folder: Path, root: Path) -> None:
    """Remove the folders that a copy without files made, up to ``root``."""
    inner = sorted((path for path in folder.rglob("*") if path.is_dir()), reverse=True)
    for path in (*inner, folder, folder.parent):
        if path == root or not path.is_dir() or any(path.iterdir()):
            continue
        path.rmdir()
