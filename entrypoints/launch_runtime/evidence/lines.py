"""Lines that carry records, where no agent does: one rank's records as lines, and back."""

from __future__ import annotations

import base64
import json
import zlib
from typing import Mapping, Sequence

from launch_runtime.evidence.records import Record

LINE = "launch: evidence: "
LINE_BYTES = 3500  # below the 4096 bytes that a pipe takes in one go, with room for mpirun's tag
LARGEST = 4 << 20  # bytes of one rank's records, uncompressed; more is no evidence of ours
_PIECES = 2000  # of one rank's records at most


def encode(records: Sequence[Record], rank: int, serial: int, stamp: str = "") -> list[str]:
    """The lines that carry a rank's records; the newest complete ``serial`` counts.

    Returns:
        Lines of at most ``LINE_BYTES`` bytes, without line ends.
    """
    packed = base64.b64encode(zlib.compress(json.dumps(list(records)).encode(), 9)).decode()
    room = LINE_BYTES - 200
    pieces = [packed[start : start + room] for start in range(0, len(packed), room)] or [""]
    fields = {"stamp": stamp, "rank": rank, "serial": serial}
    return [
        LINE + json.dumps({**fields, "part": number, "parts": len(pieces), "data": piece})
        for number, piece in enumerate(pieces)
    ]


class Gathering:
    """Puts the lines of all ranks together again; wrong and foreign ones are left out.

    Args:
        stamp: The job's, which a line must carry; "" takes lines without one.
        world_size: Ranks beyond it are nobody's; 0 where it is not known.
    """

    def __init__(self, stamp: str = "", world_size: int = 0):
        self._stamp, self._size = stamp, world_size or 1 << 20
        self._pieces: dict[int, dict[int, dict[int, str]]] = {}
        self._parts: dict[tuple[int, int], int] = {}

    def feed(self, line: str) -> bool:
        """Takes a line; whether it is one of the job's."""
        if not line.startswith(LINE):
            return False
        try:
            fields = json.loads(line[len(LINE) :])
            rank, serial = int(fields["rank"]), int(fields["serial"])
            part, parts, data = int(fields["part"]), int(fields["parts"]), fields["data"]
        except (ValueError, KeyError, TypeError):
            return False
        fits = 0 <= rank < self._size and 0 <= part < parts <= _PIECES and isinstance(data, str)
        if fields.get("stamp", "") != self._stamp or not fits:
            return False
        serials = self._pieces.setdefault(rank, {})
        if len(serials) >= 4 and serial not in serials:
            oldest = min(serials)
            if serial < oldest:
                return True
            del serials[oldest]
            self._parts.pop((rank, oldest), None)
        serials.setdefault(serial, {})[part] = data[:LINE_BYTES]
        self._parts[(rank, serial)] = parts
        return True

    def evidence(self) -> dict[int, list[Record]]:
        """Rank -> its newest complete records."""
        found = {}
        for rank, serials in self._pieces.items():
            for serial in sorted(serials, reverse=True):
                records = self._whole(serials[serial], self._parts[(rank, serial)])
                if records is not None:
                    found[rank] = records
                    break
        return found

    @staticmethod
    def _whole(pieces: Mapping[int, str], parts: int) -> list[Record] | None:
        if len(pieces) < parts:
            return None
        try:
            packed = base64.b64decode("".join(pieces[number] for number in range(parts)))
            records = json.loads(zlib.decompressobj().decompress(packed, LARGEST))
        except (ValueError, KeyError, zlib.error):
            return None
        return records if isinstance(records, list) else None
