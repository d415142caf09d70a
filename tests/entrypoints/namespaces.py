"""Hosts with a network of their own on this machine: Linux network namespaces and a switch."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

_PREFIX = "10.211.7."
_FILES = Path("/etc/netns")


def why_not() -> str:
    """Why this machine cannot have such hosts, or ""."""
    if shutil.which("ip") is None:
        return "network namespaces need iproute2 (apt install iproute2)"
    if os.geteuid() != 0:
        return "network namespaces need root"
    name = f"probe-{uuid.uuid4().hex[:6]}"
    made = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True)
    if made.returncode:
        return f"this machine allows no network namespaces: {made.stderr.strip()}"
    subprocess.run(["ip", "netns", "delete", name], check=True)
    return ""


class Network:
    """Hosts 0 to n-1 on one switch, which is a namespace too: nothing of this machine's changes."""

    def __init__(self, hosts: int):
        self._id = uuid.uuid4().hex[:6]
        self.hosts = hosts

    def address(self, host: int) -> str:
        return f"{_PREFIX}{host + 1}"

    def name(self, host: int) -> str:
        """The name that the other hosts know it by; its own is another one, as a container's is."""
        return f"cmle-training-{self._id}-{host}"

    def inside(self, host: int, own_name: bool = True) -> list[str]:
        """What goes before a command to run it on a host, whose own name has its address or not."""
        name = self._name(host) if own_name else "nobody"
        take_name = f'echo {name} > /proc/sys/kernel/hostname; exec "$@"'
        return [
            "ip", "netns", "exec", self._name(host),
            "unshare", "--uts", "sh", "-c", take_name, "sh",
        ]  # fmt: skip

    def cut(self, one: int, other: int) -> None:
        """From now on nothing passes between two hosts, and nothing says so.

        Their frames go to a hardware address that nobody has.
        """
        for near, far in ((one, other), (other, one)):
            self._run(
                "-n", self._name(near), "neighbour", "replace", self.address(far),
                "lladdr", "02:00:00:00:00:99", "dev", "eth0", "nud", "permanent",
            )  # fmt: skip

    def build(self) -> None:
        self._run("netns", "add", self._switch)
        self._run("-n", self._switch, "link", "add", "switch", "type", "bridge")
        self._run("-n", self._switch, "link", "set", "switch", "up")
        known = [f"{self.address(host)} {self.name(host)}" for host in range(self.hosts)]
        for host in range(self.hosts):
            name = self._name(host)
            self._run("netns", "add", name)
            # `ip netns exec` shows it as /etc/hosts.
            (_FILES / name).mkdir(parents=True)
            names = ["127.0.0.1 localhost", f"{self.address(host)} {name}", *known]
            (_FILES / name / "hosts").write_text("\n".join(names) + "\n")
            self._run(
                "-n", name, "link", "add", "eth0", "type", "veth",
                "peer", "name", f"port{host}", "netns", self._switch,
            )  # fmt: skip
            self._run("-n", self._switch, "link", "set", f"port{host}", "master", "switch", "up")
            self._run("-n", name, "address", "add", f"{self.address(host)}/24", "dev", "eth0")
            for link in ("lo", "eth0"):
                self._run("-n", name, "link", "set", link, "up")

    def remove(self) -> None:
        for name in [self._switch, *map(self._name, range(self.hosts))]:
            subprocess.run(["ip", "netns", "delete", name], capture_output=True)
            shutil.rmtree(_FILES / name, ignore_errors=True)
        with contextlib.suppress(OSError):
            _FILES.rmdir()  # of others, where it is not empty

    @property
    def _switch(self) -> str:
        return f"switch-{self._id}"

    def _name(self, host: int) -> str:
        return f"host{host}-{self._id}"

    def _run(self, *arguments: str) -> None:
        subprocess.run(["ip", *arguments], check=True, capture_output=True)


@contextlib.contextmanager
def network(hosts: int) -> Iterator[Network]:
    """A network that is gone in the end. Where the machine allows none, the test is skipped, and
    fails where it must not be (CI)."""
    reason = why_not()
    if reason and os.environ.get("CI"):
        pytest.fail(reason)
    if reason:
        pytest.skip(reason)
    built = Network(hosts)
    try:
        built.build()
        yield built
    finally:
        built.remove()
