"""Looks for credentials in all that a submission leaves anywhere, and in what lies about meanwhile.

Every artefact is scanned: what the command prints, ledger and data folder, the working folder,
temporary files and memory at every single request, what went over the wire, the bundle unpacked,
the job as the service keeps it.
"""

from __future__ import annotations

import base64
import gzip
import threading
import urllib.parse
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.cli.command import Answer
from tests.fakes.faults import ANSWERED, HANDLED, Call
from tests.submitting import CloudBench

MEMORY = Path("/dev/shm")
# Made up, each of a form that a service gives out.
SECRET_KEY = "q7Xw2LmN9vB4kT1zR8sD3fG6hJ0pY5cU+eA/iOxZ"
TOKEN = "ghp_" + "Zk8Rw3Tq6Yb1Nc4Vm7Xs0Lp5Jh2Gf9Da8We3"
PASSWORD = "correct-horse-battery-staple-9"
# Headers that are there to carry credentials.
_SIGNED = ("authorization", "x-amz-security-token")


@dataclass
class Scan:
    """All that a command leaves, and what lies about meanwhile.

    Attributes:
        places: Folders whose files are read, now and at every request.
        planted: Files that hold credentials because the user put them there.
        found: Name -> content of each artefact.
    """

    tried: CloudBench[Any]
    places: tuple[Path, ...]
    planted: frozenset[Path] = frozenset()
    found: dict[tuple[str, bytes], None] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def look(self, _: object = None) -> None:
        """Read every file of every place now."""
        for place in self.places:
            for path in place.rglob("*"):
                if path not in self.planted:
                    self._keep(path)

    def _keep(self, path: Path) -> None:
        try:
            content = path.read_bytes() if path.is_file() else b""
        except OSError:
            return  # it has gone meanwhile, or is another user's
        with self.lock:
            for one in (content, _unpacked(content)):
                self.found[str(path), one] = None

    def artefacts(self, answer: Answer) -> dict[tuple[str, bytes], None]:
        """Everything, after the end."""
        self.look()
        service = self.tried.service
        self.found["stdout", answer.out.encode()] = None
        self.found["stderr", answer.err.encode()] = None
        for request in service.requests:
            said = [
                (name, text)
                for name, text in request.headers.items()
                if name.lower() not in _SIGNED
            ]
            self.found[f"{request.operation} address", request.target.encode()] = None
            self.found[f"{request.operation} body", request.body] = None
            self.found[f"{request.operation} headers", repr(said).encode()] = None
        for bucket in service.objects.buckets.values():
            for key, stored in bucket.objects.items():
                self.found[key, stored.read()] = None
                self.found[f"{key} unpacked", _unpacked(stored.read())] = None
        for job in service.jobs:
            self.found[job.name, job.body] = None
        return self.found

    def leaks(self, answer: Answer, *values: str) -> set[str]:
        """Names of the artefacts that hold one of the values, in whatever spelling."""
        spelt = [form for value in values for form in _spellings(value)]
        return {
            name
            for name, content in self.artefacts(answer)
            if any(form in content for form in spelt)
        }


def _unpacked(content: bytes) -> bytes:
    return gzip.decompress(content) if content[:2] == b"\x1f\x8b" else b""


def _spellings(value: str) -> list[bytes]:
    raw = value.encode()
    # base64 of a text in the middle of another: the three alignments, less what neighbours share.
    inside = [base64.b64encode(b"\0" * shift + raw)[4:-4] for shift in range(3)]
    return [raw, urllib.parse.quote(value, safe="").encode(), raw.hex().encode(), *inside]


def watched(tried: CloudBench[Any], scratch: Path) -> Scan:
    """Looks at every request of the command, when it is handled and when it was answered.

    Args:
        scratch: Where the command's temporary files go; made here.
    """
    scratch.mkdir()
    made = Scan(tried, (tried.launch.home, tried.launch.folder, scratch, MEMORY))
    for point in (HANDLED, ANSWERED):
        tried.service.faults.add(Call(made.look), point=point)
    return made


def submit(scan: Scan, *words: str, **environment: str) -> Answer:
    """Submit and follow, with temporary files where the scan looks."""
    scratch = {name: str(scan.places[2]) for name in ("TMPDIR", "TEMP", "TMP")}
    return scan.tried.submit(*words, **{**scratch, **environment})


def plant(scan: Scan, name: str, text: str) -> None:
    """A file of the user's that holds a credential."""
    scan.planted |= {scan.tried.launch.write(name, text)}
