"""What a provider is: a name, and the roles that it plays (:mod:`launchers.core.roles`).

A provider is a folder under ``launchers/`` with the same rooms as the others. Adding one takes
that folder, its templates and one line of the registry.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass, replace
from functools import cached_property

from launchers.core.extras import Extra
from launchers.core.model.jobs import Listener
from launchers.core.roles import (
    SILENT,
    Catalogue,
    Contract,
    Definer,
    Importer,
    Reader,
    Service,
)


@dataclass(frozen=True)
class Provider:
    """One place where jobs run.

    Attributes:
        title: For a person.
        about: What `launch NAME --help` says first.
        examples: Command lines that it shows next.
        charges_money: Whether its jobs are paid for: the same request again then means the same
            job, until that has failed (see :mod:`launchers.core.pipeline`).
        runs_here: Whether its ranks are processes of this machine, with its cores and its user's
            standard input.
        service_class: Dotted path of its :class:`Service`, imported on use: no dry run needs it.
        extra: Brings the SDK of its service; None where it needs none.
        contract: None where jobs run in no containers.
        reader: None where no other tool makes such documents.
        importer: None where no older service had such jobs.
        catalogue: None where there are no machine types to choose from.
        listener: Is told what the service does.
    """

    name: str
    title: str
    charges_money: bool
    definer: Definer
    service_class: str
    about: str = ""
    examples: tuple[str, ...] = ()
    runs_here: bool = False
    extra: Extra | None = None
    contract: Contract | None = None
    reader: Reader | None = None
    catalogue: Catalogue | None = None
    importer: Importer | None = None
    listener: Listener = SILENT

    @cached_property
    def service(self) -> Service:
        """Its service, one a provider.

        Raises:
            LaunchError: With exit code 3, the SDK of the service is not installed.
        """
        if self.extra:
            self.extra.require()
        module, _, attribute = self.service_class.partition(":")
        found: type[Service] = getattr(importlib.import_module(module), attribute)
        return found(self.listener)

    def heard_by(self, listener: Listener) -> Provider:
        """The same provider, whose service tells ``listener`` what it does."""
        return replace(self, listener=listener)
