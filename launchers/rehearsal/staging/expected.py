"""What the containers of a rehearsal must prove."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from launchers.core import proof
from launchers.core.model.containers import Container
from launchers.core.model.jobs import JobDefinition
from launchers.core.model.problems import LaunchError
from launchers.rehearsal.catalogue import RULES
from launchers.rehearsal.options import RehearsalOptions


@dataclass(frozen=True)
class Expected(proof.Expected):
    """What the containers must prove; ``hosts`` is their number.

    Attributes:
        document_world_size: Of the document; larger where ``--ranks-per-host`` reduced it.
    """

    document_world_size: int = 0


def expected_here(
    definition: JobDefinition,
    containers: Sequence[Container],
    options: RehearsalOptions,
    ranks_environment: Mapping[str, str] | None = None,
) -> Expected:
    """What the containers of this machine must prove of a document.

    Args:
        ranks_environment: What its ranks are given beside the environment of their containers.

    Raises:
        LaunchError: ``--ranks-per-host`` does not fit it.
    """
    whole = definition.world_size
    hosts = len(taking_part(containers))
    here = whole
    if options.ranks_per_host is not None:
        if not any(container.ranks for container in containers):
            raise LaunchError(
                RULES["ranks-per-host"].at(
                    "--ranks-per-host",
                    str(options.ranks_per_host),
                    "a document that starts ranks on each host",
                )
            )
        here = options.ranks_per_host * hosts
        if here > whole:
            raise LaunchError(
                RULES["ranks-per-host"].at(
                    "--ranks-per-host",
                    f"{options.ranks_per_host} on each of {hosts} hosts",
                    f"at most the document's {whole} ranks",
                )
            )
    said = proof.expected_of({**containers[0].environment, **(ranks_environment or {})})
    # One rank is on one host, however many copies of it there are.
    hosts = min(hosts, max(here, 1))
    return Expected(here, hosts, said.mode, said.nonce, said.strategy, document_world_size=whole)


def taking_part(containers: Sequence[Container]) -> list[Container]:
    """The hosts that have ranks of the job; all of them where each is a job of its own."""
    return [one for one in containers if one.ranks] or list(containers)
