"""Addresses and network interfaces of this host."""

from __future__ import annotations

import ipaddress
import socket
import struct

try:
    import fcntl
except ImportError:  # no Unix
    fcntl = None  # type: ignore[assignment,unused-ignore]

_SIOCGIFADDR = 0x8915  # Linux: an interface's IPv4 address


def is_loopback(address: str) -> bool:
    """Whether ``address`` means this machine: ``localhost`` or 127.x.x.x."""
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return address == "localhost"


def resolve(address: str) -> str:
    """The IPv4 address of a name; blocks as long as the resolver does.

    Raises:
        OSError: There is no such name (yet).
    """
    return socket.gethostbyname(address)


def trouble_with_own_name(others_elsewhere: bool) -> str:
    """Why Gloo cannot work with this machine's own name, or "".

    It takes the address of that name for process sets, the set of all ranks among them, whatever
    HOROVOD_GLOO_IFACE says, and crashes where there is none (Horovod 0.28.1, run;
    GlooContext::InitializeForProcessSet).

    Args:
        others_elsewhere: Ranks run on other machines too.
    """
    name = socket.gethostname()
    try:
        address = resolve(name)
    except OSError:
        return f"this machine's own name {name} has no address, and Gloo needs one"
    if others_elsewhere and is_loopback(address):
        return (
            f"this machine's own name {name} has the address {address}, where other hosts "
            "cannot reach its ranks"
        )
    return ""


def interface_of(address: str) -> str | None:
    """The interface that has ``address``, or through which ``address`` is reached.

    None where that cannot be found out: no such name, no route, or no Linux. Nothing is sent.
    """
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect((address, 9))  # of a datagram socket: picks the route
            own = probe.getsockname()[0]
        return {ip: name for name, ip in interfaces().items()}.get(own)
    except OSError:
        return None


def interfaces() -> dict[str, str]:
    """The interfaces that have an IPv4 address, with that address."""
    found: dict[str, str] = {}
    if not hasattr(fcntl, "ioctl"):
        return found
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        for _, name in socket.if_nameindex():
            request = struct.pack("256s", name.encode()[:15])
            try:
                answer = fcntl.ioctl(probe.fileno(), _SIOCGIFADDR, request)
            except OSError:
                continue
            found[name] = socket.inet_ntoa(answer[20:24])
    return found
