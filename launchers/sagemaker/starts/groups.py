"""The instance groups of a request, and those that start a job together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from launchers.core.model.document import entries, mapping, rank_count
from launchers.core.planning.plan import counted
from launchers.sagemaker.document import hyperparameter
from launchers.sagemaker.tables.machines import machine

TOGETHER = "sagemaker_distribution_instance_groups"
# What the toolkit calls the machines of a request without groups (environment.py).
ONE_GROUP = "homogeneousCluster"


class Group(NamedTuple):
    """Machines of one type.

    Attributes:
        hosts: How many; None where that is no count.
        gpus: Of each; None for a type that no table knows, and for one whose accelerators are
            counted by the container alone.
    """

    name: str
    instance_type: str
    hosts: int | None
    gpus: int | None


def groups_of(document: object) -> list[Group]:
    """The request's groups; without any, its machines as the one that they are."""
    resources = mapping(document, "ResourceConfig")
    named = entries(resources, "InstanceGroups") or [{**resources, "InstanceGroupName": ONE_GROUP}]
    return [
        Group(
            name=str(one.get("InstanceGroupName", ONE_GROUP)),
            instance_type=str(one.get("InstanceType", "")),
            hosts=rank_count(one.get("InstanceCount")),
            gpus=_gpus(one.get("InstanceType")),
        )
        for one in named
    ]


def clusters(document: object, groups: Sequence[Group]) -> tuple[list[list[Group]], list[Group]]:
    """The groups that start a job together, and those that no job of several hosts takes.

    With the hyperparameter that names groups these are one cluster; without it each group sees
    only itself (sagemaker-training: environment.py, get_distribution_hosts).

    Raises:
        TypeError: The hyperparameter is neither a list nor a text: the toolkit fails at it too.
    """
    named = hyperparameter(document, TOGETHER)
    if named is None:
        return [[group] for group in groups], []
    taken = [group for group in groups if group.name in named]
    return [taken] if taken else [], [group for group in groups if group not in taken]


def hosts_of(groups: Sequence[Group]) -> int | None:
    """Hosts of all groups; None where one of them does not say."""
    hosts = 0
    for group in groups:
        if group.hosts is None:
            return None
        hosts += group.hosts
    return hosts


def named(groups: Sequence[Group]) -> str:
    """``group g1``, ``groups g1 and g2``."""
    names = [group.name for group in groups]
    return f"{'group' if len(names) == 1 else 'groups'} {' and '.join(names)}"


def hosts_text(groups: Sequence[Group]) -> str:
    """``2 hosts``, or ``its hosts`` where they are not counted."""
    count = hosts_of(groups)
    return "its hosts" if count is None else counted(count, "host")


def _gpus(instance_type: object) -> int | None:
    found = machine(instance_type) if isinstance(instance_type, str) else None
    return None if found is None or found.accelerator else found.gpus
