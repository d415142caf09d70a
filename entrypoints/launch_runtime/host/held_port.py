"""A TCP port of this host that is free, and stays so until a rank listens on it."""

from __future__ import annotations

import socket


class HeldPort:
    """Takes a free port, and holds it for as long as this object lives.

    It is bound and never listened on, both with SO_REUSEADDR: so Linux gives it to nobody who asks
    for any port and to no outgoing connection, and a server that asks for this very one gets it, as
    PyTorch's store and gRPC's servers set that option too.

    Raises:
        OSError: This machine has no port left.

    Attributes:
        number: The port.
    """

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        try:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self._socket.bind(("", 0))
        except OSError:
            self._socket.close()
            raise
        self.number = int(self._socket.getsockname()[1])
