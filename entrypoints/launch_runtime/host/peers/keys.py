"""The keys and values by which Horovod's ranks find each other, within bounds. No sockets.

Horovod's Gloo controller asks for ``PUT``, ``GET`` and ``DELETE`` on ``/<scope>/<key>`` and 404 for
what is absent (horovod/common/gloo/http_store.cc, 0.28.1). A rank deletes its key once all ranks
have met, so a script may shut Horovod down and start it again. A value is some 140 bytes for each
rank of its scope. Each host has a share of its own, so that what one host's ranks put is never in
the way of another's.
"""

from __future__ import annotations

_ROOM_A_RANK = 1024  # bytes of one value for each rank of the job
_LEAST_VALUE = 64 << 10
_VALUES_A_RANK = 8  # as large as that which one rank may have at a time
_KEYS_A_RANK = 1024
OK, ABSENT, TOO_MUCH = 200, 404, 413


class Keys:
    """Values by key. Not safe for several threads.

    Args:
        world_size: Of the job.
        processes: Ranks on each host.
    """

    def __init__(self, world_size: int, processes: int):
        self.longest_value = _LEAST_VALUE + _ROOM_A_RANK * world_size  # bytes
        self._most_bytes = self.longest_value * _VALUES_A_RANK * processes
        self._most_keys = _KEYS_A_RANK * processes
        self._values: dict[str, tuple[int, bytes]] = {}
        self._held: dict[int, tuple[int, int]] = {}  # host -> keys and bytes

    def put(self, key: str, value: bytes, host: int) -> int:
        """A status of HTTP: whether there was room in that host's share."""
        self.delete(key)
        keys, size = self._held.get(host, (0, 0))
        keys, size = keys + 1, size + len(value)
        fits = keys <= self._most_keys and size <= self._most_bytes
        if not fits or len(value) > self.longest_value:
            return TOO_MUCH
        self._values[key] = (host, value)
        self._held[host] = (keys, size)
        return OK

    def get(self, key: str) -> bytes | None:
        """The value, or None."""
        found = self._values.get(key)
        return found[1] if found else None

    def delete(self, key: str) -> int:
        """A status of HTTP; a key that is absent is no error."""
        host, value = self._values.pop(key, (-1, b""))
        if host >= 0:
            keys, size = self._held[host]
            self._held[host] = (keys - 1, size - len(value))
        return OK
