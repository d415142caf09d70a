"""What a container of a rehearsal is created with: limits, mounts, network, names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from launchers.core.model.containers import Container
from launchers.rehearsal.engine.closed_network import NotClosedError, hold_closed
from launchers.rehearsal.engine.labels import Labels
from launchers.rehearsal.engine.volumes import volumes

_SHM_SHARE = 0.5  # of the memory limit, which it counts against
_PROCESSES = 32_768  # in one container; a runaway script must not take the machine with it


@dataclass(frozen=True)
class Limits:
    """What one container may use.

    Attributes:
        memory: Bytes, swap included; None for no limit.
        devices: The GPUs of each container, by name, as the engine's GPU runtime calls them.
    """

    memory: int | None = None
    devices: tuple[tuple[str, ...], ...] = ()


class Maker:
    """Creates the containers of one rehearsal; starts none but those that hold a network.

    Args:
        closed: Addresses that no container of the job reaches by TCP.

    Attributes:
        holders: The containers that hold the networks of others, by the engine's id.
        left_open: Host -> why ``closed`` could not be kept for it.
    """

    def __init__(
        self,
        api: Any,
        labels: Labels,
        containers: Sequence[Container],
        limits: Limits,
        closed: tuple[str, ...],
    ):
        self._api = api
        self._labels = labels
        self._limits = limits
        self._closed = closed
        self._volumes = volumes(labels, containers)
        self.holders: list[str] = []
        self.left_open: dict[str, str] = {}

    def make(self, item: Container, index: int | None) -> str:
        """Create one; gives the engine's id of it. May block.

        Args:
            index: Its place among those of the job; None for one that serves them.

        Raises:
            docker.errors.APIError: The engine does not.
        """
        holder = ""
        devices: tuple[str, ...] = ()
        if index is not None:
            holder = self._holder(item) if self._closed else ""
            devices = self._limits.devices[index] if self._limits.devices else ()
        network: dict[str, Any] = {"hostname": item.hostname, **self._known_as(item)}
        made = self._api.create_container(
            item.image,
            command=list(item.command) or None,
            entrypoint=list(item.entrypoint) or None,
            environment=dict(item.environment),
            name=f"{self._labels.name}-{item.name}",
            labels=self._labels.values(),
            host_config=self._host_config(item, devices, holder),
            # Who joins a network has its holder's names, too.
            **({} if holder else network),
        )
        return str(made["Id"])

    def _holder(self, item: Container) -> str:
        """The container whose network is closed and which ``item`` joins; empty for none."""
        try:
            holder = hold_closed(
                self._api,
                item,
                self._closed,
                self._labels.name,
                name=f"{self._labels.name}-{item.name}-network",
                labels=self._labels.values(),
                **self._known_as(item),
            )
        except NotClosedError as error:
            self.left_open[item.name] = str(error)
            return ""
        self.holders.append(holder)
        return holder

    def _known_as(self, item: Container) -> dict[str, Any]:
        """By which name the others reach it."""
        endpoint = self._api.create_endpoint_config(aliases=[item.address or item.name])
        config = self._api.create_networking_config({self._labels.name: endpoint})
        return {"networking_config": config}

    def _host_config(
        self, item: Container, devices: tuple[str, ...], holder: str
    ) -> dict[str, Any]:
        from docker.types import DeviceRequest

        memory = self._limits.memory
        binds = {
            source: {"bind": path, "mode": "ro"} for path, source in sorted(item.mounts.items())
        }
        binds.update({self._volumes[path]: {"bind": path, "mode": "rw"} for path in item.shared})
        requests = [DeviceRequest(device_ids=list(devices), capabilities=[["gpu"]])]
        config: dict[str, Any] = self._api.create_host_config(
            network_mode=f"container:{holder}" if holder else self._labels.name,
            binds=binds,
            extra_hosts=None if holder else dict(item.names) or None,
            mem_limit=memory,
            memswap_limit=memory,
            shm_size=int(memory * _SHM_SHARE) if memory else None,
            pids_limit=_PROCESSES,
            privileged=False,
            security_opt=["no-new-privileges"],
            device_requests=requests if devices else None,
        )
        return config
