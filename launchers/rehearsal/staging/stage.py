"""From a document and options to containers that can be created, and the list of deviations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from launchers.core.model.containers import Conduct, Container
from launchers.core.model.jobs import JobDefinition
from launchers.core.model.problems import LaunchError
from launchers.core.paths import at_home
from launchers.core.planning.plan import counted
from launchers.core.records import nonce
from launchers.core.roles import Contract
from launchers.core.source.bundle import SourceBundle
from launchers.core.spec.job import INIT
from launchers.core.strategies import named
from launchers.rehearsal.catalogue import RULES
from launchers.rehearsal.engine.making import Limits
from launchers.rehearsal.engine.volumes import filled_once
from launchers.rehearsal.engine.workplace import Workplace
from launchers.rehearsal.options import RehearsalOptions
from launchers.rehearsal.staging.channels import fill, local_channels
from launchers.rehearsal.staging.code import (
    archive_of_bundle,
    archive_of_source,
    carries_digest,
    with_code,
)
from launchers.rehearsal.staging.expected import Expected, expected_here, taking_part
from launchers.rehearsal.staging.images import Told, have_image, image_or_ours
from launchers.rehearsal.staging.init_hook import make_hook, watched
from launchers.rehearsal.staging.oversubscription import room
from launchers.rehearsal.staging.resources import hardware_unlike, shares

# Names of secrets and where they lie; our guard reads them in the rank.
_SECRETS = "LAUNCH_SECRETS"


@dataclass(frozen=True)
class Stage:
    """All that has to be there before the first container is created.

    Attributes:
        sidecars: Containers that serve those of the job.
        deviations: What is not as in the cloud, one line each.
        work: A folder of the rehearsal, gone with it.
        closed: Addresses that the containers of the job do not reach.
    """

    containers: tuple[Container, ...]
    conduct: Conduct
    expected: Expected
    limits: Limits
    image: str
    work: Path
    sidecars: tuple[Container, ...]
    deviations: tuple[str, ...]
    closed: tuple[str, ...] = ()


def stage(
    contract: Contract,
    definition: JobDefinition,
    bundle: SourceBundle | None,
    options: RehearsalOptions,
    client: Any,
    workplace: Workplace,
    told: Told,
) -> Stage:
    """Read the contract, have its images, bring code, data and credentials into place. Starts
    nothing. May block long, where an image is pulled; ``told`` hears how far it is.

    Raises:
        LaunchError: A flag is wrong, or something that it names is not there.
    """
    staging = _Staging(contract, definition, bundle, options, workplace)
    staging.choose_image(client, told)
    staging.draw_nonce()
    limits = staging.share_machine(client)
    staging.bring_code()
    staging.bring_watch()
    staging.bring_credentials()
    closed = staging.close_machine_account()
    staging.bring_channels()
    staging.share_folders()
    staging.tell_unlike(client)
    return Stage(
        containers=tuple(staging.containers),
        conduct=staging.conduct,
        expected=staging.expected,
        limits=limits,
        image=staging.containers[0].image,
        work=workplace.folder,
        sidecars=tuple(staging.sidecars),
        deviations=tuple(staging.deviations),
        closed=closed,
    )


class _Staging:
    """Containers that become what can be created, step by step; each step notes its deviations."""

    def __init__(
        self,
        contract: Contract,
        definition: JobDefinition,
        bundle: SourceBundle | None,
        options: RehearsalOptions,
        workplace: Workplace,
    ):
        self.conduct = contract.conduct(definition)
        # Without code of ours, and with credentials, the containers fetch their code themselves,
        # unless it comes from a bucket's mount, which is an empty folder here.
        fetches = options.with_credentials and self.conduct.store is not None
        self._serves = bundle is not None or bool(options.source) or not fetches
        self.containers = contract.containers(definition, options.ranks_per_host, self._serves)
        self._local = local_channels(options.local_channels, self.containers)
        self._guarded = contract.is_guarded(definition)
        self._bundle, self._options, self._workplace = bundle, options, workplace
        self._text = definition.text
        self._strategy = named(definition.strategy)
        self.expected = expected_here(
            definition, self.containers, options, self.conduct.ranks_environment
        )
        if not self._guarded:
            # The watch on the ranks' joining is all that such a document gets, and it has no stamp.
            self.expected = replace(self.expected, mode=INIT, nonce="")
        self.sidecars: list[Container] = []
        self.deviations: list[str] = [*self.conduct.left_out, *self.conduct.substituted]

    def choose_image(self, client: Any, told: Told) -> None:
        """``--rehearsal-image``, or ours for one that cannot be had; fewer ranks than the
        document's."""
        options, expected = self._options, self.expected
        recipe = self.conduct.recipe or self._strategy.name
        chosen = {}
        for image in dict.fromkeys(one.image for one in self.containers):
            if options.image is None:
                chosen[image], note = image_or_ours(client, image, recipe, told)
            else:
                instead = f"instead of {image}" if image else "(the document names none)"
                chosen[image], note = options.image, f"image {options.image} {instead}"
            self._note(note)
        if options.image is not None:
            have_image(client, options.image, recipe, told)
        self.containers = [replace(one, image=chosen[one.image]) for one in self.containers]
        if expected.world_size != expected.document_world_size:
            self._note(
                f"{counted(options.ranks_per_host or 0, 'rank')} a host: world size "
                f"{expected.world_size} instead of {expected.document_world_size}"
            )

    def draw_nonce(self) -> None:
        """One of its own, for each container that the document gives the placeholder of one."""
        if self.expected.nonce != nonce.PLACEHOLDER:
            return
        self.expected = replace(self.expected, nonce=nonce.new_nonce())
        drawn = {nonce.VARIABLE: self.expected.nonce}
        self.containers = [
            replace(one, environment={**one.environment, **drawn})
            if one.environment.get(nonce.VARIABLE) == nonce.PLACEHOLDER
            else one
            for one in self.containers
        ]
        self._note(f"{nonce.VARIABLE}: one that is drawn for the rehearsal, not the placeholder")

    def share_machine(self, client: Any) -> Limits:
        """Memory, GPUs and CPU cores."""
        limits, note = shares(client, self.containers, self._options.memory)
        self._note(note)
        settings, note = room(client, self.containers, self._strategy.gives_way)
        self._give(own_first=True, environment=settings)
        self._note(note)
        return limits

    def bring_code(self) -> None:
        """The bundle, or ``--source``, where the contract wants it."""
        place = next((one.code for one in self.containers if one.code), "")
        if not place or not self._serves:
            return
        archive = self._archive(self._workplace.folder)
        if self._guarded and not carries_digest(self._text, archive):
            self._note("the code is another than the bundle whose hash the document's address has")
        self.containers = with_code(self.containers, archive, other=self._bundle is None)
        store = self.conduct.store
        if store is not None and "://" in place:
            served = {f"{store.serves}/{place.partition('://')[2]}": archive}
            self.sidecars.append(store.container(self.containers[0].image, served))
            self._note(f"{place} is served beside the containers")

    def bring_watch(self) -> None:
        """The guard's watch, where the document does not start the guard itself."""
        if self._guarded:
            return
        hook, taking = self._workplace.folder / "hook", taking_part(self.containers)
        each, name = len(taking[0].ranks), self._strategy.name
        make_hook(hook, self.expected.world_size, self.expected.hosts, each, name)
        seen = {one.name: one for one in watched(taking, hook)}
        self.containers = [seen.get(one.name, one) for one in self.containers]
        joining = self._strategy.joining
        self._note(f"the guard's watch on {joining} is mounted and put on PYTHONPATH")

    def bring_credentials(self) -> None:
        """This machine's on request; else ones that open nothing, where code is served here."""
        access, asked = self.conduct.access, self._options.with_credentials
        if not asked and any(_SECRETS in container.environment for container in self.containers):
            self._note("its secrets cannot be read without --with-credentials")
        if access is None:
            return
        if asked:
            self._workplace.make_memory()
            mounts = {access.path: str(access.borrow(self._workplace.memory))}
            if access.server is None:
                self._give(environment=access.environment, mounts=mounts)
            else:
                image = self.containers[0].image
                self.sidecars.append(access.server.container(image, mounts=mounts))
                self._give(own_first=True, environment=access.environment)
            self._note(access.note)
        elif access.server is not None:
            # Also where this machine is in that cloud, and has an account of its own there.
            self._give(names={access.server.address: "127.0.0.1"})
        elif self.sidecars:
            self._give(environment=access.environment, files={access.path: access.placeholder})

    def close_machine_account(self) -> tuple[str, ...]:
        """What this machine hands out where it is one of a cloud; gives the addresses."""
        account = self.conduct.machine_account
        if account is None or self._options.with_credentials:
            return ()
        self._give(own_first=True, environment=account.environment)
        words = ", ".join(f"{name}={value}" for name, value in account.environment.items())
        self._note(
            f"{', '.join(account.addresses)} (a machine's own credentials) is closed; {words}"
        )
        return account.addresses

    def bring_channels(self) -> None:
        """The input data."""
        source = self.conduct.data(self._options.with_credentials)
        folder = self._workplace.folder
        self.containers, notes = fill(self.containers, self._local, folder, source)
        self.deviations += notes

    def share_folders(self) -> None:
        """What lies in a folder that all hosts share is brought there once."""
        paths = sorted({path for container in self.containers for path in container.shared})
        for path in paths:
            self._note(f"{path} is one empty folder of this machine, shared by all hosts")
        self.containers = filled_once(self.containers)

    def tell_unlike(self, client: Any) -> None:
        """What of machine and network is not as in the service."""
        self.deviations += hardware_unlike(client, self.containers)
        self.deviations += self.conduct.unlike

    def _note(self, text: str) -> None:
        if text:
            self.deviations.append(text)

    def _give(self, own_first: bool = False, **added: Mapping[str, Any]) -> None:
        """Add to fields of every container.

        Args:
            own_first: What a container has there itself stays as it is.
        """
        changed = []
        for one in self.containers:
            fields: dict[str, Any] = {}
            for name, entries in added.items():
                own = getattr(one, name)
                fields[name] = {**entries, **own} if own_first else {**own, **entries}
            changed.append(replace(one, **fields))
        self.containers = changed

    def _archive(self, work: Path) -> Path:
        if self._bundle is not None:
            return archive_of_bundle(self._bundle, work)
        if self._options.source is None:
            raise LaunchError(
                RULES["rehearsal-source"].at(
                    "--source",
                    "missing",
                    "the folder or tar that the document's code comes from",
                    "the document names only an address: --source DIR",
                )
            )
        self._note(f"code from {self._options.source}")
        source = at_home(self._options.source).absolute()
        return archive_of_source(source, work, self._guarded)
