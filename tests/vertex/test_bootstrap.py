"""What every replica's command is: unpacks the bundle from the mount and becomes the agent."""

from __future__ import annotations

import ast
import gzip
import hashlib
import io
import json
import os
import subprocess
import sys
import tarfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from launchers.vertex.document import bootstrap
from tests.entrypoints.test_older_pythons import find_python
from tests.places import ROOT

pytestmark = pytest.mark.processes

TEXT = (ROOT / "templates" / "vertex" / "bootstrap.py").read_text("utf-8")
# Stands for the agent: tells what it was started with.
AGENT = """\
import json, os, sys
here = os.path.dirname(os.path.abspath(sys.argv[0]))
files = sorted(os.path.relpath(os.path.join(folder, name), here)
               for folder, _, names in os.walk(here) for name in names)
told = {"words": sys.argv[1:], "files": files, "mode": oct(os.stat(here).st_mode & 0o777),
        "pid": os.getpid(), "python": sys.version.split()[0], "flags": list(sys.argv[:1])}
print("agent", json.dumps(told))
sys.exit(7)
"""
WORDS = [
    "train.py", "--name", "it's \"quoted\"", "two\nlines\ttab", "$(X) $HOME `x` \\n $$", "ünï→✓",
    "", " blanks ", "--", "{}",
]  # fmt: skip

Change = Callable[[tarfile.TarFile], None]


def archive(*changes: Change) -> bytes:
    """A tar with an agent, and what each change adds."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as packed:
        for change in (file("agent.py", AGENT), *changes):
            change(packed)
    return stream.getvalue()


def file(name: str, text: str = "x") -> Change:
    def add(packed: tarfile.TarFile) -> None:
        info = tarfile.TarInfo(name)
        info.size = len(text.encode())
        packed.addfile(info, io.BytesIO(text.encode()))

    return add


def member(kind: bytes, name: str, target: str = "") -> Change:
    def add(packed: tarfile.TarFile) -> None:
        info = tarfile.TarInfo(name)
        info.type, info.linkname = kind, target
        packed.addfile(info)

    return add


class Replica:
    """Runs the command as the service does, below a folder that stands for the mount."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.bundle = folder / "gcs" / "bucket" / "sourcedir.tar.gz"
        self.bundle.parent.mkdir(parents=True)
        self.temporary = folder / "tmp"
        self.temporary.mkdir()
        self.python = sys.executable

    def put(self, tar: bytes) -> str:
        self.bundle.write_bytes(gzip.compress(tar))
        return hashlib.sha256(tar).hexdigest()

    def run(self, sha256: str, words: Any = ("train.py",), **environment: str) -> Any:
        return subprocess.run(
            [self.python, "-c", TEXT, str(self.bundle), sha256, as_argument(words)],
            env={
                "PATH": os.environ["PATH"],
                "LAUNCH_BUNDLE_TIMEOUT": "0.2",
                "TMPDIR": str(self.temporary),
                **environment,
            },
            capture_output=True,
            text=True,
            timeout=60,
        )

    def failure(self, done: Any) -> dict[str, Any]:
        """The one line that was printed; nothing was started, and no traceback shown."""
        assert done.returncode == 2, done.stderr
        assert done.stderr == ""
        (line,) = done.stdout.splitlines()
        told: dict[str, Any] = json.loads(line.removeprefix("launch: failure: "))
        assert (told["rank"], told["phase"], told["exit_code"]) == (None, "joining", 2)
        return told


def as_argument(words: Any) -> str:
    """As the plan writes it: the service may expand ``$(NAME)`` in an argument."""
    return json.dumps(list(words)).replace("$", "\\u0024")


@pytest.fixture
def replica(tmp_path: Path) -> Replica:
    return Replica(tmp_path)


@pytest.mark.parametrize("version", ["", "3.8", "3.9", "3.10", "3.12", "3.13"])
def test_the_agent_is_started_in_the_same_process_with_the_words_to_the_letter(
    version: str, replica: Replica
) -> None:
    replica.python = find_python(version) if version else sys.executable
    sha256 = replica.put(archive(file("src/train.py"), file("src/ünï/a b.txt")))
    done = replica.run(sha256, WORDS)
    assert (done.returncode, done.stderr) == (7, ""), done.stdout
    told = json.loads(done.stdout.removeprefix("agent "))
    assert told["words"] == WORDS
    assert told["files"] == ["agent.py", "src/train.py", "src/ünï/a b.txt"]
    assert told["mode"] == "0o700"


def test_links_inside_the_bundle_are_kept(replica: Replica) -> None:
    link = member(tarfile.SYMTYPE, "src/again.py", "../src/train.py")
    done = replica.run(replica.put(archive(file("src/train.py"), link)))
    assert done.returncode == 7, done.stdout
    assert "src/again.py" in done.stdout


def test_a_bundle_that_comes_late_is_waited_for(replica: Replica) -> None:
    tar = archive()

    def bring() -> None:
        partial = replica.bundle.with_name("partial")
        partial.write_bytes(gzip.compress(tar))
        partial.rename(replica.bundle)

    timer = threading.Timer(0.5, bring)
    timer.start()
    done = replica.run(hashlib.sha256(tar).hexdigest(), LAUNCH_BUNDLE_TIMEOUT="60")
    timer.join()
    assert done.returncode == 7, done.stdout


SPEC = '{"cluster": {}, "task": {"type": "workerpool1", "index": 2}, "job": "{}"}'


def test_a_bundle_that_never_comes_is_one_line_with_the_replicas_name(replica: Replica) -> None:
    told = replica.failure(replica.run("0" * 64, CLUSTER_SPEC=SPEC))
    assert told["host"] == "workerpool1-2"
    assert str(replica.bundle) in told["reason"]
    assert "service account" in told["reason"]


def test_another_bundle_is_not_unpacked(replica: Replica) -> None:
    sha256 = replica.put(archive())
    told = replica.failure(replica.run("0" * 64))
    assert told["host"] == "workerpool0-0"
    assert f"the hash is {sha256}, expected {'0' * 64}" in told["reason"]
    assert not [path for path in replica.temporary.rglob("*") if path.is_file()]


@pytest.mark.parametrize("part", [0.0, 0.3, 0.9, 0.999])
def test_a_truncated_bundle_is_one_line(part: float, replica: Replica) -> None:
    sha256 = replica.put(archive(file("big", "".join(map(str, range(9999))))))
    whole = replica.bundle.read_bytes()
    replica.bundle.write_bytes(whole[: int(len(whole) * part)])
    assert replica.failure(replica.run(sha256))["reason"]


@pytest.mark.parametrize("content", [b"<html>", b"\x1f\x8b\x08garbage" * 9, b""])
def test_what_is_no_bundle_is_one_line(content: bytes, replica: Replica) -> None:
    replica.bundle.write_bytes(content)
    assert replica.failure(replica.run("0" * 64))["reason"]


# What is added to a good archive: type, name, target; {outside} is a folder beside the mount.
MEMBERS = {
    "a parent": [(tarfile.REGTYPE, "../out", "")],
    "a parent inside": [(tarfile.REGTYPE, "src/../../out", "")],
    "an absolute name": [(tarfile.REGTYPE, "{outside}/out", "")],
    "a link to a parent": [(tarfile.SYMTYPE, "a", "..")],
    "an absolute link": [(tarfile.SYMTYPE, "a", "{outside}")],
    "a file through a link": [(tarfile.SYMTYPE, "a", "{outside}"), (tarfile.REGTYPE, "a/out", "")],
    "a link through a link": [
        (tarfile.REGTYPE, "c/d/x", ""), (tarfile.SYMTYPE, "b", "c/d"),
        (tarfile.SYMTYPE, "e", "b/../../.."),
    ],
    "a hard link": [(tarfile.LNKTYPE, "a", "/etc/passwd")],
    "a device": [(tarfile.CHRTYPE, "a", "")],
    "a pipe": [(tarfile.FIFOTYPE, "a", "")],
}  # fmt: skip


@pytest.mark.parametrize("version", ["", "3.8"])
@pytest.mark.parametrize("case", MEMBERS)
def test_nothing_is_written_outside_of_the_folder(
    case: str, version: str, replica: Replica
) -> None:
    replica.python = find_python(version) if version else sys.executable
    outside = replica.folder / "outside"
    outside.mkdir()
    changes = [
        member(kind, name.format(outside=outside), target.format(outside=outside))
        for kind, name, target in MEMBERS[case]
    ]
    told = replica.failure(replica.run(replica.put(archive(*changes))))
    assert "is refused: it leads out" in told["reason"]
    assert not list(outside.iterdir())
    assert not [path for path in replica.folder.rglob("*") if path.name == "out"]


def test_it_is_written_for_python_3_8_and_the_standard_library() -> None:
    tree = ast.parse(TEXT, feature_version=(3, 8))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            assert all(alias.name in sys.stdlib_module_names for alias in node.names)
        assert not isinstance(node, ast.ImportFrom)


def test_it_stands_well_in_a_document() -> None:
    assert "$" not in TEXT, "the service may expand $(NAME)"
    for sign in ("\\", '"', "\t"):
        assert sign not in TEXT, "a reviewer reads it as JSON, where it would be escaped"
    assert TEXT.isascii()
    assert len(TEXT) < 4096


def test_the_program_in_each_pool_stays_small() -> None:
    """It stands in the document once a pool, and counts with the rest of the request."""
    assert len(bootstrap()) < 10_000
