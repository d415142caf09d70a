"""What the files say of a job: the user's defaults, and a launch.yaml with its profile or sweep."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from launchers.cli.catalogue import RULES
from launchers.core.model.problems import LaunchError, Problem
from launchers.core.provider import Provider
from launchers.core.reading.user_defaults import defaults_file, problems_in_permissions, shown
from launchers.core.spec.layers import DEFAULT_FILE, Layer, stacked
from launchers.core.spec.targets import targets_of
from launchers.core.spec.variables import PROFILE

# Keys whose values are paths from the file's own folder.
_PATHS = ("script", "source", "requirements")


@dataclass(frozen=True)
class Files:
    """What was read.

    Attributes:
        below: The user's defaults, where there are some.
        jobs: What the launch.yaml says, a layer a job of its sweep; one that is empty where no file
            is read.
        named: What was read, for the plan's first line.
        is_sweep: Whether the launch.yaml has one.
        in_the_open: Those that a team shares, where no secret may stand.
    """

    below: tuple[Layer, ...] = ()
    jobs: tuple[Layer, ...] = (Layer(),)
    named: tuple[str, ...] = ()
    is_sweep: bool = False
    in_the_open: tuple[Layer, ...] = ()


def read_files(provider: Provider, values: Mapping[str, Any], warnings: list[Problem]) -> Files:
    """Those that a command line of ``provider`` reads; no YAML is imported where there is none.

    Args:
        values: ``file`` (``-f``), ``no_file``, ``no_defaults`` and ``profile`` of its flags.
        warnings: Takes what does not stop the job.

    Raises:
        LaunchError: With every mistake of the first file that has some; or there is no such
            profile.
    """
    own = None if values.get("no_defaults") else defaults_file()
    below = (_defaults(provider, own, warnings),) if own else ()
    named = (shown(own),) if own else ()
    profile, said_by = _profile(values.get("profile"))
    path = Path(values.get("file") or DEFAULT_FILE)
    if values.get("no_file") or (not values.get("file") and not os.path.lexists(path)):
        if profile:
            from launchers.core.reading.profiles import unknown_profile

            raise LaunchError(unknown_profile(profile, said_by, "", {}))
        return Files(below, named=named)
    from launchers.core.reading.job_file import JobFile, read_file

    found: JobFile = read_file(path, profile, said_by)
    plain = _layer(provider, found.plain, path, str(path))
    of_profile = f"{path}, profile {profile}"
    base = stacked((plain, _layer(provider, found.profile, path, of_profile)))
    jobs = [_layer(provider, one, path, f"{path}, sweep") for one in found.jobs]
    if not found.is_sweep:
        jobs = [Layer(jobs[0].values, base.origins)]
    else:
        jobs = [_with_origins_of(one, base) for one in jobs]
    named = (*named, of_profile if profile else str(path))
    return Files(below, tuple(jobs), named, found.is_sweep, tuple(jobs))


def _profile(given: str | None) -> tuple[str, str]:
    """The profile that is asked for, or nothing, and what asks for it."""
    if given is not None:
        return given, "--profile"
    return os.environ.get(PROFILE, ""), PROFILE


def _defaults(provider: Provider, path: Path, warnings: list[Problem]) -> Layer:
    from launchers.core.reading.job_file import read_defaults

    layer = _flat(provider, read_defaults(path), shown(path))
    targets = targets_of(layer.values.get("notify", ()))
    warnings += problems_in_permissions(path, any(one.is_address for one in targets))
    return layer


def _layer(provider: Provider, fields: Mapping[str, Any], path: Path, origin: str) -> Layer:
    """The fields of a launch.yaml, with its paths from this folder."""
    folder = path.parent
    placed = dict(fields)
    for name in _PATHS:
        if placed.get(name) and folder != Path("."):
            placed[name] = os.path.join(folder, os.path.expanduser(placed[name]))
    if placed.get("module") and not placed.get("source") and folder != Path("."):
        placed["source"] = str(folder)
    return _flat(provider, placed, origin)


def _flat(provider: Provider, fields: Mapping[str, Any], origin: str) -> Layer:
    """The common fields and the provider's own; what is another provider's is left out."""
    from launchers.core.registry import PROVIDERS

    common = {name: value for name, value in fields.items() if name not in PROVIDERS}
    values = {**common, **fields.get(provider.name, {})}
    return Layer(values, dict.fromkeys(values, origin))


def _with_origins_of(job: Layer, base: Layer) -> Layer:
    """A sweep's job, where what its entry left as it was has the file's own origin."""
    kept = {
        name: origin
        for name, origin in base.origins.items()
        if name in job.values and job.values[name] == base.values[name]
    }
    return Layer(job.values, {**job.origins, **kept})


def addresses_in_the_open(*layers: Layer) -> list[Problem]:
    """A problem for each webhook's address on a command line or in a file that a team shares: it
    holds a token."""
    return list(
        dict.fromkeys(
            RULES["notify-address"].at(layer.origins["notify"], target.shown)
            for layer in layers
            for target in targets_of(layer.values.get("notify", ()))
            if target.is_address
        )
    )
