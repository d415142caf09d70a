"""From a document and options to containers that can be created, and the list of deviations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from launchers.core.containers import Conduct, Container
from launchers.core.plan import counted
from launchers.core.problems import LaunchError, Problem
from launchers.core.provider import JobDefinition
from launchers.core.source_bundle import SourceBundle
from launchers.rehearsal import secrets
from launchers.rehearsal.channels import fill, local_channels
from launchers.rehearsal.cluster import Limits
from launchers.rehearsal.code import archive_of_bundle, archive_of_source, with_code
from launchers.rehearsal.options import RehearsalOptions
from launchers.rehearsal.outcome import Expected
from launchers.rehearsal.resources import shares
from launchers.rehearsal.watching import make_hook, watched
from launchers.rehearsal.workplace import Workplace


class Rehearsable(Protocol):
    """What a rehearsal needs of a provider; see :class:`launchers.core.provider.Provider`."""

    def contract(
        self,
        definition: JobDefinition,
        ranks_per_host: int | None = None,
        serve_code: bool = True,
    ) -> list[Container]:
        """What each host of the job would see."""

    def conduct(self, definition: JobDefinition) -> Conduct:
        """How the job would be ended."""

    def is_guarded(self, definition: JobDefinition) -> bool:
        """Whether the document itself starts our guard in every rank."""


@dataclass(frozen=True)
class Stage:
    """All that has to be there before the first container is created.

    Attributes:
        objects: ``bucket/key`` -> file, for an object store beside the containers.
        deviations: What is not as in the cloud, one line each.
        notes: What else a person should know.
        work: A folder of the rehearsal, gone with it.
    """

    containers: tuple[Container, ...]
    conduct: Conduct
    expected: Expected
    limits: Limits
    image: str
    work: Path
    objects: Mapping[str, Path]
    deviations: tuple[str, ...]
    notes: tuple[str, ...]


def stage(
    provider: Rehearsable,
    definition: JobDefinition,
    bundle: SourceBundle | None,
    options: RehearsalOptions,
    client: Any,
    workplace: Workplace,
) -> Stage:
    """Read the contract, bring code, data and credentials into place. Starts nothing.

    Raises:
        LaunchError: A flag is wrong, or something that it names is not there.
    """
    serve = not (options.with_credentials and bundle is None and options.source is None)
    containers = provider.contract(definition, options.ranks_per_host, serve)
    local = local_channels(options.local_channels, containers)
    expected = _expected(definition, containers, options)
    deviations, objects = [], {}
    if options.image is not None:
        deviations.append(f"image {options.image} instead of {containers[0].image}")
        containers = [replace(container, image=options.image) for container in containers]
    if expected.world_size != expected.document_world_size:
        deviations.append(
            f"{counted(options.ranks_per_host or 0, 'rank')} a host: world size "
            f"{expected.world_size} instead of {expected.document_world_size}"
        )
    given = shares(client, containers, options.memory)
    deviations += [given.gpu_note] if given.gpu_note else []
    guarded = provider.is_guarded(definition)
    if containers[0].code and serve:
        archive, note = _code(definition, bundle, options, workplace.folder, guarded)
        deviations += [note] if note else []
        containers = with_code(containers, archive)
        if containers[0].code.startswith("s3://"):
            objects[containers[0].code.removeprefix("s3://")] = archive
            deviations.append(f"{containers[0].code} is served beside the containers")
            containers = secrets.with_placeholder(containers)
    if not guarded:
        hook = workplace.folder / "hook"
        processes = len(containers[0].ranks)
        make_hook(hook, expected.world_size, len(containers), processes)
        containers = watched(containers, hook)
        deviations.append("the guard's watch on hvd.init() is mounted and put on PYTHONPATH")
    if options.with_credentials:
        workplace.make_memory()
        file = secrets.write_credentials(workplace.memory)
        containers = secrets.with_credentials(containers, file)
        deviations.append("this machine's AWS credentials, from a read-only file in memory")
    filled = fill(containers, local, workplace.folder, options.with_credentials)
    return Stage(
        containers=filled.containers,
        conduct=provider.conduct(definition),
        expected=expected,
        limits=given.limits,
        image=filled.containers[0].image,
        work=workplace.folder,
        objects=objects,
        deviations=(*deviations, *filled.notes),
        notes=(),
    )


def _expected(
    definition: JobDefinition, containers: Sequence[Container], options: RehearsalOptions
) -> Expected:
    whole = options.world_size or definition.world_size
    hosts = len(containers)
    here = whole
    if options.ranks_per_host is not None:
        if not any(container.ranks for container in containers):
            raise LaunchError(
                Problem(
                    "--ranks-per-host",
                    str(options.ranks_per_host),
                    "a document that starts ranks on each host",
                    rule="ranks-per-host",
                )
            )
        here = options.ranks_per_host * hosts
        if here > whole:
            raise LaunchError(
                Problem(
                    "--ranks-per-host",
                    f"{options.ranks_per_host} on each of {hosts} hosts",
                    f"at most the document's {whole} ranks",
                    rule="ranks-per-host",
                )
            )
    return Expected(here, whole, hosts)


def _code(
    definition: JobDefinition,
    bundle: SourceBundle | None,
    options: RehearsalOptions,
    work: Path,
    guarded: bool,
) -> tuple[Path, str]:
    """The code's archive, and a deviation where it is not known to be the document's."""
    if bundle is not None:
        return archive_of_bundle(bundle, work), ""
    if options.source is None:
        raise LaunchError(
            Problem(
                "--source",
                "missing",
                "the folder or tar that the document's code comes from",
                "the document names only an address: --source DIR",
                rule="rehearsal-source",
            )
        )
    source = Path(options.source).expanduser().absolute()
    archive = archive_of_source(source, work, guarded)
    return archive, f"code from {options.source}"
