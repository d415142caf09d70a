"""Runs in a container whose network another one joins: closes addresses in it, and holds it.

``python3 -c SOURCE ADDRESS...`` with CAP_NET_ADMIN. Standard library alone, Python 3.6 and later:
it runs in whatever image the job has. It prints :data:`CLOSED` once nothing in that network reaches
the addresses by TCP; what asks them as name servers, by UDP, still does (some clouds have both at
one address).

Figures: rtnetlink(7), linux/rtnetlink.h, linux/fib_rules.h.
"""

import os
import signal
import socket
import struct
import sys

CLOSED = "closed"
_NEW_ROUTE, _NEW_RULE = 24, 32
_FLAGS = 0x1 | 0x4 | 0x400 | 0x200  # a request, acknowledged, that creates what is not there
_MAIN_TABLE, _STATIC, _UNREACHABLE = 254, 4, 7
_DESTINATION, _PRIORITY, _PROTOCOL = 1, 6, 22


def close(address):  # type: (str) -> None
    """A rule for TCP; on a kernel that knows none by protocol, a route for everything."""
    destination = _attribute(_DESTINATION, socket.inet_aton(address))
    try:
        head = struct.pack("=BBBBBBBBI", socket.AF_INET, 32, 0, 0, 0, 0, 0, _UNREACHABLE, 0)
        tcp = _attribute(_PROTOCOL, bytes([socket.IPPROTO_TCP]))
        _ask(_NEW_RULE, head + destination + _attribute(_PRIORITY, struct.pack("=I", 10)) + tcp)
    except OSError:
        kind = (_MAIN_TABLE, _STATIC, 0, _UNREACHABLE, 0)
        head = struct.pack("=BBBBBBBBI", socket.AF_INET, 32, 0, 0, *kind)
        _ask(_NEW_ROUTE, head + destination)


def _attribute(kind, data):  # type: (int, bytes) -> bytes
    size = 4 + len(data)
    return struct.pack("=HH", size, kind) + data + b"\0" * (-size % 4)


def _ask(kind, body):  # type: (int, bytes) -> None
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as link:
        link.bind((0, 0))
        link.send(struct.pack("=IHHII", 16 + len(body), kind, _FLAGS, 1, 0) + body)
        (code,) = struct.unpack_from("=i", link.recv(65536), 16)
    if code:
        raise OSError(-code, os.strerror(-code))


def main():  # type: () -> None
    """Close, say so, and stay until the container is removed."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: sys.exit(0))
    for address in sys.argv[1:]:
        close(address)
    print(CLOSED, flush=True)
    while True:
        signal.pause()


if __name__ == "__main__":
    main()
